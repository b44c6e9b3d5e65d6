"""The only reader of the environment: what a project file, flags and variables come to.

Flags and the environment may change platforms and variant of a project's request; everything else they
set is `Settings`, which never change the lock.

A library's project file (`library`) is joined by the choices of the app that uses it (`consumer`). There
platforms are the library's, and what flags and environment name is only what is installed here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etfetch import generate, library, modelpaths, paths, projects, uptodate
from etfetch.consumer import Block
from etfetch.errors import ConfigError, UsageError, did_you_mean
from etfetch.generate import Outputs
from etfetch.library import Choices, Library, is_yes
from etfetch.needs import Provided
from etfetch.platforms import ALL, PLATFORMS, VARIANTS, can_build, host_platform
from etfetch.projects import Project, ProjectFile, table_of, wrong
from etfetch.request import (
    DEFAULT_DESTINATION,
    DEFAULT_PACKAGE,
    EVERYTHING,
    LINK_MODES,
    Origin,
    Request,
    Settings,
    find_line,
    normal_specifier,
    parse_requirement,
)
from etfetch.tables import Table

_LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; None or empty where it said nothing."""

    project: str | None = None
    requirement: str | None = None
    platforms: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    variant: str | None = None
    destination: str | None = None
    cache_dir: str | None = None
    offline: bool = False
    jobs: int | None = None
    link_mode: str | None = None
    base_url: str | None = None


def environment() -> Mapping[str, str]:
    """The process's environment, for those who are given it."""
    return os.environ


def this_platform() -> str | None:
    """The platform that this machine is, if ExecuTorch publishes anything for it."""
    return host_platform(sys.platform, _machine())


def find_project(options: Options) -> Project:
    """The project of `--project DIR`, of the working directory or above it, or of the library an app uses."""
    return projects.find(options.project, os.environ, through_apps=options.requirement is None)


def request_of(project: Project, options: Options, locked: Request | None) -> Request:
    """The request of a project file, a requirement, or (where there is neither) of the lock."""
    if options.requirement is not None:
        if project.file is not None:
            raise UsageError(
                f"`{options.requirement}` on the command line, but `{project.file.path.name}` already "
                "holds the request",
                data=[str(project.file.path)],
                hint="change the request with `etfetch add NAME`, or work in another folder",
            )
        return _with_options(project, _from_requirement(options.requirement), options)
    if project.file is not None and project.library is not None:
        return _of_library(project, project.file, options)
    if project.file is not None:
        return _with_options(project, _from_file(project.file), options)
    if locked is not None:
        return _with_options(project, locked, options)
    if options.models:
        return _with_options(project, Request(DEFAULT_PACKAGE, "", ()), options)
    raise ConfigError(
        "nothing says what to install: no project file here or above, no lock, no requirement",
        data=[f"looked in {project.folder} and the folders above it"],
        hint="run `etfetch init`, `etfetch install 'executorch[xnnpack,optimized]==1.5.1'`, or "
        "`etfetch install --model MODEL.pte`",
    )


def origin_of(project: Project) -> Origin:
    """Where the request's names stand, for messages."""
    own = project.file.origin if project.file else Origin()
    if project.library is None or project.consumer is None:
        return own
    blocks = tuple(
        Origin(
            os.path.relpath(block.path),
            _from_key_on(block.text, project.library.key),
            library.KEYS_OF_BLOCK,
        )
        for block in project.consumer.blocks
    )
    return replace(own, others=blocks)


def platforms_here(
    project: Project, options: Options, locked: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of the locked platforms that are installed on this machine, and those that it cannot build.

    What a library is built for is its own to say: there, flags and environment name what is installed
    here, whether this host can build it or not.
    """
    if ALL in _platform_words(options, project.variables):
        return tuple(locked), ()
    excluded = _checked_platforms(_words(project.variables, "ETFETCH_EXCLUDE_PLATFORMS"))
    named = _checked_platforms(_platform_words(options, project.variables)) if project.library else ()
    for platform in named:
        if platform not in locked:
            raise UsageError(
                f"the library is not built for `{platform}`",
                data=[f"platforms: {', '.join(locked)}"],
            )
    wanted = named or tuple(p for p in locked if p not in excluded)
    fit = tuple(p for p in wanted if p in named or can_build(sys.platform, p))
    return fit, tuple(p for p in wanted if p not in fit)


def named_platforms(options: Options) -> tuple[str, ...]:
    """The platforms that `--platform` names, whatever the project says; none and `all` mean every one."""
    named = _checked_platforms(options.platforms)
    return () if ALL in options.platforms else named


def destination_of(project: Project, options: Options) -> Path:
    """The folder to install into. A project file can only name one below the project."""
    if options.destination is not None:
        return Path(options.destination).absolute()
    text = DEFAULT_DESTINATION
    if project.file is not None and "destination" in project.file.values:
        table = table_of(project.file)
        text = table.string("destination").removesuffix("/")
        reason = paths.unsafe_reason(text)
        if reason:
            raise wrong(project.file, "destination", f"`{text}`: {reason}")
    return project.folder / text


def settings_of(options: Options, variables: Mapping[str, str] = os.environ) -> Settings:
    """All settings, from flags, then the environment, then defaults. `ConfigError` for bad values."""
    link_mode = options.link_mode or variables.get("ETFETCH_LINK_MODE") or "clone"
    if link_mode not in LINK_MODES:
        raise ConfigError(
            f"`ETFETCH_LINK_MODE` is `{link_mode}`, which is none of {', '.join(LINK_MODES)}"
            f"{did_you_mean(link_mode, LINK_MODES)}"
        )
    return Settings(
        cache_dir=_cache_dir(options, variables),
        offline=options.offline or flag("ETFETCH_OFFLINE", variables),
        skip_download=flag("ETFETCH_SKIP_DOWNLOAD", variables),
        headers_only=flag("ETFETCH_HEADERS_ONLY", variables),
        jobs=options.jobs if options.jobs is not None else int(_number("ETFETCH_JOBS", 4)),
        link_mode=link_mode,
        lock_timeout=_number("ETFETCH_LOCK_TIMEOUT", 600),
        connect_timeout=_number("ETFETCH_CONNECT_TIMEOUT", 10),
        read_timeout=_number("ETFETCH_READ_TIMEOUT", 30),
        retries=max(1, int(_number("ETFETCH_RETRIES", 5))),
        color=not variables.get("NO_COLOR"),
        ci=flag("CI", variables),
    )


def package_of(project: Project) -> str:
    """The package that a project file asks for."""
    return (table_of(project.file).optional_string("package") if project.file else None) or DEFAULT_PACKAGE


def provided(project: Project) -> Provided:
    """What the app registers itself."""
    if project.file is None:
        return Provided()
    return _provided(table_of(project.file))


def _provided(table: Table) -> Provided:
    return Provided(table.strings("provided-operators"), table.strings("provided-delegates"))


def outputs_of(project: Project) -> Outputs:
    """Which build files a project wants written."""
    if project.file is None:
        return Outputs()
    return generate.parse(table_of(project.file))


def _from_file(file: ProjectFile) -> Request:
    table = table_of(file)
    request = Request(
        package=table.optional_string("package") or DEFAULT_PACKAGE,
        version=_version(file, table),
        platforms=_unique(table.choices("platforms", PLATFORMS)),
        variant=table.choice("variant", VARIANTS) if table.has("variant") else "release",
        backends=_unique(table.strings("backends")),
        kernels=_unique(table.strings("kernels")),
        libraries=_unique(table.strings("libraries")),
        extras=_unique(table.strings("extras")),
        features=_unique(table.strings("features")),
        models=modelpaths.patterns(table),
    )
    table.optional_string("destination")
    _provided(table)
    mirror = table.table("mirror")
    mirror.strings("urls")
    mirror.done()
    outputs = generate.parse(table)
    library.parse(table, uptodate.LOCK, outputs.passed)
    table.done()
    return request


def _of_library(project: Project, file: ProjectFile, options: Options) -> Request:
    """What a library and the apps that use it ask for together."""
    request = _from_file(file)
    if request.models:
        raise wrong(file, "models", "belongs to the app, whose block names its models")
    # Said before anything is asked of a server, not when it comes to installing.
    platforms_here(project, options, request.platforms)
    blocks = project.consumer.blocks if project.consumer else ()
    chosen = choices_of(project)
    names = chosen.names if blocks else {"features": (EVERYTHING,)}
    lists = {key: [*own, *names.get(key, ())] for key, own in request.names.items()}
    lists["features"] += options.features
    models = _unique((*chosen.models, *_named_models(project, options)))
    variant = options.variant or request.variant
    return replace(request, variant=variant, models=models).with_names(lists)


def choices_of(project: Project) -> Choices:
    """What the apps that use a library chose; `ConfigError` for a wrong block, or two that disagree."""
    if project.library is None or project.consumer is None:
        return Choices({}, {})
    read = [_choices(project.library, block, project.home) for block in project.consumer.blocks]
    together, disputed = library.together(read)
    if disputed is not None:
        raise ConfigError(
            f"apps that share one copy of the library disagree about `{disputed}`",
            data=[str(block.path) for block in project.consumer.blocks],
            hint="give all of them the same value",
        )
    return together


def _choices(found: Library, block: Block, home: Path) -> Choices:
    if not isinstance(block.value, dict):
        raise ConfigError(
            f"{block.path.name}: {found.key}: expected an object of lists", data=[str(block.path)]
        )
    file = ProjectFile(block.path, block.value, _from_key_on(block.text, found.key))
    chosen = library.choices(found, table_of(file))
    if not chosen.models or block.path.parent == home:
        return chosen
    # An app of a workspace, whose lock stands above it.
    folder = _pattern_of(str(block.path.parent), home)
    return replace(chosen, models=tuple(f"{folder}/{pattern}" for pattern in chosen.models))


def _named_models(project: Project, options: Options) -> tuple[str, ...]:
    """The files that `--model` names, as patterns."""
    return tuple(_pattern_of(path, project.home) for path in options.models)


def _from_key_on(text: str, key: str) -> str:
    """A text whose lines before a key are empty, so that a search for a name below it finds no other."""
    line = (find_line(text, key) or 1) - 1
    return "\n" * line + "\n".join(text.splitlines()[line:])


def _version(file: ProjectFile, table: Table) -> str:
    """`version`, or what stands in the file and under the key that `version-from` names."""
    text, place = table.optional_string("version") or "", table.optional_string("version-from")
    if place is None:
        return _specifier(file, "version", text)
    if text:
        raise wrong(file, "version-from", "stands beside `version`; keep one of them")
    return _specifier(file, "version-from", projects.named_value(file, place))


def _specifier(file: ProjectFile, key: str, text: str) -> str:
    try:
        return normal_specifier(text)
    except UsageError as error:
        located = wrong(file, key, error.message)
        raise ConfigError(located.message, data=located.data, hint=error.hint) from error


def _from_requirement(text: str) -> Request:
    requirement = parse_requirement(text)
    return Request(requirement.package, requirement.version, (), extras=requirement.extras)


def _pattern_of(path: str, root: Path) -> str:
    """The pattern that finds one file, given as on a command line; `UsageError` for one on another drive."""
    try:
        relative = os.path.relpath(os.path.abspath(path), root)
        if relative.startswith(os.pardir):
            # On macOS, for one, /tmp is a link: what lies below by its real name does not look so.
            folder, name = os.path.split(os.path.abspath(path))
            relative = os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(root))
    except ValueError as error:
        raise UsageError(
            f"`{path}` is on another drive than the project",
            data=[str(root)],
            hint="a lock names models relative to itself: copy the model to the project's drive",
        ) from error
    return modelpaths.literal(Path(relative).as_posix())


def _with_options(project: Project, request: Request, options: Options) -> Request:
    named = _checked_platforms(_platform_words(options, os.environ))
    platforms = named or request.platforms or _host_platforms()
    return replace(
        request,
        platforms=platforms,
        variant=options.variant or request.variant,
        features=_unique((*request.features, *options.features)),
        models=_unique((*request.models, *_named_models(project, options))),
    )


def _checked_platforms(words: Sequence[str]) -> tuple[str, ...]:
    words = [word for word in words if word != ALL]
    for word in words:
        if word not in PLATFORMS:
            raise UsageError(
                f"no platform `{word}`{did_you_mean(word, PLATFORMS)}",
                data=[f"platforms: {', '.join(PLATFORMS)}"],
            )
    return _unique(words)


def _platform_words(options: Options, variables: Mapping[str, str]) -> tuple[str, ...]:
    return options.platforms or _words(variables, "ETFETCH_PLATFORMS")


def _words(variables: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(variables.get(name, "").replace(",", " ").split())


def _host_platforms() -> tuple[str, ...]:
    host = this_platform()
    if host is None:
        raise ConfigError(
            f"this machine ({sys.platform}, {_machine()}) is no platform of ExecuTorch's",
            hint="name the platforms to build for: `--platform`, or `platforms` in the project file",
        )
    return (host,)


def _unique(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _machine() -> str:
    import platform

    return platform.machine()


def _cache_dir(options: Options, variables: Mapping[str, str]) -> Path:
    named = options.cache_dir or variables.get("ETFETCH_CACHE_DIR")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("etfetch", appauthor=False))


def flag(name: str, variables: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable says yes."""
    return is_yes(variables.get(name, ""))


def _number(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value < _LARGEST:
        raise ConfigError(f"`{name}` is `{text}`, which is not a number above 0")
    return value
