"""Files for build systems, written from the lock.

In: which files a project wants (`Outputs`), the lock, and what an app's choices pass on.
Out: `GeneratedFile`s, to be written by others. Rules:

- The same lock gives the same bytes: nothing depends on the clock, the host or an absolute path.
- Every path is relative and safe; files stand below the project's folder, at its top unless it says more.
- No generated file takes the name of a project file, a lock or a package's own files.

Each kind of file is a module with one function: `build_config`, `guards`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from etfetch import paths
from etfetch.generate import build_config, guards
from etfetch.lockfile import Lock
from etfetch.request import DEFAULT_DESTINATION
from etfetch.tables import Table

GENERATORS = ("build-config", "gradle-guard", "podspec-guard")
NEEDING_A_LOCK = frozenset({"build-config"})
"""The others say the same whatever is locked, so that a library can publish them."""


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """A JSON file for build scripts: `flags` are its keys, each with the component that turns it on.

    `passed` are keys of an app's block that are written there as they are.
    """

    path: str
    flags: tuple[tuple[str, str], ...]
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a project wants written, in the order of `GENERATORS`; `name` is what messages call it."""

    names: tuple[str, ...] = ()
    build_config: BuildConfig | None = None
    name: str = ""
    destination: str = ""

    @property
    def flags(self) -> tuple[tuple[str, str], ...]:
        """The build configuration's keys, each with its component."""
        return self.build_config.flags if self.build_config else ()

    @property
    def passed(self) -> tuple[str, ...]:
        """The keys of an app's block that are passed on."""
        return self.build_config.passed if self.build_config else ()


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file to write: its path below the project's folder, its text, and the generator it comes from."""

    path: str
    text: str = field(repr=False)
    generator: str


def parse(table: Table) -> Outputs:
    """Read `generate` and `[build-config]` of a project file."""
    names = table.choices("generate", GENERATORS)
    found = _build_config(table.table("build-config")) if table.has("build-config") else None
    if "build-config" in names and found is None:
        raise table.fail("generate", "`build-config` needs a table `[build-config]` that says what it holds")
    return Outputs(
        names=tuple(name for name in GENERATORS if name in names),
        build_config=found,
        name=table.optional_string("consumer-key") or table.optional_string("package") or "",
        destination=(table.optional_string("destination") or DEFAULT_DESTINATION).removesuffix("/"),
    )


def render(
    outputs: Outputs, names: Sequence[str], lock: Lock | None, passed: Mapping[str, Any]
) -> tuple[GeneratedFile, ...]:
    """The files of some generators. `lock` may be None where none of them needs it."""
    files = []
    for name in names:
        if name == "gradle-guard":
            files.append(GeneratedFile(guards.GRADLE, guards.gradle(outputs.name, outputs.destination), name))
        elif name == "podspec-guard":
            files.append(GeneratedFile(guards.RUBY, guards.ruby(outputs.name, outputs.destination), name))
        elif lock is not None and outputs.build_config is not None:
            wanted = outputs.build_config
            components = frozenset(component.name for component in lock.components)
            text = build_config.render(wanted.flags, components, passed)
            files.append(GeneratedFile(wanted.path, text, name))
    return tuple(files)


def _build_config(table: Table) -> BuildConfig:
    flags = table.table("flags")
    found = BuildConfig(
        path=_path(table),
        flags=tuple((key, flags.string(key)) for key in flags.names()),
        passed=table.strings("pass"),
    )
    flags.done()
    table.done()
    return found


def _path(table: Table) -> str:
    path = table.string("file")
    reason = paths.unsafe_reason(path)
    if reason is None and not path.endswith("-config.json"):
        # A package's own files, such as package.json, have other names: none of them can be overwritten.
        reason = "it does not end in `-config.json`"
    if reason:
        raise table.fail("file", f"`{path}`: {reason}")
    return path
