"""Answering a request: reading the lock that is there, or making the one that should be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import config, installer, lockfile
from etfetch.errors import LockOutdatedError, OfflineError, UsageError
from etfetch.lockfile import Lock
from etfetch.manifest import Artifact, Manifest
from etfetch.mirrors import Wanted
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.request import Origin, Request

if TYPE_CHECKING:
    from etfetch.resolve import Resolution

_UPDATE = "run `etfetch lock`, and commit `etfetch.lock`"


@dataclass(frozen=True, slots=True)
class Answer:
    """A lock and how it came to be. `older` is the lock it replaces; `notices` are for the user.

    `undigested` names archives whose digests nobody could be asked for: then the lock is without them, and
    not to be written.
    """

    lock: Lock
    older: Lock | None
    notices: tuple[str, ...] = ()
    undigested: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.lock != self.older


def answer(workspace: Workspace, *, locked: bool = False, frozen: bool = False) -> Answer:
    """The lock to install from: the one that is there while it answers the request, else a new one.

    With `locked` (and, for a lock that is there, under CI) a new one is a `LockOutdatedError`; with
    `frozen` the lock is taken as it is.
    """
    older = workspace.read_lock()
    if frozen:
        if older is None:
            raise _missing(workspace)
        return Answer(older, older)
    request = config.request_of(workspace.project, workspace.options, older.request if older else None)
    if older is not None and older.request == request:
        return Answer(older, older)
    if older is None and locked:
        raise _missing(workspace)
    if older is not None and (locked or workspace.settings.ci):
        raise LockOutdatedError(
            "`etfetch.lock` does not answer the request any more",
            data=request.differences(older.request),
            hint=_UPDATE,
        )
    return make(workspace, request, older, incomplete=workspace.settings.skip_download)


def make(workspace: Workspace, request: Request, older: Lock | None, *, incomplete: bool = False) -> Answer:
    """Resolve a request and lock the answer. Digests that a lock already pinned stay pinned.

    `OfflineError` when digests would have to be asked for and the network may not be used; with
    `incomplete` the answer is then without those archives.
    """
    from etfetch import resolve

    resolution = resolve.resolve(request, workspace.catalogue(request.package), origin_of(workspace))
    undigested = _undigested(resolution, older) if incomplete and not workspace.may_ask else []
    if undigested:
        rest = tuple(c for c in resolution.artifacts if c.artifact not in undigested)
        resolution = replace(resolution, artifacts=rest)
    made = _locked(workspace, resolution, older)
    return replace(made, undigested=tuple(artifact.name for artifact in undigested))


def lock(options: config.Options, *, upgrade: bool = False) -> Answer:
    """`etfetch lock`: write the lock. The release stays while the request admits it, unless `upgrade`."""
    with open_workspace(options) as workspace:
        older = workspace.read_lock()
        request = config.request_of(workspace.project, options, older.request if older else None)
        if older is not None and older.request == request and not upgrade:
            made = _at_release(workspace, request, older)
        else:
            made = make(workspace, request, older)
        installer.write_text(workspace.lock_path, lockfile.render(made.lock))
        return made


def check(options: config.Options) -> Lock:
    """`etfetch lock --check`: `LockOutdatedError` with the differences from what the lock should be."""
    with open_workspace(options) as workspace:
        older = workspace.read_lock()
        if older is None:
            raise _missing(workspace)
        request = config.request_of(workspace.project, options, older.request)
        if request != older.request:
            raise LockOutdatedError(
                "`etfetch.lock` does not answer the request any more",
                data=request.differences(older.request),
                hint=_UPDATE,
            )
        made = _at_release(workspace, request, older)
        if made.lock != older:
            raise LockOutdatedError(
                f"`etfetch.lock` is not what {older.request.package} {older.release} is known to be",
                data=_difference(older, made.lock),
                hint=_UPDATE,
            )
        return older


def resolution_of(workspace: Workspace, request: Request, older: Lock | None) -> Resolution:
    """How a request is answered now: at the locked release where there is one for this request."""
    from etfetch import resolve

    catalogue = workspace.catalogue(request.package)
    if older is None or older.request != request:
        return resolve.resolve(request, catalogue, origin_of(workspace))
    pinned = replace(request, version=f"=={older.release}")
    resolution = resolve.resolve(pinned, catalogue, origin_of(workspace))
    return replace(resolution, request=request)


def origin_of(workspace: Workspace) -> Origin:
    """Where the request stands, for messages."""
    file = workspace.project.file
    return file.origin if file else Origin()


def _at_release(workspace: Workspace, request: Request, older: Lock) -> Answer:
    return _locked(workspace, resolution_of(workspace, request, older), older)


def _locked(workspace: Workspace, resolution: Resolution, older: Lock | None) -> Answer:
    made = lockfile.build(resolution, _sidecars(workspace, resolution, older))
    return Answer(made, older, resolution.notices)


def _sidecars(workspace: Workspace, resolution: Resolution, older: Lock | None) -> dict[str, str]:
    """The digests of artifacts that publish them beside themselves: pinned ones, then asked for."""
    unknown = _undigested(resolution, older)
    if unknown and not workspace.may_ask:
        raise OfflineError(
            "digests have to be asked for, and the network may not be used",
            data=[f"{artifact.source}: its `{artifact.sidecar}`" for artifact in unknown],
            hint="lock once with the network; the lock pins them from then on",
        )
    digests = _pinned(older)
    for artifact in unknown:
        digests[artifact.source] = ask_sidecar(workspace, resolution.manifest, artifact)
    return digests


def _undigested(resolution: Resolution, older: Lock | None) -> list[Artifact]:
    """The artifacts whose digests neither the manifest nor an older lock has."""
    pinned = _pinned(older)
    chosen = [chosen.artifact for chosen in resolution.artifacts]
    return [artifact for artifact in chosen if artifact.sidecar and artifact.source not in pinned]


def _pinned(older: Lock | None) -> dict[str, str]:
    return {a.source: a.sha256 for a in older.artifacts} if older else {}


def ask_sidecar(workspace: Workspace, release: Manifest, artifact: Artifact) -> str:
    """The digest that is published beside an artifact of a release, which must have a sidecar."""
    from etfetch import fetch

    wanted = Wanted(release.package, release.version, artifact.name, artifact.source)
    return fetch.fetch_sidecar(wanted, artifact.sidecar or "", workspace.servers())


def there(workspace: Workspace) -> Lock:
    """The lock that is there; `LockOutdatedError` if there is none."""
    found = workspace.read_lock()
    if found is None:
        raise _missing(workspace)
    return found


def read_file(path: Path) -> Lock:
    """A lock from anywhere; `UsageError` if it is not there, `LockfileError` if it is not sound."""
    try:
        return lockfile.parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        raise UsageError(f"there is no lock `{path}`", hint="name an `etfetch.lock`") from error


def narrowed(lock: Lock, options: config.Options) -> Lock:
    """The part of a lock that `--platform` names; all of it where it names none."""
    return lock.for_platforms(config.named_platforms(options) or lock.request.platforms)


def _missing(workspace: Workspace) -> LockOutdatedError:
    return LockOutdatedError(
        "there is no `etfetch.lock`",
        data=[f"looked in {workspace.project.folder}"],
        hint=_UPDATE,
    )


def _difference(older: Lock, newer: Lock) -> list[str]:
    import difflib

    lines = difflib.unified_diff(
        lockfile.render(older).splitlines(),
        lockfile.render(newer).splitlines(),
        "etfetch.lock",
        "as it should be",
        lineterm="",
        n=1,
    )
    return list(lines)
