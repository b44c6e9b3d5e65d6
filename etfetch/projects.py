"""Which project etfetch works on, and what its files say.

The only reader of project files. A request stands in `etfetch.toml`, under `[tool.etfetch]` in
`pyproject.toml`, or under `"etfetch"` in `package.json`: in one of them, found by walking up. Of a
library the app is found, too (`consumer`).

Not here: what the request comes to with flags and environment (`config`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etfetch import consumer, generate, library, paths, toml, uptodate
from etfetch.consumer import Consumer
from etfetch.errors import ConfigError, UsageError
from etfetch.library import Library
from etfetch.request import DEFAULT_PACKAGE, Origin, find_line
from etfetch.tables import Table

TOML, PYPROJECT, PACKAGE_JSON = uptodate.PROJECT_FILES


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

    A library has a `consumer`, the app with whose choices it is installed. `environment` is the process's.
    """

    folder: Path
    file: ProjectFile | None
    library: Library | None = None
    consumer: Consumer | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def home(self) -> Path:
        """The folder of the lock: the project's, or the app's."""
        return self.consumer.folder if self.consumer else self.folder

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment; for a library with what its older variables stand for."""
        return self.library.variables(self.environment) if self.library else self.environment


def find(named: str | None, environment: Mapping[str, str], *, through_apps: bool = True) -> Project:
    """The project of the folder `named`, of the working directory, or of the folders above it.

    Where there is none, with `through_apps` an app's folder stands for the one library that it depends on.
    """
    if named is not None:
        folder = Path(named).absolute()
        if not folder.is_dir():
            raise UsageError(f"`{named}` is not a folder", hint="`--project` names a project's folder")
        return _project(folder, _file_in(folder), environment)
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = _file_in(folder)
        if found:
            return _project(folder, found, environment)
    used = _used_library(here, environment) if through_apps else None
    return used or Project(here, None, environment=environment)


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


def _project(folder: Path, file: ProjectFile | None, environment: Mapping[str, str]) -> Project:
    """A project, and for a library the app that it is installed for."""
    if file is None:
        return Project(folder, file, environment=environment)
    table = table_of(file)
    found = library.parse(table, uptodate.LOCK, generate.parse(table).passed)
    if found is None:
        return Project(folder, file, environment=environment)
    app = consumer.find(folder.resolve(), found.key, environment, Path.cwd())
    own = None if app.folder.samefile(folder) else _file_in(app.folder)
    if own is not None and found.lock == uptodate.LOCK:
        raise ConfigError(
            f"the app has a request of its own, and `{found.lock}` cannot answer both",
            data=[str(own.path), str(file.path)],
            hint='give the library a lock of its own: `lock = "NAME.lock"` in its project file',
        )
    return Project(folder, file, found, app, environment)


def _used_library(here: Path, environment: Mapping[str, str]) -> Project | None:
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
            return _project(*files[0], environment)
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


def table_of(file: ProjectFile) -> Table:
    """A project file's table, whose errors name the file, the line and the key."""
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


def wrong(file: ProjectFile, key: str, problem: str) -> ConfigError:
    """The error for a key of a project file, to be raised by the caller."""
    return _located(file, f"{file.path.name}: {key}: {problem}")


def named_value(file: ProjectFile, place: str) -> str:
    """The string that `package.json:nativeLibsVersion` means: a file beside the project file, and a key."""
    name, colon, key = place.partition(":")
    reason = paths.unsafe_reason(name)
    if not (colon and key) or reason or not name.endswith((".json", ".toml")):
        raise wrong(
            file,
            "version-from",
            f"`{place}` is not a JSON or TOML file and a key, as in `package.json:nativeLibsVersion`",
        )
    text = _text(file.path.parent / name)
    if text is None:
        raise wrong(file, "version-from", f"there is no `{name}` beside it")
    try:
        value: Any = json.loads(text) if name.endswith(".json") else toml.loads(text)
    except ValueError as error:
        raise wrong(file, "version-from", f"`{name}` cannot be read: {error}") from error
    for word in key.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise wrong(file, "version-from", f"`{name}` has no version under `{key}`")
    return value
