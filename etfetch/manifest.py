"""The catalogue entry of one release: what it consists of and where its bytes are.

Scope: the format of `manifests/<package>/<version>.toml` (see `docs/manifests.md`).
In: the text of a manifest. Out: a `Manifest` whose every name, path and digest was checked.
Rules:

- `schema` is 1; a newer number is refused with a hint to upgrade.
- Exactly one component is the runtime.
- Every component a part, a feature, `prefer`, a `requires` or a `conflicts` names exists.
- Paths are relative and safe on every platform (`paths`), digests are 64 hex digits.
- An artifact has either a `sha256` or `checksum = "sidecar"`.
- Artifacts with a `flavour` are alternatives: a platform gets exactly one of them.

Not here: choosing (`resolve`), reading files (`shelf`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from etfetch import paths, toml
from etfetch.digest import is_sha256
from etfetch.errors import ManifestError, did_you_mean
from etfetch.platforms import ANY, PLATFORMS, VARIANTS
from etfetch.tables import Table

SCHEMA = 1
KINDS = ("runtime", "backend", "kernels", "library", "headers")
STABILITIES = ("stable", "experimental")
FORMATS = ("tar", "tar.gz", "tar.xz", "tar.zst", "zip")
LINK_KINDS = ("static", "shared", "framework")
SCHEMES = ("https", "http", "file", "pypi", "npm")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_SUFFIXES = {
    ".tar.gz": "tar.gz",
    ".tgz": "tar.gz",
    ".tar.xz": "tar.xz",
    ".tar.zst": "tar.zst",
    ".tar": "tar",
    ".zip": "zip",
    ".whl": "zip",
    ".aar": "zip",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence a user should read, on the platforms it concerns (none named: on all)."""

    text: str
    platforms: tuple[str, ...] = ()

    def concerns(self, platform: str) -> bool:
        return not self.platforms or platform in self.platforms


@dataclass(frozen=True, slots=True)
class Component:
    """Something that can be asked for by name.

    `short` is the name within its kind and `aliases` are others it goes by. `delegate` is the id a
    backend registers under, `operators` are the names of the operator sets a kernels library
    registers. `elsewhere` says on which platforms it comes from outside the release (CocoaPods, a
    source tree): available, without files. `unavailable` is why it can never be had, with `hint`.
    """

    name: str
    kind: str
    short: str
    aliases: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    delegate: str | None = None
    operators: tuple[str, ...] = ()
    stability: str = "stable"
    unavailable: str | None = None
    hint: str | None = None
    notices: tuple[Notice, ...] = ()
    elsewhere: tuple[Notice, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name a request may use for it."""
        return (self.name, self.short, *self.aliases)


@dataclass(frozen=True, slots=True)
class Feature:
    """A bundle of components under one name."""

    name: str
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """How a part is linked on some platforms; paths are relative to the destination.

    `registers` says that the libraries hold static registrations which a linker drops unless told
    not to. `frameworks` and `libraries` are the system's, `resources` are files an app bundles.
    """

    platforms: tuple[str, ...]
    kind: str
    files: tuple[str, ...]
    registers: bool = False
    frameworks: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    cxx_standard: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The members of an artifact that belong to one component, and where they go.

    `members` and `exclude` are patterns over member names; `strip` leading path components are
    dropped and the rest lands in `to`, relative to the destination ("" is the destination itself).
    `provides` names the components that are built into this one's libraries.
    """

    component: str
    platforms: tuple[str, ...]
    members: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    strip: int = 0
    to: str = ""
    provides: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """One archive. `size` in bytes, None where it was never published.

    `sha256` is None exactly when `sidecar` names the file beside it that holds the digest.
    `variant` is None for the only build there is; `flavour` marks alternatives.
    """

    name: str
    source: str
    format: str
    parts: tuple[Part, ...]
    sha256: str | None = None
    size: int | None = None
    sidecar: str | None = None
    variant: str | None = None
    flavour: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """One release. `file` is where it was read, and no part of what it says.

    `prefer` names the components that are taken first where several give what a model needs.
    """

    package: str
    version: str
    components: tuple[Component, ...]
    features: tuple[Feature, ...]
    artifacts: tuple[Artifact, ...]
    prerelease: bool = False
    prefer: tuple[str, ...] = ()
    file: str = field(default="", compare=False)

    def component(self, name: str) -> Component:
        """The component with that full name; KeyError if there is none."""
        for component in self.components:
            if component.name == name:
                return component
        raise KeyError(name)

    def named(self, name: str, kind: str | None = None) -> list[Component]:
        """The components that `name` may mean, within one kind or all: a full name beats short ones."""
        wanted = _spelling(name)
        of_kind = [c for c in self.components if kind in (None, c.kind)]
        exact = [c for c in of_kind if _spelling(c.name) == wanted]
        return exact or [c for c in of_kind if wanted in {_spelling(n) for n in c.names}]

    @property
    def runtime(self) -> Component:
        return next(c for c in self.components if c.kind == "runtime")

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that the runtime is there for, in the order of `PLATFORMS`."""
        runtime = self.runtime.name
        built = {
            platform
            for artifact in self.artifacts
            for part in artifact.parts
            if part.component == runtime
            for platform in part.platforms
        }
        return tuple(platform for platform in PLATFORMS if platform in built)


def _spelling(name: str) -> str:
    return name.lower().replace("-", "_")


def parse(text: str, file: str) -> Manifest:
    """Read a manifest; `file` is its name in messages. `ManifestError` with file and key path."""
    try:
        values = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error
    table = Table(values, file, ManifestError)
    schema = table.integer("schema")
    if schema != SCHEMA:
        raise ManifestError(
            f"{file}: schema: this etfetch reads manifests of schema {SCHEMA}, not {schema}",
            hint="upgrade etfetch",
        )
    manifest = Manifest(
        package=_name(table, "package"),
        version=_name(table, "version"),
        prerelease=table.boolean("prerelease"),
        prefer=table.strings("prefer"),
        components=_components(table.table("components")),
        features=_features(table.table("features")),
        artifacts=tuple(_artifact(entry) for entry in table.tables("artifacts")),
        file=file,
    )
    table.done()
    _check_references(manifest)
    return manifest


def is_name(text: str) -> bool:
    """Whether a text can name a package, a version or a component."""
    return _NAME.fullmatch(text) is not None


def format_of(name: str) -> str | None:
    """The archive format that a file name's ending says, or None."""
    for suffix, archive_format in _SUFFIXES.items():
        if name.lower().endswith(suffix):
            return archive_format
    return None


def _components(table: Table) -> tuple[Component, ...]:
    components = []
    for name in table.names():
        if not is_name(name):
            raise table.fail(name, "not a component name")
        components.append(_component(name, table.table(name)))
    return tuple(components)


def _component(name: str, table: Table) -> Component:
    component = Component(
        name=name,
        kind=table.choice("kind", KINDS),
        short=_name(table, "short") if table.has("short") else name,
        aliases=table.strings("aliases"),
        requires=table.strings("requires"),
        conflicts=table.strings("conflicts"),
        delegate=table.optional_string("delegate"),
        operators=table.strings("operators"),
        stability=table.choice("stability", STABILITIES) if table.has("stability") else "stable",
        unavailable=table.optional_string("unavailable"),
        hint=table.optional_string("hint"),
        notices=tuple(_notice(entry) for entry in table.tables("notices")),
        elsewhere=tuple(_notice(entry) for entry in table.tables("elsewhere")),
    )
    table.done()
    return component


def _notice(table: Table) -> Notice:
    notice = Notice(text=table.string("text"), platforms=table.choices("platforms", PLATFORMS))
    table.done()
    return notice


def _features(table: Table) -> tuple[Feature, ...]:
    return tuple(Feature(name, table.strings(name)) for name in table.names())


def _artifact(table: Table) -> Artifact:
    name = file_name(table, "name")
    sha256, sidecar = _checksum(table, name)
    artifact = Artifact(
        name=name,
        source=source(table, "source"),
        format=_format(table, name),
        sha256=sha256,
        sidecar=sidecar,
        size=table.optional_integer("size"),
        variant=table.choice("variant", VARIANTS) if table.has("variant") else None,
        flavour=_name(table, "flavour") if table.has("flavour") else None,
        parts=tuple(part(entry, (*PLATFORMS, ANY)) for entry in table.tables("parts")),
    )
    if not artifact.parts:
        raise table.fail("parts", "an artifact without parts gives nothing")
    table.done()
    return artifact


def part(table: Table, platforms: Sequence[str]) -> Part:
    """Read one part; shared with the lockfile, whose parts have the same keys."""
    result = Part(
        component=table.string("component"),
        platforms=_platforms(table, platforms),
        members=_patterns(table, "members"),
        exclude=_patterns(table, "exclude", optional=True),
        strip=table.integer("strip") if table.has("strip") else 0,
        to=_folder(table, "to"),
        provides=table.strings("provides"),
        links=tuple(_link(entry) for entry in table.tables("links")),
    )
    table.done()
    return result


def _link(table: Table) -> Link:
    link = Link(
        platforms=_platforms(table, PLATFORMS),
        kind=table.choice("kind", LINK_KINDS),
        files=_relative_paths(table, "files"),
        registers=table.boolean("registers"),
        frameworks=table.strings("frameworks"),
        libraries=table.strings("libraries"),
        resources=_relative_paths(table, "resources"),
        headers=_relative_paths(table, "headers"),
        definitions=table.strings("definitions"),
        cxx_standard=table.optional_integer("cxx-standard"),
    )
    table.done()
    return link


def source(table: Table, key: str) -> str:
    """Read a source: a URL, or `pypi:NAME==VERSION/FILE`, or `npm:NAME@VERSION`."""
    value = table.string(key)
    scheme = value.partition(":")[0]
    if scheme not in SCHEMES:
        raise table.fail(key, f"`{value}` starts with none of " + ", ".join(SCHEMES))
    if " " in value or paths.has_control(value):
        raise table.fail(key, "a space or control character in a source")
    if scheme in {"http", "https"} and "@" in value.split("/")[2]:
        raise table.fail(key, "a source may not hold credentials")
    return value


def sha256(table: Table, key: str) -> str:
    """Read a digest of 64 lower-case hex digits."""
    value = table.string(key)
    if not is_sha256(value):
        raise table.fail(key, "expected 64 hex digits")
    return value


def _checksum(table: Table, name: str) -> tuple[str | None, str | None]:
    if not table.has("checksum"):
        return sha256(table, "sha256"), None
    table.choice("checksum", ("sidecar",))
    if table.has("sha256"):
        raise table.fail("sha256", 'stands beside `checksum = "sidecar"`; keep one of them')
    return None, file_name(table, "sidecar") if table.has("sidecar") else f"{name}.sha256"


def _format(table: Table, name: str) -> str:
    if table.has("format"):
        return table.choice("format", FORMATS)
    found = format_of(name)
    if found is None:
        raise table.fail("format", "is missing, and the name's ending does not say it")
    return found


def _name(table: Table, key: str) -> str:
    value = table.string(key)
    if not is_name(value):
        raise table.fail(key, f"`{value}` is not a name")
    return value


def file_name(table: Table, key: str) -> str:
    """Read a name that is one safe path component."""
    value = table.string(key)
    reason = "it holds a slash" if "/" in value else paths.unsafe_reason(value)
    if reason:
        raise table.fail(key, f"`{value}` is not a file name: {reason}")
    return value


def _platforms(table: Table, known: Sequence[str]) -> tuple[str, ...]:
    values = table.choices("platforms", known)
    if not values:
        raise table.fail("platforms", "names no platform")
    return values


def _patterns(table: Table, key: str, *, optional: bool = False) -> tuple[str, ...]:
    values = table.strings(key)
    if not values and not optional:
        raise table.fail(key, "names no member")
    return _checked_paths(table, key, values)


def _relative_paths(table: Table, key: str) -> tuple[str, ...]:
    return _checked_paths(table, key, table.strings(key))


def _checked_paths(table: Table, key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        reason = paths.unsafe_reason(value)
        if reason:
            raise table.fail(key, f"`{value}`: {reason}")
    return values


def _folder(table: Table, key: str) -> str:
    value = table.string(key) if table.has(key) else ""
    if value:
        _checked_paths(table, key, (value,))
        if paths.fold(value.split("/")[0]) == ".etfetch":
            raise table.fail(key, "`.etfetch` is etfetch's own folder")
    return value


def _check_references(manifest: Manifest) -> None:
    names = [component.name for component in manifest.components]
    runtimes = [c.name for c in manifest.components if c.kind == "runtime"]
    if len(runtimes) != 1:
        raise ManifestError(
            f"{manifest.file}: components: expected one of kind `runtime`, found {len(runtimes)}"
        )

    def check(address: str, named: tuple[str, ...]) -> None:
        for name in named:
            if name not in names:
                raise ManifestError(
                    f"{manifest.file}: {address}: no component `{name}`{did_you_mean(name, names)}"
                )

    check("prefer", manifest.prefer)
    for component in manifest.components:
        check(f"components.{component.name}.requires", component.requires)
        check(f"components.{component.name}.conflicts", component.conflicts)
    for feature in manifest.features:
        check(f"features.{feature.name}", feature.components)
    seen: set[str] = set()
    for index, artifact in enumerate(manifest.artifacts):
        if artifact.name in seen:
            raise ManifestError(f"{manifest.file}: artifacts[{index}].name: `{artifact.name}` stands twice")
        seen.add(artifact.name)
        for number, piece in enumerate(artifact.parts):
            address = f"artifacts[{index}].parts[{number}]"
            check(f"{address}.component", (piece.component,))
            check(f"{address}.provides", piece.provides)
