"""`etfetch install`: request → lock → plan → fetch → unpack → place → record."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from etfetch import installer, lockfile, plan
from etfetch.config import Options
from etfetch.errors import ArchiveError, CacheVanishedError, IntegrityError, UsageError
from etfetch.generate import GeneratedFile
from etfetch.installer import Applied, Survey
from etfetch.lockfile import Lock, LockedArtifact
from etfetch.operations import generating, locking
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.plan import FilePlan, Plan, PlannedPart, TreeFile
from etfetch.progress import Progress
from etfetch.record import Record, RecordedArtifact

if TYPE_CHECKING:
    from concurrent.futures import Future

_ATTEMPTS = 3
"""How often an install starts over because the cache was cleaned under it."""

_MAX_UNPACKING = 8


@dataclass(frozen=True, slots=True)
class Mode:
    """How strict an install is about the lock, and whether it really happens."""

    locked: bool = False
    frozen: bool = False
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Obtained:
    """An artifact of an install; `origin` is "network", "cache" or "present"; size in bytes."""

    name: str
    sha256: str
    size: int | None
    origin: str


@dataclass(frozen=True, slots=True)
class Report:
    """What an install did, or with `dry_run` would do. `status` is installed, unchanged or skipped.

    `missing` names the archives that were not downloaded because they were not to be. `choices` are the files
    in which apps chose for a library, and None for a project that is none.
    """

    status: str
    lock: Lock
    lock_name: str
    platforms: tuple[str, ...]
    destination: Path
    project_file: Path | None
    choices: tuple[Path, ...] | None
    artifacts: tuple[Obtained, ...]
    plan: Plan
    written: int = 0
    removed: int = 0
    unchanged: int = 0
    missing: tuple[str, ...] = ()
    wrote_lock: bool = False
    notices: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class _Goal:
    """What an install is to end in: `wanted` is the part of the lock that is for here.

    `watched` is the answer's; `complete` is False when something is missing that was not to be downloaded.
    """

    lock: Lock
    wanted: Lock
    outputs: tuple[GeneratedFile, ...]
    mode: Mode
    watched: tuple[Path, ...] | None
    complete: bool


def run(options: Options, mode: Mode, progress: Progress) -> Report:
    """Make the project's tree match its request. The errors are those of the exit codes 2 to 10."""
    with open_workspace(options) as workspace:
        answer = locking.answer(workspace, locked=mode.locked, frozen=mode.frozen)
        outputs = generating.files_of(workspace, answer.lock)
        earlier = installer.read_record(workspace.destination).outputs
        report = _run(workspace, answer, outputs, mode, progress)
        if not mode.dry_run:
            generating.write(workspace, outputs, earlier)
        return report


def _run(
    workspace: Workspace,
    answer: locking.Answer,
    outputs: tuple[GeneratedFile, ...],
    mode: Mode,
    progress: Progress,
) -> Report:
    platforms, left_out = workspace.platforms_to_install(answer.lock)
    wanted = _for_here(workspace, answer.lock, platforms)
    seen = installer.survey(workspace.destination)
    todo = _plan(workspace, wanted, seen)
    missing = _missing(workspace, todo) if not mode.dry_run else ()
    if missing:
        wanted = _without(wanted, todo, missing)
        todo = _plan(workspace, wanted, seen)
    consumer = workspace.project.consumer
    report = Report(
        status="skipped" if workspace.settings.skip_download else "unchanged",
        lock=answer.lock,
        lock_name=workspace.lock_path.name,
        platforms=platforms,
        destination=workspace.destination,
        project_file=workspace.project.file.path if workspace.project.file else None,
        choices=tuple(block.path for block in consumer.blocks) if consumer else None,
        artifacts=_obtained(workspace, todo, {}),
        plan=todo,
        unchanged=len(seen.record.files),
        missing=(*answer.undigested, *(artifact.name for artifact in missing)),
        notices=(*answer.notices, *_left_out(left_out), *_without_effect(workspace, answer.lock, platforms)),
        dry_run=mode.dry_run,
    )
    incomplete = bool(report.missing)
    if answer.undigested:
        # Its bytes would not be those of the lock that answers the request.
        mode = replace(mode, frozen=True)
    goal = _Goal(answer.lock, wanted, outputs, mode, answer.watched, complete=not incomplete)
    if mode.dry_run or (incomplete and todo.remove) or _is_settled(workspace, answer, seen, todo, goal):
        return report
    if not (mode.force or seen.interrupted):
        # Said before anything is fetched; whatever else is in the way shows once it is unpacked.
        installer.refuse(installer.edited_files(seen))
    origins, applied = _carry_out(workspace, goal, todo, progress)
    status = report.status
    if not todo.nothing or applied.written or applied.removed:
        status = "skipped" if incomplete else "installed"
    return replace(
        report,
        status=status,
        artifacts=_obtained(workspace, todo, origins),
        written=applied.written,
        removed=applied.removed,
        unchanged=applied.unchanged,
        wrote_lock=answer.changed and not answer.undigested,
    )


def _for_here(workspace: Workspace, lock: Lock, platforms: Sequence[str]) -> Lock:
    """The part of the lock for this machine; `UsageError` if it is to be headers, and there are none."""
    wanted = lock.for_platforms(platforms)
    if not workspace.settings.headers_only:
        return wanted
    headers = wanted.of_kind("headers")
    if platforms and not headers.artifacts:
        raise UsageError(
            f"{lock.request.package} {lock.release} has no headers apart from its libraries",
            hint="unset `ETFETCH_HEADERS_ONLY`",
        )
    return headers


def _carry_out(
    workspace: Workspace, goal: _Goal, todo: Plan, progress: Progress, attempts: int = _ATTEMPTS
) -> tuple[dict[str, str], Applied]:
    """Bring what the plan needs and place it; planned anew if somebody cleaned the cache meanwhile."""
    try:
        origins = _bring(workspace, goal.lock, todo, progress)
        return origins, _apply(workspace, goal)
    except CacheVanishedError:
        workspace.cache.forget()
        todo = _plan(workspace, goal.wanted, installer.survey(workspace.destination))
        if attempts == 1 or _missing(workspace, todo):
            raise
    return _carry_out(workspace, goal, todo, progress, attempts - 1)


def _plan(workspace: Workspace, wanted: Lock, seen: Survey) -> Plan:
    cache = workspace.cache
    installed = {part.key for part in seen.record.parts} if not seen.damaged else set()
    absent = {p.tree for p in plan.wanted_parts(wanted) if p.key not in installed}
    return plan.plan_parts(
        wanted,
        seen.record,
        blobs={a.sha256 for a in wanted.artifacts if cache.has_blob(a.sha256, a.size)},
        # A tree is only looked into when it may be needed: a no-op reads none.
        trees={tree for tree in absent if cache.tree(tree) is not None},
        damaged=seen.damaged,
    )


def _is_settled(workspace: Workspace, answer: locking.Answer, seen: Survey, todo: Plan, goal: _Goal) -> bool:
    """Whether nothing is to be written, neither a file nor the lock nor the record."""
    settled = (not answer.changed or answer.undigested) and not seen.interrupted and not seen.touched
    if not (todo.nothing and settled):
        return False
    if not goal.complete:
        return True
    inputs = workspace.inputs(goal.lock, goal.watched)
    return seen.record.lock == lockfile.digest_of(goal.lock) and inputs in {"", seen.record.inputs}


def _missing(workspace: Workspace, todo: Plan) -> tuple[LockedArtifact, ...]:
    """What cannot be fetched because the network may not be used: an error, unless skipping is wanted."""
    if workspace.settings.skip_download:
        return todo.fetch
    if todo.fetch:
        workspace.refuse_offline(todo.fetch)
    return ()


def _without(wanted: Lock, todo: Plan, missing: Sequence[LockedArtifact]) -> Lock:
    """The lock without the parts that would have to be fetched."""
    gone = {a.sha256 for a in missing}
    kept = {p.key for p in todo.keep}
    artifacts = []
    for artifact in wanted.artifacts:
        parts = tuple(
            part
            for part in artifact.parts
            if artifact.sha256 not in gone or (lockfile.tree_key(artifact.sha256, part), part.to) in kept
        )
        if parts:
            artifacts.append(replace(artifact, parts=parts))
    return replace(wanted, artifacts=tuple(artifacts))


def _bring(workspace: Workspace, lock: Lock, todo: Plan, progress: Progress) -> dict[str, str]:
    """Fetch and unpack all that the plan needs; gives where each fetched artifact came from.

    What is here is unpacked while the rest is still on its way, and on as many cores as there are.
    """
    parts: dict[str, list[PlannedPart]] = {}
    for planned in todo.install:
        parts.setdefault(planned.artifact.sha256, []).append(planned)
    packed = [a for a in todo.reuse if any(workspace.cache.tree(p.tree) is None for p in parts[a.sha256])]
    for artifact in todo.reuse:
        workspace.cache.use_blob(artifact.sha256)
    if not (todo.fetch or packed):
        return {}
    with _unpacking(workspace, lock, parts, progress) as unpack:
        for artifact in packed:
            unpack(artifact, fresh=False)
        return _fetch(workspace, lock, todo.fetch, progress, unpack) if todo.fetch else {}


def _fetch(
    workspace: Workspace,
    lock: Lock,
    artifacts: Sequence[LockedArtifact],
    progress: Progress,
    unpack: _Unpack,
) -> dict[str, str]:
    origins = {}
    package, version = lock.request.package, lock.release
    with workspace.fetching(package, version, artifacts, progress) as arriving:
        for fetched in arriving:
            origins[fetched.artifact.sha256] = fetched.origin
            unpack(fetched.artifact, fresh=fetched.origin == "network")
    return origins


class _Unpack(Protocol):
    """Begin to unpack an artifact; raises what went wrong with an earlier one."""

    def __call__(self, artifact: LockedArtifact, *, fresh: bool) -> None: ...


@contextmanager
def _unpacking(
    workspace: Workspace, lock: Lock, parts: Mapping[str, Sequence[PlannedPart]], progress: Progress
) -> Iterator[_Unpack]:
    """Unpack in threads; all of it is done when the block ends. The first failure ends the others."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    halt = threading.Event()
    begun: list[Future[None]] = []

    def unpack(artifact: LockedArtifact, *, fresh: bool) -> None:
        for earlier in begun:
            if earlier.done():
                earlier.result()
        wanted = parts[artifact.sha256]
        begun.append(pool.submit(_unpack, workspace, lock, artifact, wanted, progress, halt, fresh=fresh))

    workers = min(_MAX_UNPACKING, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="unpack") as pool:
        try:
            yield unpack
            for future in as_completed(begun):
                future.result()
        except BaseException:
            halt.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _unpack(
    workspace: Workspace,
    lock: Lock,
    artifact: LockedArtifact,
    parts: Sequence[PlannedPart],
    progress: Progress,
    halt: threading.Event,
    *,
    fresh: bool,
) -> None:
    """Unpack an artifact's parts into the cache, those that are not there yet.

    An archive that breaks a rule is dropped if it was fetched just now; one that rotted in the cache
    is set aside and fetched again.
    """
    cache = workspace.cache
    if all(cache.tree(p.tree) is not None for p in parts):
        return
    with cache.lock(f"{artifact.sha256}.trees"):
        absent = {p.tree: p for p in parts if cache.tree(p.tree) is None}
        if not absent:
            return
        blob = cache.blob(artifact.sha256)
        try:
            cache.add_trees(
                list(absent), lambda folders: _fill(blob, artifact, absent.values(), folders, halt)
            )
        except FileNotFoundError as error:
            if blob.exists():
                raise
            raise _vanished(artifact) from error
        except ArchiveError:
            if cache.blob_is_sound(artifact.sha256):
                if fresh:
                    cache.drop_blob(artifact.sha256)
                raise
        else:
            return
    _refetch(workspace, lock, artifact, progress)
    _unpack(workspace, lock, artifact, parts, progress, halt, fresh=True)


def _fill(
    blob: Path,
    artifact: LockedArtifact,
    parts: Iterable[PlannedPart],
    folders: list[Path],
    halt: threading.Event,
) -> list[tuple[TreeFile, ...]]:
    from etfetch import archive

    selections = [
        archive.Selection(folder, p.part.members, p.part.exclude, p.part.strip)
        for p, folder in zip(parts, folders, strict=True)
    ]
    return archive.unpack(blob, artifact.format, selections, name=artifact.name, halted=halt.is_set)


def _refetch(workspace: Workspace, lock: Lock, artifact: LockedArtifact, progress: Progress) -> None:
    if not workspace.may_ask:
        raise IntegrityError(
            f"`{artifact.name}` is damaged in the cache, and the network may not be used",
            data=[f"expected sha256 {artifact.sha256}"],
            hint="run `etfetch install` with the network, which fetches it again",
        )
    package, version = lock.request.package, lock.release
    with workspace.fetching(package, version, [artifact], progress) as arriving:
        list(arriving)


def _apply(workspace: Workspace, goal: _Goal) -> Applied:
    """Place the files under the project's lock, on what is there now: somebody else may have been faster."""
    destination = workspace.destination
    with installer.exclusive(destination, workspace.settings.lock_timeout):
        installer.recover(destination)
        seen = installer.survey(destination)
        todo = _plan(workspace, goal.wanted, seen)
        files = plan.plan_files(todo, seen.record, _trees(workspace, todo), seen.damaged)
        text = lockfile.render(goal.lock)
        head = _head(workspace, goal)
        if not (files.write or files.remove) and seen.record.parts == files.parts:
            return _settle(workspace, text, head, files, seen, goal.mode)
        return installer.apply(
            destination,
            files,
            seen,
            head,
            workspace.cache.tree_files,
            link_mode=workspace.settings.link_mode,
            force=goal.mode.force,
            before_commit=lambda: _write_lock(workspace, text, goal.mode),
        )


def _settle(
    workspace: Workspace, text: str, head: Record, files: FilePlan, seen: Survey, mode: Mode
) -> Applied:
    """Only lock and record changed, or a file was touched: no file is written."""
    _write_lock(workspace, text, mode)
    kept = installer.with_times(files.keep, seen)
    final = replace(head, parts=files.parts, files=tuple(kept))
    if final != seen.record:
        installer.write_record(workspace.destination, final)
    return Applied(final, 0, 0, len(kept))


def _write_lock(workspace: Workspace, text: str, mode: Mode) -> None:
    if not mode.frozen:
        installer.write_text(workspace.lock_path, text, workspace.destination)


def _trees(workspace: Workspace, todo: Plan) -> dict[str, tuple[TreeFile, ...]]:
    trees = {}
    for planned in todo.install:
        found = workspace.cache.tree(planned.tree)
        if found is None:
            raise _vanished(planned.artifact)
        trees[planned.tree] = found
    return trees


def _vanished(artifact: LockedArtifact) -> CacheVanishedError:
    return CacheVanishedError(
        f"`{artifact.name}` vanished from the cache while it was being installed",
        hint="run `etfetch install` again",
    )


def _head(workspace: Workspace, goal: _Goal) -> Record:
    """The record's head. An incomplete install has no lock's digest, so it never passes for whole."""
    lock = goal.lock
    return Record(
        lock=lockfile.digest_of(lock) if goal.complete else "",
        request=lock.request.fingerprint,
        inputs=workspace.inputs(lock, goal.watched) if goal.complete else "",
        release=f"{lock.request.package} {lock.release}",
        artifacts=tuple(RecordedArtifact(a.name, a.sha256, a.size) for a in goal.wanted.artifacts),
        outputs=generating.recorded(goal.outputs),
        watch=workspace.watch(goal.watched),
    )


def _obtained(workspace: Workspace, todo: Plan, origins: dict[str, str]) -> tuple[Obtained, ...]:
    found = [(a, "present") for a in todo.present]
    found += [(a, origins.get(a.sha256, "network")) for a in todo.fetch]
    found += [(a, "cache") for a in todo.reuse]
    return tuple(
        Obtained(a.name, a.sha256, _size(workspace, a), origin)
        for a, origin in sorted(found, key=lambda pair: (pair[0].name, pair[0].sha256))
    )


def _size(workspace: Workspace, artifact: LockedArtifact) -> int | None:
    if artifact.size is not None or not workspace.cache.has_blob(artifact.sha256):
        return artifact.size
    return workspace.cache.blob(artifact.sha256).stat().st_size


def _without_effect(workspace: Workspace, lock: Lock, platforms: Sequence[str]) -> tuple[str, ...]:
    """A notice of what an app chose that is on none of the platforms built here; only libraries need one."""
    if workspace.project.library is None or not platforms or workspace.settings.headers_only:
        return ()
    idle = [
        component.name
        for component in lock.components
        if component.kind != "headers" and not set(component.platforms) & set(platforms)
    ]
    if not idle:
        return ()
    has = "have" if len(idle) > 1 else "has"
    names = ", ".join(f"`{name}`" for name in idle)
    return (f"{names} {has} no effect on what is built here: {', '.join(platforms)}",)


def _left_out(platforms: Sequence[str]) -> tuple[str, ...]:
    if not platforms:
        return ()
    whom = "them" if len(platforms) > 1 else "it"
    named = ", ".join(platforms)
    return (f"{named}: locked, not installed: this host cannot build for {whom} (`--platform all` does)",)
