"""Mirrors: `mirror create`, `mirror verify`, `urls`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from etfetch import config, fetch
from etfetch.catalogue import Catalogue, releases_of
from etfetch.config import Options
from etfetch.errors import (
    IntegrityError,
    ResolutionError,
    UsageError,
)
from etfetch.lockfile import Lock, LockedArtifact
from etfetch.manifest import Artifact, Manifest
from etfetch.mirror_folder import SIDECAR, MirrorFolder, Verified
from etfetch.operations import bringing, locking
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.platforms import ANY
from etfetch.progress import Progress
from etfetch.request import parse_requirement


@dataclass(frozen=True, slots=True)
class Created:
    """What `mirror create` did: archives that were placed, and those that were there already."""

    folder: Path
    releases: tuple[str, ...]
    placed: int
    present: int


@dataclass(frozen=True, slots=True)
class _Release:
    """A release to mirror, with the archives of it that are wanted."""

    catalogue: Catalogue
    manifest: Manifest
    artifacts: tuple[LockedArtifact, ...]


def create(
    options: Options,
    folder: Path,
    requirements: Sequence[str],
    lock: str | None,
    progress: Progress,
) -> Created:
    """`etfetch mirror create DIR`: what a lock needs, or whole releases, as a static tree.

    `lock` is a file, or "" for the project's. Archives that are there and sound stay; whatever an earlier,
    broken run has fetched is not fetched again. Nothing is ever removed.
    """
    if bool(requirements) == (lock is not None):
        raise UsageError(
            "say what the mirror is to hold: either a lock, or releases",
            hint="run `etfetch mirror create DIR --lock`, or `etfetch mirror create DIR 'executorch>=1.4'`",
        )
    mirror = MirrorFolder(folder)
    with open_workspace(replace(options, platforms=())) as workspace:
        if lock is not None:
            named = locking.read_file(Path(lock)) if lock else locking.there(workspace)
            releases = [_of_lock(workspace, named, options)]
        else:
            releases = [found for text in requirements for found in _admitted(workspace, text, options)]
        placed = present = 0
        for release in releases:
            before = [a for a in release.artifacts if _is_there(mirror, release.manifest, a)]
            todo = [a for a in release.artifacts if a not in before]
            _bring(workspace, mirror, release.manifest, todo, progress)
            _describe(mirror, release)
            placed, present = placed + len(todo), present + len(before)
    mirror.publish()
    names = tuple(f"{r.manifest.package} {r.manifest.version}" for r in releases)
    return Created(folder, names, placed, present)


def verify(folder: Path) -> Verified:
    """`etfetch mirror verify DIR`: `IntegrityError` with every file that is not what it should be."""
    if not folder.is_dir():
        raise UsageError(f"`{folder}` is not a folder", hint="make one with `etfetch mirror create DIR`")
    found = MirrorFolder(folder).verify()
    if found.problems:
        raise IntegrityError(
            f"the mirror in `{folder}` is not sound",
            data=found.problems,
            hint="run `etfetch mirror create` again, which replaces what is wrong",
        )
    return found


@dataclass(frozen=True, slots=True)
class Needed:
    """An archive that a lock needs, and where it may be had, the first choice first. `size` in bytes."""

    name: str
    sha256: str
    size: int | None
    urls: tuple[str, ...]


def urls(options: Options) -> list[Needed]:
    """`etfetch urls`: what the project's lock needs, for the platforms that are named, or for all."""
    with open_workspace(replace(options, platforms=())) as workspace:
        lock = locking.there(workspace)
        wanted = locking.narrowed(lock, options)
        release = fetch.Release(lock.request.package, lock.release)
        servers = workspace.servers()
        return [
            Needed(a.name, a.sha256, a.size, tuple(servers.addresses(release.wanted(a))))
            for a in wanted.artifacts
        ]


def _of_lock(workspace: Workspace, lock: Lock, options: Options) -> _Release:
    package, version = lock.request.package, lock.release
    catalogue = workspace.catalogue(package)
    if version not in catalogue.texts.get(package, {}):
        raise ResolutionError(
            f"{package} {version}, which the lock names, is in no catalogue",
            hint="upgrade etfetch, or name the mirror that has its manifest: `--base-url`",
        )
    wanted = locking.narrowed(lock, options)
    return _Release(catalogue, catalogue.manifest(package, version), wanted.artifacts)


def _admitted(workspace: Workspace, text: str, options: Options) -> list[_Release]:
    """Every release that a requirement admits; pre-releases only if it names one."""
    requirement = parse_requirement(text)
    if requirement.extras:
        raise UsageError(
            f"`{text}`: a mirror holds whole releases, for those platforms that are named",
            hint="leave out the components, or mirror what a lock needs: `--lock`",
        )
    catalogue = workspace.catalogue(requirement.package)
    manifests = releases_of(catalogue, requirement.package, requirement.version)
    return [_whole(workspace, catalogue, manifest, options) for manifest in manifests]


def _whole(workspace: Workspace, catalogue: Catalogue, manifest: Manifest, options: Options) -> _Release:
    platforms = config.named_platforms(options)
    wanted = [
        artifact
        for artifact in manifest.artifacts
        if _has(artifact, platforms) and options.variant in {None, artifact.variant or options.variant}
    ]
    artifacts = tuple(_pinned(workspace, manifest, artifact) for artifact in wanted)
    return _Release(catalogue, manifest, artifacts)


def _has(artifact: Artifact, platforms: Sequence[str]) -> bool:
    wanted = {*platforms, ANY}
    return not platforms or any(wanted & set(part.platforms) for part in artifact.parts)


def _pinned(workspace: Workspace, release: Manifest, artifact: Artifact) -> LockedArtifact:
    """An artifact with its digest, asked for where only a sidecar has it."""
    sha256 = artifact.sha256
    if sha256 is None:
        sha256 = locking.ask_sidecar(workspace, release, artifact)
    return LockedArtifact(artifact.name, artifact.source, sha256, artifact.format, (), artifact.size)


def _is_there(mirror: MirrorFolder, release: Manifest, artifact: LockedArtifact) -> bool:
    return mirror.holds(release.package, release.version, artifact.name, artifact.sha256)


def _bring(
    workspace: Workspace,
    mirror: MirrorFolder,
    release: Manifest,
    artifacts: Sequence[LockedArtifact],
    progress: Progress,
) -> None:
    """Place each archive as it arrives, so that a broken run leaves what it has."""
    package, version = release.package, release.version
    with closing(bringing.sound(workspace, package, version, artifacts, progress)) as sound:
        for artifact in sound:
            blob = workspace.cache.blob(artifact.sha256)
            mirror.place(blob, package, version, artifact.name, artifact.sha256)


def _describe(mirror: MirrorFolder, release: _Release) -> None:
    """The manifest, word for word, and what else it refers to."""
    catalogue, manifest = release.catalogue, release.manifest
    mirror.write_manifest(
        manifest.package, manifest.version, catalogue.texts[manifest.package][manifest.version].text
    )
    for name in sorted(_operator_sets(catalogue, manifest)):
        mirror.write_operators(name, catalogue.operator_sets[name])
    digests = {a.name: a.sha256 for a in release.artifacts}
    for artifact in manifest.artifacts:
        if artifact.sidecar and artifact.sidecar != artifact.name + SIDECAR and artifact.name in digests:
            mirror.write_sidecar(
                manifest.package, manifest.version, artifact.sidecar, artifact.name, digests[artifact.name]
            )


def _operator_sets(catalogue: Catalogue, manifest: Manifest) -> set[str]:
    for component in manifest.components:
        # Says which set is missing, and where it is named.
        catalogue.operators(manifest, component)
    return {name for component in manifest.components for name in component.operators}
