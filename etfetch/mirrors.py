"""Where an artifact is asked for: an ordered list of places, and when the next one is asked.

The list is written `a,b|c`, after Go's `GOPROXY`:

- After a comma, the next place is asked only when the one before does not have the file (404, 410). Any
  other failure ends the search, so that a mirror which is down, or which forbids a file, is noticed.
- After a `|`, the next place is asked whatever went wrong.
- `origin` is the artifact's own source. Where it is not named it comes last, unless it is blocked.

A place is the base of a release server: one with an `index.json`, whose archives stand in
`<package>/<version>/`, or a flat one. Which of the two is seen by asking, and not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit

from etfetch import digest, paths
from etfetch.errors import ConfigError, ManifestError
from etfetch.manifest import is_name
from etfetch.tables import Table

ORIGIN = "origin"
INDEX = "index.json"
MANIFEST = "manifest.toml"
OPERATORS = "operators"
SCHEMES = ("https", "http", "file")
SCHEMA = 1
_NOT_A_NAME = "not a name that can stand here"


@dataclass(frozen=True, slots=True)
class Place:
    """One place to ask: `base` is a URL without a slash at its end, None for the origin.

    `lenient` says that any failure here leads to the next place, not only a missing file.
    """

    base: str | None
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of a release: its name on a mirror, and its own source."""

    package: str
    version: str
    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Index:
    """What a release server says it has: by package and version the digest of each manifest.

    `operators` are the digests of the operator sets that its manifests refer to.
    """

    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)


def parse(text: str, where: str) -> tuple[Place, ...]:
    """Read a list of places; `where` is what holds it, for the `ConfigError` of a bad one.

    URLs must be without credentials: `credentials.split` takes those out before.
    """
    pieces = re.split(r"([,|])", text)
    places = []
    for number in range(0, len(pieces), 2):
        lenient = pieces[number + 1 : number + 2] == ["|"]
        word = pieces[number].strip()
        base = None if word == ORIGIN else _base(word, where)
        places.append(Place(base, lenient))
    return tuple(places)


def words(text: str) -> list[str]:
    """The places of a list as they are written, without what separates them."""
    return [word.strip() for word in re.split(r"[,|]", text)]


def order(listed: tuple[Place, ...], *, block_origin: bool) -> tuple[Place, ...]:
    """The places in the order they are asked, each once: the origin last, or nowhere if it is blocked."""
    first: dict[str | None, Place] = {}
    for place in (*listed, Place(None)):
        if not (place.base is None and block_origin):
            first.setdefault(place.base, place)
    return tuple(first.values())


def address(base: str, wanted: Wanted, *, indexed: bool) -> str:
    """Where a file of a release stands below a base."""
    inside = f"{quote(wanted.package)}/{quote(wanted.version)}/" if indexed else ""
    return f"{base}/{inside}{quote(wanted.name)}"


def parse_index(values: object, where: str) -> Index:
    """Check the parsed JSON of an `index.json`; `ManifestError` with `where` and the key path."""
    if not isinstance(values, Mapping):
        raise ManifestError(f"{where}: expected an object")
    table = Table(values, where, ManifestError)
    schema = table.integer("schema")
    if schema != SCHEMA:
        raise ManifestError(
            f"{where}: schema: this etfetch reads indexes of schema {SCHEMA}, not {schema}",
            hint="upgrade etfetch",
        )
    packages = table.table("packages")
    return Index(
        {name: _versions(packages, name) for name in packages.names()},
        _digests(table.table("operators"), _is_file_name),
    )


def index_values(index: Index) -> dict[str, object]:
    """What an index is written as, in JSON."""
    values: dict[str, object] = {"schema": SCHEMA, "packages": index.packages}
    return {**values, "operators": index.operators} if index.operators else values


def _versions(packages: Table, name: str) -> dict[str, str]:
    if not _is_file_name(name):
        raise packages.fail(name, _NOT_A_NAME)
    return _digests(packages.table(name), _is_version)


def _digests(table: Table, allowed: Callable[[str], bool]) -> dict[str, str]:
    found = {}
    for name in table.names():
        if not allowed(name):
            raise table.fail(name, _NOT_A_NAME)
        value = table.string(name)
        if not digest.is_sha256(value):
            raise table.fail(name, "expected 64 hex digits")
        found[name] = value
    return found


def _is_version(name: str) -> bool:
    from etfetch.catalogue import is_version

    return _is_file_name(name) and is_version(name)


def _is_file_name(name: str) -> bool:
    return is_name(name) and paths.unsafe_reason(name) is None


def _has_port(parts: SplitResult) -> bool:
    """Whether the port, if there is one, is a number that a port can have."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _base(word: str, where: str) -> str:
    parts = urlsplit(word)
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.scheme == "file") or not _has_port(parts):
        # What cannot be read may hold a login in the wrong place.
        shown = "a part of the list" if "@" in word or not _has_port(parts) else f"`{word}`"
        raise ConfigError(
            f"{where}: {shown} is not the address of a mirror",
            hint=f"write a URL (`https://releases.internal/et`), or `{ORIGIN}`; separate them by `,` or `|`",
        )
    if parts.query or parts.fragment or " " in word or paths.has_control(word):
        raise ConfigError(f"{where}: `{word}`: a mirror's address has no query, fragment or space")
    return word.rstrip("/")
