"""What a project asks for, and how etfetch is to work.

A `Request` is everything that changes the lock, and nothing else; `Settings` is everything else.
A request is written in a project file, or as a PEP 508 requirement, because a backend is to ExecuTorch what
an extra is to a Python package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from etfetch import digest
from etfetch.errors import UsageError

_EXACT = re.compile(r"==(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*")

DEFAULT_PACKAGE = "executorch"
DEFAULT_DESTINATION = "third-party"
NAMED = ("backends", "kernels", "libraries", "extras", "features")
"""The keys of a request that hold names of the release."""

EVERYTHING = "all"
"""The feature that every release has: all it has for the requested platforms."""

LINK_MODES = ("clone", "copy", "hardlink")
"""How files leave the cache: shared copy-on-write where possible, copied, or hard-linked."""

KIND_OF_KEY = {"backends": "backend", "kernels": "kernels", "libraries": "library"}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `version` is a PEP 440 specifier ("": any).

    `models` are patterns of files, relative to the lock's folder, whose needs are asked for as well. All
    tuples are sorted and without duplicates, so that equal wishes are equal values.
    """

    package: str
    version: str
    platforms: tuple[str, ...]
    variant: str = "release"
    backends: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of the release that are asked for, by key."""
        return {key: getattr(self, key) for key in NAMED}

    def with_names(self, names: Mapping[str, Iterable[str]]) -> Request:
        """The same request for other names, by key; keys that are not there keep theirs."""
        lists = {**self.names, **{key: tuple(sorted(set(values))) for key, values in names.items()}}
        return replace(
            self,
            backends=lists["backends"],
            kernels=lists["kernels"],
            libraries=lists["libraries"],
            extras=lists["extras"],
            features=lists["features"],
        )

    @property
    def fingerprint(self) -> str:
        """The digest of the request in one canonical form: what a lock is compared by."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if not self.models:
            # Locks were written before a request could name models: theirs is the fingerprint without.
            del values["models"]
        return digest.of_bytes(json.dumps(values, sort_keys=True).encode())

    def differences(self, older: Request) -> list[str]:
        """What changed since `older`, a line each: `backends: + vulkan`."""
        lines = []
        for item in fields(self):
            before, after = getattr(older, item.name), getattr(self, item.name)
            if isinstance(after, tuple):
                lines += [f"{item.name}: - {name}" for name in before if name not in after]
                lines += [f"{item.name}: + {name}" for name in after if name not in before]
            elif before != after:
                lines.append(f"{item.name}: {before or 'any'} -> {after or 'any'}")
        return lines


@dataclass(frozen=True, slots=True)
class Settings:
    """How etfetch works. Times in seconds; nothing here changes the lock."""

    cache_dir: Path
    offline: bool = False
    skip_download: bool = False
    headers_only: bool = False
    jobs: int = 4
    link_mode: str = "clone"
    lock_timeout: float = 600.0
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    retries: int = 5
    color: bool = True
    ci: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request was written, to point at the line that is wrong.

    `keys` are a file's own words for the keys of a request; `others` are files that were joined, which are
    looked into first.
    """

    file: str = ""
    text: str = field(default="", repr=False)
    keys: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Origin, ...] = ()

    def where(self, key: str, value: str | None = None) -> str:
        """`etfetch.toml:7: backends`, or "the command line"."""
        for other in self.others:
            if value is not None and f'"{value}"' in other.text and other.line(key, value):
                return other.where(key, value)
        if not self.file:
            return "the command line"
        line, word = self.line(key, value), self.keys.get(key, key)
        return f"{self.file}:{line}: {word}" if line else f"{self.file}: {word}"

    def line(self, key: str, value: str | None) -> int | None:
        """The line that sets the key, or on which its value stands."""
        return find_line(self.text, self.keys.get(key, key), value)


def find_line(text: str, key: str, value: str | None = None) -> int | None:
    """The line, from 1, on which `key` is set in TOML or JSON text, or its `value` stands.

    A search for the text, since neither `tomllib` nor `json` keeps positions: good enough
    to point at, never used to decide.
    """
    lines = text.splitlines()
    start = next(
        (
            number
            for number, line in enumerate(lines)
            if line.lstrip().startswith((f"{key} ", f"{key}=", f'"{key}"'))
        ),
        None,
    )
    if start is None:
        return None
    if value is not None:
        for number in range(start, len(lines)):
            if f'"{value}"' in lines[number] or f"'{value}'" in lines[number]:
                return number + 1
    return start + 1


@dataclass(frozen=True, slots=True)
class Requirement:
    """A parsed command-line requirement: `executorch[xnnpack,optimized]==1.5.1`."""

    package: str
    extras: tuple[str, ...]
    version: str


def parse_requirement(text: str) -> Requirement:
    """Read a PEP 508 requirement; `UsageError` when it is none or says more than etfetch can hold."""
    from packaging import requirements

    try:
        parsed = requirements.Requirement(text)
    except requirements.InvalidRequirement as error:
        raise UsageError(
            f"`{text}` is not a requirement",
            data=str(error).splitlines()[:1],
            hint="write it like `etfetch install 'executorch[xnnpack,optimized]==1.5.1'`",
        ) from error
    if parsed.url or parsed.marker:
        raise UsageError(
            f"`{text}`: a URL or an environment marker has no meaning here",
            hint="name a package, its components and a version",
        )
    return Requirement(parsed.name, tuple(sorted(parsed.extras)), normal_specifier(str(parsed.specifier)))


def normal_specifier(text: str) -> str:
    """A specifier in one spelling: sorted, and `1.5.1` as `==1.5.1`.

    `UsageError` when it is not a PEP 440 specifier.
    """
    stripped = text.strip()
    if not stripped or _EXACT.fullmatch(stripped):
        # The most common wish, already in its normal form; packaging takes 25 ms to say so.
        return stripped
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return f"=={Version(stripped)}"
    except InvalidVersion:
        pass
    try:
        return ",".join(sorted(str(one) for one in SpecifierSet(stripped)))
    except InvalidSpecifier as error:
        raise UsageError(
            f"`{text}` is not a version or a specifier",
            hint='write `version = "1.5.1"` or `version = "~=1.5.0"`',
        ) from error
