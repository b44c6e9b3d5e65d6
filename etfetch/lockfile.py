"""`etfetch.lock`: the answer to a request, for every requested platform.

Goals, in this order:

- Complete: installing needs the lock and the archives, never a manifest, the request or its models.
- The same bytes for the same request on every machine: everything is sorted, nothing depends on
  the clock, the host, a mirror or a path. etfetch writes the TOML itself, so that no library's next
  version changes the bytes.
- Small differences: one value a line, one block a component, an artifact, a part.
- Refusing: a version that this etfetch does not know is refused, and so is every text that is not
  exactly what etfetch would write for the same values. What was edited by hand is found, not guessed at.

In: a `Resolution` and the digests that sidecars gave. Out: `Lock`, and its text; back again.
Not here: files (`operations` reads, `install` writes).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from etfetch import digest, manifest, modelpaths, toml
from etfetch.errors import LockfileError, UsageError
from etfetch.manifest import FORMATS, KINDS, Link, Part
from etfetch.needs import ModelNeeds
from etfetch.platforms import ANY, PLATFORMS, VARIANTS
from etfetch.request import Request, normal_specifier
from etfetch.tables import Table

if TYPE_CHECKING:
    from etfetch.resolve import Resolution

NAME = "etfetch.lock"
VERSION = 1
VERSION_WITH_MODELS = 2
"""The version of locks whose request names models; all others keep the bytes of version 1."""

_HEADER = (
    "# Written by etfetch: the exact archives that answer the request below.\n"
    "# Commit this file. To change it, change the request and run `etfetch lock`.\n"
)
_REPAIR = f"restore `{NAME}` from version control, or delete it and run `etfetch lock`"


@dataclass(frozen=True, slots=True)
class LockedComponent:
    """A component that is in, with what it registers at run time."""

    name: str
    kind: str
    platforms: tuple[str, ...]
    requires: tuple[str, ...] = ()
    delegate: str | None = None
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockedArtifact:
    """An archive with the digest it must have; `size` in bytes where it was published."""

    name: str
    source: str
    sha256: str
    format: str
    parts: tuple[Part, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Lock:
    """The whole answer. `release` is the chosen version of `request.package`; `models` is what they need."""

    request: Request
    release: str
    components: tuple[LockedComponent, ...]
    artifacts: tuple[LockedArtifact, ...]
    models: tuple[ModelNeeds, ...] = ()

    @property
    def version(self) -> int:
        """The version of the format that this lock is written in."""
        return VERSION_WITH_MODELS if self.request.models or self.models else VERSION

    def for_platforms(self, platforms: Iterable[str]) -> Lock:
        """The same lock with only the artifacts and parts that some platforms need; for none, none."""
        named = set(platforms)
        wanted = named | {ANY} if named else named
        artifacts = []
        for artifact in self.artifacts:
            parts = tuple(part for part in artifact.parts if wanted & set(part.platforms))
            if parts:
                artifacts.append(replace(artifact, parts=parts))
        return replace(self, artifacts=tuple(artifacts))

    def of_kind(self, kind: str) -> Lock:
        """The same lock with only the artifacts and parts of the components of one kind."""
        names = {component.name for component in self.components if component.kind == kind}
        artifacts = [
            replace(artifact, parts=parts)
            for artifact in self.artifacts
            if (parts := tuple(part for part in artifact.parts if part.component in names))
        ]
        return replace(self, artifacts=tuple(artifacts))


def build(resolution: Resolution, sidecars: Mapping[str, str]) -> Lock:
    """The lock of a resolution; `sidecars` has the digests of sources that publish them beside themselves."""
    components = [
        LockedComponent(
            name=choice.component.name,
            kind=choice.component.kind,
            platforms=choice.platforms,
            requires=tuple(sorted(choice.component.requires)),
            delegate=choice.component.delegate,
            operators=tuple(sorted(choice.component.operators)),
        )
        for choice in resolution.choices
    ]
    artifacts = [
        LockedArtifact(
            name=chosen.artifact.name,
            source=chosen.artifact.source,
            sha256=chosen.artifact.sha256 or sidecars[chosen.artifact.source],
            size=chosen.artifact.size,
            format=chosen.artifact.format,
            parts=tuple(sorted((_sorted_part(p) for p in chosen.parts), key=_part_order)),
        )
        for chosen in resolution.artifacts
    ]
    return Lock(
        request=resolution.request,
        release=resolution.manifest.version,
        components=tuple(sorted(components, key=lambda c: c.name)),
        artifacts=tuple(sorted(artifacts, key=lambda a: (a.name, a.source))),
        models=tuple(sorted(resolution.models, key=lambda m: m.path)),
    )


def tree_key(artifact_sha256: str, part: Part) -> str:
    """The digest that names a part's unpacked files: the archive's and the selection's."""
    selection = [artifact_sha256, part.members, part.exclude, part.strip]
    return digest.of_bytes(json.dumps(selection).encode())


def render(lock: Lock) -> str:
    """The lock's one text: TOML, LF, sorted."""
    return "".join(_lines(lock))


def digest_of(lock: Lock) -> str:
    """The digest of the lock's text, by which a record says what it installed."""
    return digest.of_bytes(render(lock).encode("utf-8"))


def parse(text: str, file: str = NAME) -> Lock:
    """Read a lock; `LockfileError` unless `text` is exactly what `render` would write.

    CRLF line ends are accepted, since git writes them into checkouts on Windows.
    """
    text = text.replace("\r\n", "\n")
    try:
        values = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise LockfileError(f"{file}: damaged: {error}", hint=_REPAIR) from error
    _check_version(values, file)
    lock = _read(Table(values, file, lambda message: LockfileError(message, hint=_REPAIR)))
    expected = render(lock)
    if text != expected:
        raise LockfileError(
            f"{file}:{_first_difference(text, expected)}: not what etfetch wrote: edited by hand or damaged",
            hint=_REPAIR,
        )
    return lock


def _check_version(values: dict[str, Any], file: str) -> None:
    version = values.get("version")
    if version not in (VERSION, VERSION_WITH_MODELS):
        raise LockfileError(
            f"{file}: lock version {version!r} is not known to this etfetch, which reads versions "
            f"{VERSION} and {VERSION_WITH_MODELS}",
            hint="upgrade etfetch to the version that wrote the lock",
        )


def _first_difference(text: str, expected: str) -> int:
    lines, wanted = text.split("\n"), expected.split("\n")
    for number, (line, want) in enumerate(zip(lines, wanted, strict=False), start=1):
        if line != want:
            return number
    return min(len(lines), len(wanted)) + 1


def _sorted_part(part: Part) -> Part:
    return replace(
        part,
        platforms=_in_order(part.platforms),
        members=tuple(sorted(part.members)),
        exclude=tuple(sorted(part.exclude)),
        provides=tuple(sorted(part.provides)),
        links=tuple(sorted((_sorted_link(link) for link in part.links), key=_link_order)),
    )


def _sorted_link(link: Link) -> Link:
    return replace(
        link,
        platforms=_in_order(link.platforms),
        # The order of `files` is the order on the link line, so it stays as the manifest has it.
        frameworks=tuple(sorted(link.frameworks)),
        libraries=tuple(sorted(link.libraries)),
        resources=tuple(sorted(link.resources)),
        headers=tuple(sorted(link.headers)),
        definitions=tuple(sorted(link.definitions)),
    )


def _in_order(platforms: tuple[str, ...]) -> tuple[str, ...]:
    known = (*PLATFORMS, ANY)
    return tuple(sorted(set(platforms), key=known.index))


def _part_order(part: Part) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return (part.component, part.to, part.platforms, part.members)


def _link_order(link: Link) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    return (link.platforms, link.kind, link.files)


def _read(table: Table) -> Lock:
    table.integer("version")
    request = _read_request(table.table("request"))
    lock = Lock(
        request=request,
        release=table.string("release"),
        components=tuple(_read_component(entry) for entry in table.tables("components")),
        artifacts=tuple(_read_artifact(entry) for entry in table.tables("artifacts")),
        models=tuple(_read_model(entry) for entry in table.tables("models")),
    )
    fingerprint = manifest.sha256(table, "fingerprint")
    if fingerprint != request.fingerprint:
        raise table.fail("fingerprint", "is not that of the request")
    table.done()
    return lock


def _read_request(table: Table) -> Request:
    version = table.string("version")
    try:
        normal_specifier(version)
    except UsageError as error:
        raise table.fail("version", error.message) from error
    request = Request(
        package=table.string("package"),
        version=version,
        platforms=table.choices("platforms", PLATFORMS),
        variant=table.choice("variant", VARIANTS),
        backends=table.strings("backends"),
        kernels=table.strings("kernels"),
        libraries=table.strings("libraries"),
        extras=table.strings("extras"),
        features=table.strings("features"),
        models=modelpaths.patterns(table),
    )
    table.done()
    return request


def _read_model(table: Table) -> ModelNeeds:
    path = table.string("path")
    problem = modelpaths.problem(path)
    if problem:
        raise table.fail("path", f"`{path}`: {problem}")
    model = ModelNeeds(
        path=path,
        sha256=manifest.sha256(table, "sha256"),
        delegates=table.strings("delegates"),
        operators=table.strings("operators"),
    )
    table.done()
    return model


def _read_component(table: Table) -> LockedComponent:
    component = LockedComponent(
        name=table.string("name"),
        kind=table.choice("kind", KINDS),
        platforms=table.choices("platforms", PLATFORMS),
        requires=table.strings("requires"),
        delegate=table.optional_string("delegate"),
        operators=table.strings("operators"),
    )
    table.done()
    return component


def _read_artifact(table: Table) -> LockedArtifact:
    artifact = LockedArtifact(
        name=manifest.file_name(table, "name"),
        source=manifest.source(table, "source"),
        sha256=manifest.sha256(table, "sha256"),
        size=table.optional_integer("size"),
        format=table.choice("format", FORMATS),
        parts=tuple(manifest.part(entry, (*PLATFORMS, ANY)) for entry in table.tables("parts")),
    )
    table.done()
    return artifact


def _lines(lock: Lock) -> Iterator[str]:
    yield _HEADER
    yield _pair("version", lock.version)
    yield _pair("release", lock.release)
    yield _pair("fingerprint", lock.request.fingerprint)
    yield "\n[request]\n"
    yield from _request_lines(lock.request)
    for model in lock.models:
        yield "\n[[models]]\n"
        yield from _pairs(
            path=model.path, sha256=model.sha256, delegates=model.delegates, operators=model.operators
        )
    for component in lock.components:
        yield "\n[[components]]\n"
        yield from _pairs(
            name=component.name,
            kind=component.kind,
            platforms=component.platforms,
            requires=component.requires,
            delegate=component.delegate,
            operators=component.operators,
        )
    for artifact in lock.artifacts:
        yield "\n[[artifacts]]\n"
        yield from _pairs(
            name=artifact.name,
            source=artifact.source,
            sha256=artifact.sha256,
            size=artifact.size,
            format=artifact.format,
        )
        for part in artifact.parts:
            yield from _part_lines(part)


def _request_lines(request: Request) -> Iterator[str]:
    yield _pair("package", request.package)
    yield _pair("version", request.version)
    yield from _pairs(
        platforms=request.platforms,
        variant=request.variant,
        backends=request.backends,
        kernels=request.kernels,
        libraries=request.libraries,
        extras=request.extras,
        features=request.features,
        models=request.models,
    )


def _part_lines(part: Part) -> Iterator[str]:
    yield "\n[[artifacts.parts]]\n"
    yield from _pairs(
        component=part.component,
        platforms=part.platforms,
        members=part.members,
        exclude=part.exclude,
        strip=part.strip,
        to=part.to,
        provides=part.provides,
    )
    for link in part.links:
        yield "\n[[artifacts.parts.links]]\n"
        yield from _pairs(
            platforms=link.platforms,
            kind=link.kind,
            files=link.files,
            registers=link.registers,
            frameworks=link.frameworks,
            libraries=link.libraries,
            resources=link.resources,
            headers=link.headers,
            definitions=link.definitions,
            cxx_standard=link.cxx_standard,
        )


def _pairs(**values: str | int | tuple[str, ...] | None) -> Iterator[str]:
    """The pairs that say something: an empty list, an empty string, 0 and False go without saying."""
    for key, value in values.items():
        if value:
            yield _pair(key.replace("_", "-"), value)


def _pair(key: str, value: str | int | tuple[str, ...]) -> str:
    return f"{key} = {_value(value)}\n"


def _value(value: str | int | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if len(value) == 1:
        return f"[{_value(value[0])}]"
    return "[\n" + "".join(f"    {_value(item)},\n" for item in value) + "]"
