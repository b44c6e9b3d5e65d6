"""What has to happen for the tree to match the lock: the difference of two values.

First by parts (`plan_parts`): which archives are fetched, which come from the cache, which parts
are placed, kept, removed. Then, once the trees of the parts are unpacked, by files (`plan_files`): which
files are written, which stay untouched, which go. `--dry-run`, `--json` and the summary render these.

Laws, which the tests hold: a plan for what is installed is empty; `fetch` and `reuse` are disjoint;
what is kept is in the lock; only what the record owns is removed; applying a plan and planning again
gives an empty plan. Not here: disk, network, cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from etfetch import paths
from etfetch.errors import ArchiveError, ResolutionError
from etfetch.lockfile import Lock, LockedArtifact, tree_key
from etfetch.manifest import Part
from etfetch.record import FOLDER as OWN_FOLDER
from etfetch.record import Record, RecordedFile, RecordedPart


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of an unpacked part; `path` is relative to the part's `to`, `size` in bytes."""

    path: str
    size: int
    mode: int
    sha256: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part of the lock, with the digest of its unpacked tree."""

    artifact: LockedArtifact
    part: Part
    tree: str

    @property
    def key(self) -> tuple[str, str]:
        """As `RecordedPart.key`: what makes two parts the same files in the same place."""
        return (self.tree, self.part.to)


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between a lock and what is installed, by parts."""

    fetch: tuple[LockedArtifact, ...] = ()
    reuse: tuple[LockedArtifact, ...] = ()
    present: tuple[LockedArtifact, ...] = ()
    install: tuple[PlannedPart, ...] = ()
    keep: tuple[PlannedPart, ...] = ()
    remove: tuple[RecordedPart, ...] = ()

    @property
    def nothing(self) -> bool:
        """True when the tree already is what the lock says."""
        return not (self.install or self.remove)


@dataclass(frozen=True, slots=True)
class Target:
    """A file that shall stand at `path` below the destination; `source` is its path in `tree`."""

    path: str
    size: int
    mode: int
    sha256: str
    link: str
    tree: str
    source: str
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The same difference by files. `parts` is what the record will list, in its order."""

    parts: tuple[RecordedPart, ...]
    write: tuple[Target, ...]
    keep: tuple[RecordedFile, ...]
    remove: tuple[RecordedFile, ...]


def plan_parts(
    lock: Lock,
    record: Record,
    *,
    blobs: AbstractSet[str],
    trees: AbstractSet[str],
    damaged: AbstractSet[str] = frozenset(),
) -> Plan:
    """Compare a lock (of the platforms to install) with the record.

    `blobs` and `trees` are the digests that the cache holds, `damaged` the paths of recorded files that
    are missing or changed on disk.
    """
    installed = _intact_parts(record, damaged)
    wanted = wanted_parts(lock)
    install = [p for p in wanted if p.key not in installed]
    keep = [p for p in wanted if p.key in installed]
    to_unpack = {p.artifact.sha256 for p in install if p.tree not in trees}
    needed = {p.artifact.sha256 for p in install}
    wanted_keys = {p.key for p in wanted}
    return Plan(
        fetch=tuple(a for a in lock.artifacts if a.sha256 in to_unpack and a.sha256 not in blobs),
        reuse=tuple(
            a
            for a in lock.artifacts
            if a.sha256 in needed and (a.sha256 in blobs or a.sha256 not in to_unpack)
        ),
        present=tuple(a for a in lock.artifacts if a.sha256 not in needed),
        install=tuple(install),
        keep=tuple(keep),
        remove=tuple(p for p in record.parts if p.key not in wanted_keys),
    )


def plan_files(
    plan: Plan,
    record: Record,
    trees: Mapping[str, tuple[TreeFile, ...]],
    damaged: AbstractSet[str] = frozenset(),
) -> FilePlan:
    """Turn a plan by parts into one by files; `trees` has the files of every part to install.

    `ResolutionError` when two parts would write one path with different bytes.
    """
    parts = tuple(
        RecordedPart(p.tree, p.part.to, p.part.component, p.artifact.name, p.part.platforms)
        for p in sorted((*plan.install, *plan.keep), key=lambda p: (p.part.component, p.part.to, p.tree))
    )
    numbers = {part.key: number for number, part in enumerate(parts)}
    targets = _Targets(parts)
    for planned in plan.install:
        number = numbers[planned.key]
        for file in trees[planned.tree]:
            targets.add(file, _below(planned.part.to, file.path), planned.tree, number)
    for planned in plan.keep:
        number = numbers[planned.key]
        for recorded in _files_of(record, planned):
            targets.add(_as_tree_file(recorded), recorded.path, planned.tree, number)
    before = {file.path: file for file in record.files}
    write, keep = [], []
    for path, target in sorted(targets.by_path.items()):
        old = before.get(path)
        if old and path not in damaged and _same(old, target):
            keep.append(_kept(old, target))
        else:
            write.append(target)
    remove = [file for path, file in sorted(before.items()) if path not in targets.by_path]
    return FilePlan(parts, tuple(write), tuple(keep), tuple(remove))


class _Targets:
    """The files of all parts by path, refusing two different ones in one place."""

    def __init__(self, parts: tuple[RecordedPart, ...]) -> None:
        self.by_path: dict[str, Target] = {}
        self._parts = parts
        self._names = paths.NameSet()

    def add(self, file: TreeFile, path: str, tree: str, number: int) -> None:
        if paths.fold(path.partition("/")[0]) == OWN_FOLDER:
            raise ArchiveError(
                f"`{self._parts[number].artifact}` would write `{path}`, which is etfetch's own",
                hint="do not use this archive; report it to whoever published it",
            )
        taken = self.by_path.get(path)
        if taken is None:
            clash = self._names.add_file(path)
            if clash:
                raise self._conflict(path, clash, number, self._owner(clash))
            self.by_path[path] = Target(
                path, file.size, file.mode, file.sha256, file.link, tree, file.path, (number,)
            )
            return
        if (taken.sha256, taken.link, taken.mode) != (file.sha256, file.link, file.mode):
            raise self._conflict(path, path, number, taken.parts[0])
        self.by_path[path] = Target(
            path,
            file.size,
            file.mode,
            file.sha256,
            file.link,
            tree if taken.tree == tree else taken.tree,
            taken.source,
            tuple(sorted({*taken.parts, number})),
        )

    def _owner(self, clash: str) -> int | None:
        for path, target in self.by_path.items():
            if path == clash or path.startswith(f"{clash}/"):
                return target.parts[0]
        return None

    def _conflict(self, path: str, clash: str, number: int, other: int | None) -> ResolutionError:
        new = self._parts[number]
        lines = [f"`{path}` of `{new.component}` in `{new.artifact}`"]
        if other is not None:
            old = self._parts[other]
            lines.append(f"`{clash}` of `{old.component}` in `{old.artifact}`")
        return ResolutionError(
            "two parts would write one path with different bytes",
            data=lines,
            hint="ask for one of the two components only",
        )


def wanted_parts(lock: Lock) -> list[PlannedPart]:
    """Every part of a lock once: two platforms may share the very same files."""
    planned: dict[tuple[str, str], PlannedPart] = {}
    for artifact in lock.artifacts:
        for part in artifact.parts:
            key = (tree_key(artifact.sha256, part), part.to)
            known = planned.get(key)
            platforms = (*known.part.platforms, *part.platforms) if known else part.platforms
            planned[key] = PlannedPart(artifact, replace(part, platforms=platforms), key[0])
    return list(planned.values())


def _intact_parts(record: Record, damaged: AbstractSet[str]) -> set[tuple[str, str]]:
    broken = {n for file in record.files if file.path in damaged for n in file.parts}
    return {part.key for number, part in enumerate(record.parts) if number not in broken}


def _files_of(record: Record, planned: PlannedPart) -> Iterable[RecordedFile]:
    for number, part in enumerate(record.parts):
        if part.key == planned.key:
            return [file for file in record.files if number in file.parts]
    return []


def _below(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def _as_tree_file(file: RecordedFile) -> TreeFile:
    return TreeFile(file.path, file.size, file.mode, file.sha256, file.link)


def _same(old: RecordedFile, new: Target) -> bool:
    return (old.sha256, old.link, old.mode) == (new.sha256, new.link, new.mode)


def _kept(old: RecordedFile, new: Target) -> RecordedFile:
    return RecordedFile(old.path, old.size, old.mode, old.mtime, old.sha256, new.parts, old.link)
