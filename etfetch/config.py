"""The only reader of the environment and of project files.

A project says what it wants in `etfetch.toml`, under `[tool.etfetch]` in `pyproject.toml`, or
under `"etfetch"` in `package.json`: one of them, found by walking up. Flags and the environment may change
platforms and variant of a request; everything else they set is `Settings`, which never change the lock.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etfetch import paths, toml, uptodate
from etfetch.errors import ConfigError, UsageError, did_you_mean
from etfetch.platforms import ALL, PLATFORMS, VARIANTS, host_platform
from etfetch.request import (
    DEFAULT_DESTINATION,
    DEFAULT_PACKAGE,
    LINK_MODES,
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
    "generate": "generating build files is not part of this version: remove the key",
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
    """Where etfetch works: the folder that holds the lock, and the file with the request, if any."""

    folder: Path
    file: ProjectFile | None


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


def this_system() -> str:
    """The host's system, as `sys.platform` names it."""
    return sys.platform


def find_project(options: Options) -> Project:
    """The project of `--project DIR` or of the working directory and the folders above it."""
    if options.project is not None:
        folder = Path(options.project).absolute()
        if not folder.is_dir():
            raise UsageError(
                f"`{options.project}` is not a folder", hint="`--project` names a project's folder"
            )
        return Project(folder, _file_in(folder))
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = _file_in(folder)
        if found:
            return Project(folder, found)
    return Project(here, None)


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
    if project.file is not None:
        return _with_options(_from_file(project.file), options)
    if locked is not None:
        return _with_options(locked, options)
    raise ConfigError(
        "nothing says what to install: no project file here or above, no lock, no requirement",
        data=[f"looked in {project.folder} and the folders above it"],
        hint="run `etfetch init`, or `etfetch install 'executorch[xnnpack,optimized]==1.5.1'`",
    )


def installs_all(options: Options) -> bool:
    """Whether `--platform all` asks for what this host cannot build, too."""
    return ALL in _platform_words(options)


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


def settings_of(options: Options) -> Settings:
    """All settings, from flags, then the environment, then defaults. `ConfigError` for bad values."""
    link_mode = options.link_mode or os.environ.get("ETFETCH_LINK_MODE") or "clone"
    if link_mode not in LINK_MODES:
        raise ConfigError(
            f"`ETFETCH_LINK_MODE` is `{link_mode}`, which is none of {', '.join(LINK_MODES)}"
            f"{did_you_mean(link_mode, LINK_MODES)}"
        )
    return Settings(
        cache_dir=_cache_dir(options),
        offline=options.offline or flag("ETFETCH_OFFLINE"),
        skip_download=flag("ETFETCH_SKIP_DOWNLOAD"),
        jobs=options.jobs if options.jobs is not None else int(_number("ETFETCH_JOBS", 4)),
        link_mode=link_mode,
        lock_timeout=_number("ETFETCH_LOCK_TIMEOUT", 600),
        connect_timeout=_number("ETFETCH_CONNECT_TIMEOUT", 10),
        read_timeout=_number("ETFETCH_READ_TIMEOUT", 30),
        retries=max(1, int(_number("ETFETCH_RETRIES", 5))),
        color=not os.environ.get("NO_COLOR"),
        ci=flag("CI"),
    )


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
    version = table.optional_string("version") or ""
    request = Request(
        package=table.optional_string("package") or DEFAULT_PACKAGE,
        version=_specifier(file, version),
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
    table.done()
    return request


def _specifier(file: ProjectFile, text: str) -> str:
    try:
        return normal_specifier(text)
    except UsageError as error:
        wrong = _in_file(file, "version", error.message)
        raise ConfigError(wrong.message, data=wrong.data, hint=error.hint) from error


def _from_requirement(text: str) -> Request:
    requirement = parse_requirement(text)
    return Request(requirement.package, requirement.version, (), extras=requirement.extras)


def _with_options(request: Request, options: Options) -> Request:
    platforms = _checked_platforms(_platform_words(options)) or request.platforms or _host_platforms()
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


def _platform_words(options: Options) -> tuple[str, ...]:
    if options.platforms:
        return options.platforms
    return tuple(os.environ.get("ETFETCH_PLATFORMS", "").replace(",", " ").split())


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


def _cache_dir(options: Options) -> Path:
    named = options.cache_dir or os.environ.get("ETFETCH_CACHE_DIR")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("etfetch", appauthor=False))


def flag(name: str) -> bool:
    """Whether a variable says yes: anything but nothing, 0, false and no."""
    return os.environ.get(name, "").lower() not in {"", "0", "false", "no"}


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
