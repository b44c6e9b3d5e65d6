"""Files for build systems, written from the lock.

In: which files a project wants (`Outputs`), the lock, and what an app's choices pass on.
Out: `GeneratedFile`s, to be written by others. Rules:

- The same lock gives the same bytes: nothing depends on the clock, the host or an absolute path.
- Every path is relative and safe; files stand below the project's folder, at its top unless it says more.
- No generated file takes the name of a project file, a lock or a package's own files.

Each kind of file is a module with one function, `render`. What there is to link is read in `linking`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from etfetch import paths
from etfetch.generate import (
    build_config,
    cmake,
    cocoapods,
    gradle,
    guards,
    registration,
    swiftpm,
    xcode,
)
from etfetch.lockfile import Lock
from etfetch.request import DEFAULT_DESTINATION
from etfetch.tables import Table

GENERATORS = (
    *("build-config", "gradle-guard", "podspec-guard", "cmake", "registration-check"),
    *("xcconfig", "cocoapods", "swiftpm", "gradle"),
)
WITHOUT_A_LOCK = frozenset({"gradle-guard", "podspec-guard"})
"""These say the same whatever is locked, so that a library can publish them."""


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """A JSON file for build scripts: `flags` are its keys, each with the component that turns it on.

    `passed` are keys of an app's block that are written there as they are. With a `cmake_prefix` the flags
    are given to CMake, too.
    """

    path: str
    flags: tuple[tuple[str, str], ...]
    passed: tuple[str, ...] = ()
    cmake_prefix: str | None = None


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


@dataclass(frozen=True, slots=True)
class Material:
    """What files are made of: `operators` are the names in each operator set that is known here.

    `remote` makes SwiftPM's package one that downloads the archives itself.
    """

    outputs: Outputs
    lock: Lock | None = None
    passed: Mapping[str, Any] = field(default_factory=dict)
    operators: Mapping[str, frozenset[str]] = field(default_factory=dict)
    remote: bool = False

    @property
    def locked(self) -> Lock:
        """The lock, for what is not in `WITHOUT_A_LOCK`."""
        assert self.lock is not None  # noqa: S101  # whoever asks for other files has one
        return self.lock


def render(material: Material, names: Sequence[str]) -> tuple[GeneratedFile, ...]:
    """The files of some generators."""
    return tuple(
        GeneratedFile(path, text, name) for name in names for path, text in _RENDERERS[name](material).items()
    )


def _flags(material: Material) -> dict[str, str]:
    wanted = material.outputs.build_config
    assert wanted is not None  # noqa: S101  # `parse` refuses the name without the table
    components = frozenset(component.name for component in material.locked.components)
    return {wanted.path: build_config.render(wanted.flags, components, material.passed)}


def _gradle_guard(material: Material) -> dict[str, str]:
    outputs = material.outputs
    return {guards.GRADLE: guards.gradle(outputs.name, outputs.destination)}


def _podspec_guard(material: Material) -> dict[str, str]:
    outputs = material.outputs
    return {guards.RUBY: guards.ruby(outputs.name, outputs.destination)}


def _cmake(material: Material) -> dict[str, str]:
    return cmake.render(material.locked, material.outputs.destination)


def _xcconfig(material: Material) -> dict[str, str]:
    return xcode.render(material.locked, material.outputs.destination)


def _cocoapods(material: Material) -> dict[str, str]:
    return cocoapods.render(material.locked, material.outputs.destination)


def _swiftpm(material: Material) -> dict[str, str]:
    return swiftpm.render(material.locked, material.outputs.destination, remote=material.remote)


def _gradle(material: Material) -> dict[str, str]:
    outputs = material.outputs
    prefix = outputs.build_config.cmake_prefix if outputs.build_config else None
    return gradle.render(material.locked, outputs.name, outputs.destination, outputs.flags, prefix)


def _registration_check(material: Material) -> dict[str, str]:
    return registration.render(material.locked, material.operators)


_RENDERERS: Mapping[str, Callable[[Material], dict[str, str]]] = {
    "build-config": _flags,
    "gradle-guard": _gradle_guard,
    "podspec-guard": _podspec_guard,
    "cmake": _cmake,
    "registration-check": _registration_check,
    "xcconfig": _xcconfig,
    "cocoapods": _cocoapods,
    "swiftpm": _swiftpm,
    "gradle": _gradle,
}


def _build_config(table: Table) -> BuildConfig:
    flags = table.table("flags")
    found = BuildConfig(
        path=_path(table),
        flags=tuple((key, flags.string(key)) for key in flags.names()),
        passed=table.strings("pass"),
        cmake_prefix=table.optional_string("cmake-prefix"),
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
