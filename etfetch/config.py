"""The only reader of the environment and of project files.

A project says what it wants in `etfetch.toml`, under `[tool.etfetch]` in `pyproject.toml`, or
under `"etfetch"` in `package.json`: one of them, found by walking up. Flags and the environment may change
platforms and variant of a request; everything else they set is `Settings`, which never change the lock.

A library's project file (`library`) is joined by the choices of the app that uses it (`consumer`). There
platforms are the library's, and what flags and environment name is only what is installed here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etfetch import consumer, generate, library, paths, toml, uptodate
from etfetch.consumer import Block, Consumer
from etfetch.errors import ConfigError, UsageError, did_you_mean
from etfetch.generate import Outputs
from etfetch.library import Choices, Library, is_yes
from etfetch.platforms import ALL, PLATFORMS, VARIANTS, can_build, host_platform
from etfetch.request import (
    DEFAULT_DESTINATION,
    DEFAULT_PACKAGE,
    EVERYTHING,
    LINK_MODES,
    NAMED,
    Origin,
    Request,
    Settings,
    find_line,
    normal_specifier,
    parse_requirement,
)
from etfetch.tables import Table

TOML, PYPROJECT, PACKAGE_JSON = uptodate.PROJECT_FILES

_LARGEST = 1e9

_LATER = {
    "models": "reading what models need is not part of this version: name the components instead",
}
"""Keys of the design that this version does not act on. Taking them silently would be a lie."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file that holds a request: `values` is the request's table, `text` the whole file."""

    path: Path
    values: Mapping[str, Any]
    text: str

    @property
    def origin(self) -> Origin:
        return Origin(self.path.name, self.text)


@dataclass(frozen=True, slots=True)
class Project:
    """Where etfetch works: the folder of the project, and the file with the request, if any.

    A library has a `consumer`, the app with whose choices it is installed.
    """

    folder: Path
    file: ProjectFile | None
    library: Library | None = None
    consumer: Consumer | None = None

    @property
    def home(self) -> Path:
        """The folder of the lock: the project's, or the app's."""
        return self.consumer.folder if self.consumer else self.folder

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment; for a library with what its older variables stand for."""
        return self.library.variables(os.environ) if self.library else os.environ


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; None or empty where it said nothing."""

    project: str | None = None
    requirement: str | None = None
    platforms: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
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
    """The project of `--project DIR`, of the working directory, or of the folders above it.

    Where there is none, an app's folder stands for the one library that it depends on.
    """
    if options.project is not None:
        folder = Path(options.project).absolute()
        if not folder.is_dir():
            raise UsageError(
                f"`{options.project}` is not a folder", hint="`--project` names a project's folder"
            )
        return _project(folder, _file_in(folder))
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = _file_in(folder)
        if found:
            return _project(folder, found)
    used = _used_library(here) if options.requirement is None else None
    return used or Project(here, None)


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
        return _with_options(_from_requirement(options.requirement), options)
    if project.file is not None and project.library is not None:
        return _of_library(project, project.file, options)
    if project.file is not None:
        return _with_options(_from_file(project.file), options)
    if locked is not None:
        return _with_options(locked, options)
    raise ConfigError(
        "nothing says what to install: no project file here or above, no lock, no requirement",
        data=[f"looked in {project.folder} and the folders above it"],
        hint="run `etfetch init`, or `etfetch install 'executorch[xnnpack,optimized]==1.5.1'`",
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
        table = _table(project.file)
        text = table.string("destination").removesuffix("/")
        reason = paths.unsafe_reason(text)
        if reason:
            raise _in_file(project.file, "destination", f"`{text}`: {reason}")
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
    return (_table(project.file).optional_string("package") if project.file else None) or DEFAULT_PACKAGE


def outputs_of(project: Project) -> Outputs:
    """Which build files a project wants written."""
    if project.file is None:
        return Outputs()
    return generate.parse(_table(project.file))


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a folder seems to need; `found` says by what it was recognised ("" for nothing)."""

    found: str
    package: str
    platforms: tuple[str, ...]
    backends: tuple[str, ...]


def proposal(folder: Path, host: str | None) -> Proposal:
    """What `etfetch init` proposes for a folder, built on a machine that is `host`."""
    package = _json(folder / PACKAGE_JSON)
    if "react-native" in {**package.get("dependencies", {}), **package.get("devDependencies", {})}:
        mobile = ("android-arm64-v8a", "android-x86_64", "ios", "ios-simulator")
        found = "package.json with react-native"
        return Proposal(found, "react-native-executorch", mobile, ("xnnpack",))
    if (folder / "Package.swift").is_file():
        apple = ("ios", "ios-simulator", "macos-arm64")
        return Proposal("Package.swift", DEFAULT_PACKAGE, apple, ("coreml", "xnnpack"))
    found = "CMakeLists.txt" if (folder / "CMakeLists.txt").is_file() else ""
    return Proposal(found, DEFAULT_PACKAGE, (host or "linux-x86_64",), ("xnnpack",))


def _json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _project(folder: Path, file: ProjectFile | None) -> Project:
    """A project, and for a library the app that it is installed for."""
    if file is None:
        return Project(folder, file)
    table = _table(file)
    found = library.parse(table, uptodate.LOCK, generate.parse(table).passed)
    if found is None:
        return Project(folder, file)
    app = consumer.find(folder.resolve(), found.key, os.environ, Path.cwd())
    own = None if app.folder.samefile(folder) else _file_in(app.folder)
    if own is not None and found.lock == uptodate.LOCK:
        raise ConfigError(
            f"the app has a request of its own, and `{found.lock}` cannot answer both",
            data=[str(own.path), str(file.path)],
            hint='give the library a lock of its own: `lock = "NAME.lock"` in its project file',
        )
    return Project(folder, file, found, app)


def _used_library(here: Path) -> Project | None:
    """The library that the app of a folder depends on; `UsageError` if there are several, None if none."""
    for folder in (here, *here.parents):
        files = [
            (package, file)
            for package in consumer.dependencies(folder)
            if (package / TOML).is_file()
            and (file := _file_in(package)) is not None
            and "consumer-key" in file.values
        ]
        if len(files) > 1:
            raise UsageError(
                "several packages here are installed by etfetch",
                data=[os.path.relpath(package) for package, _ in files],
                hint=f"name one: `etfetch install --project {os.path.relpath(files[0][0])}`",
            )
        if files:
            return _project(*files[0])
    return None


def _file_in(folder: Path) -> ProjectFile | None:
    found = [
        file
        for file in (
            _toml_file(folder / TOML, ()),
            _toml_file(folder / PYPROJECT, ("tool", "etfetch")),
            _json_file(folder / PACKAGE_JSON),
        )
        if file is not None
    ]
    if len(found) > 1:
        raise ConfigError(
            "two files hold a request for etfetch",
            data=[str(file.path) for file in found],
            hint="keep it in one of them",
        )
    return found[0] if found else None


def _toml_file(path: Path, keys: Sequence[str]) -> ProjectFile | None:
    text = _text(path)
    if text is None or (keys and "etfetch" not in text):
        return None
    try:
        values: Any = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise ConfigError(f"{path.name}: not valid TOML: {error}", data=[str(path)]) from error
    for key in keys:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return _project_file(path, values, text, ".".join(keys))


def _json_file(path: Path) -> ProjectFile | None:
    text = _text(path)
    if text is None or '"etfetch"' not in text:
        return None
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path.name}: not valid JSON: {error}", data=[str(path)]) from error
    if not isinstance(values, dict) or not isinstance(values.get("etfetch"), dict):
        # `"etfetch": "^1.0"` in a list of dependencies is no request.
        return None
    return _project_file(path, values["etfetch"], text, "etfetch")


def _project_file(path: Path, values: object, text: str, key: str) -> ProjectFile:
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name}: {key}: expected a table", data=[str(path)])
    return ProjectFile(path, values, text)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 (byte {error.start})") from error


def _table(file: ProjectFile) -> Table:
    return Table(file.values, file.path.name, lambda message: _located(file, message))


def _located(file: ProjectFile, message: str) -> ConfigError:
    """An error that starts with `etfetch.toml:7: backends`, by looking the key up in the text."""
    name, _, rest = message.partition(": ")
    address, _, problem = rest.partition(": ")
    key = address.partition("[")[0].rpartition(".")[2]
    value = problem.split("`")[1] if problem.count("`") > 1 else None
    line = find_line(file.text, key, value) or find_line(file.text, key)
    position = f"{name}:{line}" if line else name
    return ConfigError(f"{position}: {rest}", data=[str(file.path)])


def _in_file(file: ProjectFile, key: str, problem: str) -> ConfigError:
    return _located(file, f"{file.path.name}: {key}: {problem}")


def _from_file(file: ProjectFile) -> Request:
    for key, why in _LATER.items():
        if key in file.values:
            raise _in_file(file, key, why)
    table = _table(file)
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
    )
    table.optional_string("destination")
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
    # Said before anything is asked of a server, not when it comes to installing.
    platforms_here(project, options, request.platforms)
    blocks = project.consumer.blocks if project.consumer else ()
    names = choices_of(project).names if blocks else {"features": (EVERYTHING,)}
    lists = {key: _unique((*getattr(request, key), *names.get(key, ()))) for key in NAMED}
    return replace(
        request,
        backends=lists["backends"],
        kernels=lists["kernels"],
        libraries=lists["libraries"],
        extras=lists["extras"],
        features=_unique((*lists["features"], *options.features)),
        variant=options.variant or request.variant,
    )


def choices_of(project: Project) -> Choices:
    """What the apps that use a library chose; `ConfigError` for a wrong block, or two that disagree."""
    if project.library is None or project.consumer is None:
        return Choices({}, {})
    read = [_choices(project.library, block) for block in project.consumer.blocks]
    together, disputed = library.together(read)
    if disputed is not None:
        raise ConfigError(
            f"apps that share one copy of the library disagree about `{disputed}`",
            data=[str(block.path) for block in project.consumer.blocks],
            hint="give all of them the same value",
        )
    return together


def _choices(found: Library, block: Block) -> Choices:
    if not isinstance(block.value, dict):
        raise ConfigError(
            f"{block.path.name}: {found.key}: expected an object of lists", data=[str(block.path)]
        )
    file = ProjectFile(block.path, block.value, _from_key_on(block.text, found.key))
    return library.choices(found, _table(file))


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
        raise _in_file(file, "version-from", "stands beside `version`; keep one of them")
    return _specifier(file, "version-from", _named_value(file, place))


def _named_value(file: ProjectFile, place: str) -> str:
    """The string that `package.json:nativeLibsVersion` means: a file beside the project file, and a key."""
    name, colon, key = place.partition(":")
    reason = paths.unsafe_reason(name)
    if not (colon and key) or reason or not name.endswith((".json", ".toml")):
        raise _in_file(
            file,
            "version-from",
            f"`{place}` is not a JSON or TOML file and a key, as in `package.json:nativeLibsVersion`",
        )
    text = _text(file.path.parent / name)
    if text is None:
        raise _in_file(file, "version-from", f"there is no `{name}` beside it")
    try:
        value: Any = json.loads(text) if name.endswith(".json") else toml.loads(text)
    except ValueError as error:
        raise _in_file(file, "version-from", f"`{name}` cannot be read: {error}") from error
    for word in key.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise _in_file(file, "version-from", f"`{name}` has no version under `{key}`")
    return value


def _specifier(file: ProjectFile, key: str, text: str) -> str:
    try:
        return normal_specifier(text)
    except UsageError as error:
        wrong = _in_file(file, key, error.message)
        raise ConfigError(wrong.message, data=wrong.data, hint=error.hint) from error


def _from_requirement(text: str) -> Request:
    requirement = parse_requirement(text)
    return Request(requirement.package, requirement.version, (), extras=requirement.extras)


def _with_options(request: Request, options: Options) -> Request:
    named = _checked_platforms(_platform_words(options, os.environ))
    platforms = named or request.platforms or _host_platforms()
    return replace(
        request,
        platforms=platforms,
        variant=options.variant or request.variant,
        features=_unique((*request.features, *options.features)),
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
