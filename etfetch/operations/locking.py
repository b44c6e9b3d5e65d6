"""Answering a request: reading the lock that is there, or making the one that should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import config, installer, lockfile, needs
from etfetch.errors import ConfigError, LockOutdatedError, OfflineError, UsageError, did_you_mean
from etfetch.lockfile import Lock
from etfetch.manifest import Artifact, Manifest
from etfetch.mirrors import Wanted
from etfetch.needs import Models
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.request import Request

if TYPE_CHECKING:
    from etfetch.resolve import Resolution


@dataclass(frozen=True, slots=True)
class Answer:
    """A lock and how it came to be. `older` is the lock it replaces; `notices` are for the user.

    `watched` are the files and folders of models that it depends on, None where nobody looked.
    `undigested` names archives whose digests nobody could be asked for: then the lock is without them, and
    not to be written.
    """

    lock: Lock
    older: Lock | None
    notices: tuple[str, ...] = ()
    watched: tuple[Path, ...] | None = None
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
    if older is None and locked:
        raise _missing(workspace)
    models = models_of(workspace, request, older, digests=True)
    if older is not None:
        strict = locked or workspace.settings.ci
        changes = _changes(request, models, older)
        if not changes and strict and models.all != older.models:
            # What a plain install would still do is no reason to fail; the next one is to do it.
            return Answer(older, older, models.notices)
        if not changes:
            # A model that changed and needs the same leaves the lock valid; its digest is brought up to date.
            return Answer(replace(older, models=models.all), older, models.notices, models.watched)
        if strict:
            raise _outdated(workspace, changes)
    return make(workspace, request, models, older, incomplete=workspace.settings.skip_download)


def make(
    workspace: Workspace,
    request: Request,
    models: Models,
    older: Lock | None,
    *,
    incomplete: bool = False,
    upgrade: bool = False,
) -> Answer:
    """Resolve a request and lock the answer. Digests that a lock already pinned stay pinned.

    So does the release while the request is the same, unless `upgrade`. `OfflineError` when digests would
    have to be asked for and the network may not be used; with `incomplete` the answer is then without
    those archives.
    """
    resolution = resolution_of(workspace, request, models, None if upgrade else older)
    _check_flags(workspace, resolution.manifest)
    undigested = _undigested(workspace, resolution, older) if incomplete and not workspace.may_ask else []
    if undigested:
        rest = tuple(c for c in resolution.artifacts if c.artifact not in undigested)
        resolution = replace(resolution, artifacts=rest)
    made = _locked(workspace, resolution, models, older)
    return replace(made, undigested=tuple(artifact.name for artifact in undigested))


def lock(options: config.Options, *, upgrade: bool = False) -> Answer:
    """`etfetch lock`: write the lock. The release stays while the request admits it, unless `upgrade`."""
    with open_workspace(options) as workspace:
        older = workspace.read_lock()
        request = config.request_of(workspace.project, options, older.request if older else None)
        models = models_of(workspace, request, older, digests=True, forget=True)
        made = make(workspace, request, models, older, upgrade=upgrade)
        installer.write_text(workspace.lock_path, lockfile.render(made.lock))
        return made


def check(options: config.Options) -> Lock:
    """`etfetch lock --check`: `LockOutdatedError` with the differences from what the lock should be."""
    with open_workspace(options) as workspace:
        older = workspace.read_lock()
        if older is None:
            raise _missing(workspace)
        request = config.request_of(workspace.project, options, older.request)
        changes = _changes(request, models_of(workspace, request, older), older)
        if changes:
            raise _outdated(workspace, changes)
        # Digests apart, they need the same: a lock that need not be written again is up to date.
        models = Models(older.models)
        made = _locked(workspace, resolution_of(workspace, request, models, older), models, older)
        if made.lock != older:
            raise LockOutdatedError(
                f"`{workspace.lock_path.name}` is not what {_release(older)} is known to be",
                data=_difference(older, made.lock),
                hint=_update(workspace),
            )
        return older


def models_of(
    workspace: Workspace, request: Request, older: Lock | None, *, digests: bool = False, forget: bool = False
) -> Models:
    """What the models of a request need; see `modelling.look`."""
    if not request.models:
        return Models()
    # Imported where there are models: most projects name their components.
    from etfetch.operations import modelling

    return modelling.look(workspace, request, older.models if older else (), digests=digests, forget=forget)


def resolution_of(workspace: Workspace, request: Request, models: Models, older: Lock | None) -> Resolution:
    """How a request is answered now: at the locked release where there is one for this request."""
    from etfetch import resolve

    catalogue, origin = workspace.catalogue(request.package), config.origin_of(workspace.project)
    if older is None or older.request != request:
        return resolve.resolve(request, catalogue, origin, models.all)
    pinned = replace(request, version=f"=={older.release}")
    resolution = resolve.resolve(pinned, catalogue, origin, models.all)
    return replace(resolution, request=request)


def _changes(request: Request, models: Models, older: Lock) -> list[str]:
    """What the lock does not answer any more, a line each."""
    return [*request.differences(older.request), *needs.differences(models.all, older.models)]


def _outdated(workspace: Workspace, changes: Sequence[str]) -> LockOutdatedError:
    return LockOutdatedError(
        f"`{workspace.lock_path.name}` does not answer the request any more",
        data=changes,
        hint=_update(workspace),
    )


def _check_flags(workspace: Workspace, release: Manifest) -> None:
    """`ConfigError` if a build configuration has a flag for a component that the release does not know."""
    known = [component.name for component in release.components]
    for flag, name in config.outputs_of(workspace.project).flags:
        if name not in known:
            raise ConfigError(
                f"build-config.flags.{flag}: {release.package} {release.version} has no component `{name}`"
                f"{did_you_mean(name, known)}",
                data=[f"components: {', '.join(sorted(known))}"],
            )


def _locked(workspace: Workspace, resolution: Resolution, models: Models, older: Lock | None) -> Answer:
    made = lockfile.build(resolution, _sidecars(workspace, resolution, older))
    # What an app chose for a library is for all its platforms: that a backend is only on some is no news.
    absences = () if workspace.project.library else resolution.absences
    return Answer(made, older, (*absences, *resolution.notices, *models.notices), models.watched)


def _sidecars(workspace: Workspace, resolution: Resolution, older: Lock | None) -> dict[str, str]:
    """The digests of artifacts that publish them beside themselves: pinned ones, then asked for."""
    unknown = _undigested(workspace, resolution, older)
    if unknown and not workspace.may_ask:
        raise OfflineError(
            "digests have to be asked for, and the network may not be used",
            data=[f"{artifact.source}: its `{artifact.sidecar}`" for artifact in unknown],
            hint="lock once with the network; the lock pins them from then on",
        )
    digests = _pinned(workspace, resolution, older)
    for artifact in unknown:
        digests[artifact.source] = ask_sidecar(workspace, resolution.manifest, artifact)
        workspace.cache.remember_digest(artifact.source, digests[artifact.source])
    return digests


def _undigested(workspace: Workspace, resolution: Resolution, older: Lock | None) -> list[Artifact]:
    """The artifacts whose digests neither the manifest nor an older lock has."""
    pinned = _pinned(workspace, resolution, older)
    chosen = [chosen.artifact for chosen in resolution.artifacts]
    return [artifact for artifact in chosen if artifact.sidecar and artifact.source not in pinned]


def _pinned(workspace: Workspace, resolution: Resolution, older: Lock | None) -> dict[str, str]:
    """The digests of an older lock; without a network also those that were once asked for on this machine."""
    pinned = {a.source: a.sha256 for a in older.artifacts} if older else {}
    if not workspace.may_ask:
        for chosen in resolution.artifacts:
            source = chosen.artifact.source
            known = pinned.get(source) or workspace.cache.remembered_digest(source)
            if known is not None:
                pinned[source] = known
    return pinned


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


def _release(lock: Lock) -> str:
    return f"{lock.request.package} {lock.release}"


def _update(workspace: Workspace) -> str:
    return f"run `etfetch lock`, and commit `{workspace.lock_path.name}`"


def _missing(workspace: Workspace) -> LockOutdatedError:
    return LockOutdatedError(
        f"there is no `{workspace.lock_path.name}`",
        data=[f"looked in {workspace.project.home}"],
        hint=_update(workspace),
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
