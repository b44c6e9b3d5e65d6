"""The only writer in a project: the destination's files, the record, the lock.

An install is a redo log. New files are first staged below `<destination>/.etfetch/staging/`; until
then nothing that a build can see has changed, and a kill leaves only staging to sweep away. Then the
journal is written: which staged file goes where, what is removed, and the record as it will be. From
that moment the install is decided, and whoever comes next finishes it (`recover`): removals, renames,
the record, and last the journal's own end. Each step can be repeated without harm.

A file is replaced or removed only if the record owns it and it is as etfetch left it; anything
else in the way is named and the install stops before it changed a thing (`force` goes on).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

from etfetch import copying, digest, durable, paths, record
from etfetch.cache import hold
from etfetch.errors import CacheVanishedError, ConfigError, FilesystemError, IntegrityError, TreeError
from etfetch.plan import FilePlan, Target
from etfetch.record import Record, RecordedFile

JOURNAL = "journal.json"
STAGING = "staging"
_JOURNAL_VERSION = 2
_STAGING_FOLDERS = 16
"""Staged files stand in so many folders: a file system makes the files of one folder one after the other."""

_GENERATED = b"Written by "
_HEAD = 200
"""Generated files say so in so many bytes."""

_CHANGED = "changed since etfetch installed it"
_MAX_THREADS = 8
"""More than a disk has use for."""

_WORTH_THREADS = 16 << 20
"""Bytes to copy from which threads pay for themselves."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is on disk, against the record. Paths are relative to the destination.

    `touched` files hold the recorded bytes under another time, which is its value here (ns).
    `interrupted` says that a journal waits to be finished.
    """

    record: Record
    missing: frozenset[str] = frozenset()
    edited: frozenset[str] = frozenset()
    touched: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def damaged(self) -> frozenset[str]:
        return self.missing | self.edited


@dataclass(frozen=True, slots=True)
class Applied:
    """What an install did: numbers of files, and the record it wrote."""

    record: Record
    written: int
    removed: int
    unchanged: int


def read_record(destination: Path) -> Record:
    """The record of a destination; an empty one if nothing is installed. `TreeError` if damaged."""
    path = destination / record.FOLDER / record.NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Record()
    except (UnicodeDecodeError, NotADirectoryError) as error:
        raise TreeError(f"the record of installed files cannot be read: {error}") from error
    return record.parse(text, str(path))


def survey(destination: Path, *, deep: bool = False) -> Survey:
    """Compare the destination with its record: by size and time, or with `deep` by digest."""
    known = read_record(destination)
    found: dict[_Condition, set[str]] = {condition: set() for condition in _Condition}
    for file in known.files:
        found[_condition(destination, file, deep)].add(file.path)
    journal = destination / record.FOLDER / JOURNAL
    return Survey(
        record=known,
        missing=frozenset(found[_Condition.MISSING]),
        edited=frozenset(found[_Condition.EDITED]),
        touched={p: os.lstat(destination / p).st_mtime_ns for p in found[_Condition.TOUCHED]},
        interrupted=os.path.lexists(journal),
    )


def check_destination(project: Path, destination: Path) -> None:
    """Refuse a destination that is a symlink, or is reached through one below the project."""
    inside = destination.is_relative_to(project)
    above = [folder for folder in destination.parents if folder.is_relative_to(project)]
    own = [destination / record.FOLDER, destination / record.FOLDER / STAGING]
    for folder in (*own, destination, *(above if inside else [])):
        if folder != project and folder.is_symlink():
            raise ConfigError(
                f"the destination `{destination}` goes through the symlink `{folder}`",
                data=[f"it leads to {folder.resolve()}"],
                hint="name the real folder: `--destination DIR`, or `destination` in the project file",
            )
    if destination.exists() and not destination.is_dir():
        raise ConfigError(
            f"the destination `{destination}` is a file",
            hint="remove it, or choose another `destination`",
        )


@contextmanager
def exclusive(destination: Path, timeout: float) -> Iterator[None]:
    """Hold the destination's lock: one install at a time writes there. `BusyError` on timeout.

    The folders made for the lock go again when the block fails before anything was installed.
    """
    folder = destination / record.FOLDER
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with hold(folder / "lock", timeout):
            yield
    except BaseException:
        if made and set(os.listdir(folder)) <= {"lock"}:
            (folder / "lock").unlink(missing_ok=True)
            for parent in made:
                with suppress(OSError):
                    parent.rmdir()
        raise


def recover(destination: Path) -> None:
    """Finish an install that was killed after its journal, or sweep one that was killed before."""
    folder = destination / record.FOLDER
    for leftover in folder.glob(".*"):
        # Temporary files of `durable.write_file`: only a killed process leaves any under the lock.
        leftover.unlink(missing_ok=True)
    journal = folder / JOURNAL
    if journal.exists():
        decided = _read_journal(journal)
        _refuse_symlinks(destination, decided)
        _finish(destination, decided)
    else:
        shutil.rmtree(folder / STAGING, ignore_errors=True)


def conflicts(destination: Path, files: FilePlan, seen: Survey, *, force: bool = False) -> list[str]:
    """The paths that etfetch may not replace or remove, each with why.

    `force` allows files that are edited or not etfetch's own to be replaced, but never a folder, and nothing
    behind a symlink: that would write or delete outside the destination.
    """
    owned = {file.path for file in seen.record.files}
    going = {file.path for file in files.remove}
    touched = {*(target.path for target in files.write), *going}
    folders = {folder for path in touched for folder in paths.parents(path)}
    blocked = {
        folder: reason for folder in folders - going if (reason := _blocked_folder(destination, folder))
    }
    found = {
        path: blocked[folder]
        for path in touched
        for folder in reversed(paths.parents(path))
        if folder in blocked
    }
    for target in files.write:
        reason = _blocked_file(destination, target, owned, going, seen, force)
        if reason:
            found.setdefault(target.path, reason)
    if not force:
        for path in going & seen.edited:
            found.setdefault(path, _CHANGED)
    return [f"`{path}`: {reason}" for path, reason in sorted(found.items())]


def edited_files(seen: Survey) -> list[str]:
    """The recorded files that were changed, each with why it stops an install."""
    return [f"`{path}`: {_CHANGED}" for path in sorted(seen.edited)]


def refuse(blocked: Sequence[str]) -> None:
    """`TreeError` with every path that is in the way, if there is any."""
    if blocked:
        raise TreeError(
            "files that etfetch does not own, or that were changed, are in the way",
            data=blocked,
            hint="move them away, or run `etfetch install --force` to replace them",
        )


def apply(
    destination: Path,
    files: FilePlan,
    seen: Survey,
    head: Record,
    tree_files: Callable[[str], Path],
    *,
    link_mode: str = "clone",
    force: bool = False,
    before_commit: Callable[[], None] = lambda: None,
) -> Applied:
    """Make the destination what `files` says and write the record, whose head `head` gives.

    Call it under `exclusive`, after `recover`. `tree_files` gives the folder of a tree in the cache.
    `before_commit` runs when everything is staged and nothing is changed yet: the lock is written there.
    `TreeError` (with every path) when a file that etfetch does not own, or that was edited, is in the way.
    """
    refuse(conflicts(destination, files, seen, force=force))
    adopted = [found for target in files.write if (found := _adopt(destination, target, seen)) is not None]
    keep = [*with_times(files.keep, seen), *adopted]
    kept_paths = {file.path for file in keep}
    write = [target for target in files.write if target.path not in kept_paths]
    staging = destination / record.FOLDER / STAGING
    try:
        staging.mkdir(exist_ok=True)
        stager = _Stager(link_mode, tree_files)
        staged = stager.stage_all(staging, write)
        before_commit()
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    final = replace(
        head,
        parts=files.parts,
        files=tuple(sorted((*keep, *staged), key=lambda file: file.path)),
    )
    journal = _Journal(
        moves=tuple(target.path for target in write),
        removes=tuple(file.path for file in files.remove),
        record=record.render(final),
    )
    text = json.dumps({"version": _JOURNAL_VERSION, **asdict(journal)})
    durable.write_file(destination / record.FOLDER / JOURNAL, text.encode("utf-8"))
    _finish(destination, journal)
    return Applied(final, len(write), len(files.remove), len(keep))


def write_record(destination: Path, new: Record) -> None:
    """Replace the record in one step."""
    path = destination / record.FOLDER / record.NAME
    durable.write_file(path, record.render(new).encode("utf-8"))


def write_text(path: Path, text: str, destination: Path | None = None) -> None:
    """Write a project's file (a lock, a project file) in one step, unless it already says this.

    With a `destination` the temporary file stands in its `.etfetch`, where `recover` sweeps it after a kill.
    """
    data = text.encode("utf-8")
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    # A symlink is replaced, not followed: it may lead out of the project.
    scratch = destination / record.FOLDER if destination else None
    durable.write_file(path, data, scratch)


def write_output(project: Path, path: str, text: str) -> None:
    """Write a generated file below a project's folder, unless it already says this.

    `ConfigError` when it would be reached through a symlink, which may lead out of the project; `TreeError`
    when a file stands there that etfetch did not write, by the mark that all but JSON files carry.
    """
    for folder in paths.parents(path):
        if (project / folder).is_symlink():
            raise ConfigError(
                f"the generated file `{path}` goes through the symlink `{folder}`",
                data=[f"it leads to {(project / folder).resolve()}"],
            )
    target = project / path
    if target.is_file() and not _is_generated(target):
        raise TreeError(
            f"`{path}` is in the way of a generated file: etfetch did not write it",
            data=[str(target)],
            hint="move it away, or take its name out of `generate`",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)


def _is_generated(file: Path) -> bool:
    """Whether a file is one of ours: by the mark in its head, which JSON cannot carry, or by its name."""
    return file.name.endswith("-config.json") or _GENERATED in file.read_bytes()[:_HEAD]


def remove_output(project: Path, path: str, sha256: str) -> None:
    """Remove a generated file, and the folders that it leaves empty, unless somebody changed it.

    A record may come with a checkout, so its word is not enough: the file has to look like a generated one.
    """
    target = project / path
    through_link = any((project / folder).is_symlink() for folder in paths.parents(path))
    if through_link or not target.is_file() or not _is_generated(target):
        return
    if digest.of_file(target) != sha256:
        return
    target.unlink()
    for folder in reversed(paths.parents(path)):
        with suppress(OSError):
            (project / folder).rmdir()


class _Condition(Enum):
    """How a file on disk compares with its record."""

    SOUND = auto()
    TOUCHED = auto()  # the same bytes under another time
    EDITED = auto()
    MISSING = auto()


def _condition(destination: Path, file: RecordedFile, deep: bool) -> _Condition:
    path = destination / file.path
    try:
        found = os.lstat(path)
    except OSError:
        return _Condition.MISSING
    if file.link:
        same = stat.S_ISLNK(found.st_mode) and os.readlink(path) == file.link
        return _Condition.SOUND if same else _Condition.EDITED
    if not stat.S_ISREG(found.st_mode) or found.st_size != file.size or _mode_differs(found, file):
        return _Condition.EDITED
    same_time = found.st_mtime_ns == file.mtime
    if same_time and not deep:
        return _Condition.SOUND
    if digest.of_file(path) != file.sha256:
        return _Condition.EDITED
    return _Condition.SOUND if same_time else _Condition.TOUCHED


def _mode_differs(found: os.stat_result, file: RecordedFile | Target) -> bool:
    # Windows has no execute bit to compare.
    return os.name != "nt" and (found.st_mode ^ file.mode) & stat.S_IXUSR != 0


def with_times(files: tuple[RecordedFile, ...], seen: Survey) -> list[RecordedFile]:
    """Recorded files with the times they have now, where they were touched but not changed."""
    return [replace(file, mtime=seen.touched.get(file.path, file.mtime)) for file in files]


def _blocked_folder(destination: Path, folder: str) -> str | None:
    try:
        found = os.lstat(destination / folder)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return f"its folder `{folder}` is a symlink"
    return None if stat.S_ISDIR(found.st_mode) else f"its folder `{folder}` is a file"


def _blocked_file(
    destination: Path,
    target: Target,
    owned: set[str],
    going: set[str],
    seen: Survey,
    force: bool,
) -> str | None:
    path = destination / target.path
    if not os.path.lexists(path):
        return None
    if path.is_dir() and not path.is_symlink():
        return None if _is_emptied(destination, path, going) else "a folder stands there"
    if force:
        return None
    if target.path in seen.edited:
        return _CHANGED
    if target.path not in owned and not _is_target(path, target):
        return "etfetch does not own it"
    return None


def _is_emptied(destination: Path, folder: Path, going: set[str]) -> bool:
    """Whether nothing but files that are about to be removed stands below a folder."""
    return all(
        child.relative_to(destination).as_posix() in going
        for child in folder.rglob("*")
        if child.is_symlink() or not child.is_dir()
    )


def _is_target(path: Path, target: Target) -> bool:
    found = os.lstat(path)
    if target.link:
        return stat.S_ISLNK(found.st_mode) and os.readlink(path) == target.link
    return (
        stat.S_ISREG(found.st_mode)
        and found.st_size == target.size
        and not _mode_differs(found, target)
        and digest.of_file(path) == target.sha256
    )


def _adopt(destination: Path, target: Target, seen: Survey) -> RecordedFile | None:
    """The record of a file that already stands there with the very bytes, as after a lost record."""
    path = destination / target.path
    if target.path in seen.damaged or not os.path.lexists(path) or path.parent.is_symlink():
        return None
    if not _is_target(path, target):
        return None
    return _recorded(target, path)


def _recorded(target: Target, path: Path) -> RecordedFile:
    return _recorded_as(target, 0 if target.link else os.lstat(path).st_mtime_ns)


def _recorded_as(target: Target, mtime: int) -> RecordedFile:
    return RecordedFile(
        target.path, target.size, target.mode, mtime, target.sha256, target.parts, target.link
    )


class _Stager:
    """Brings files of cached trees into the staging folder, by the link mode."""

    def __init__(self, link_mode: str, tree_files: Callable[[str], Path]) -> None:
        self._hardlinks = link_mode == "hardlink"
        self._clones = link_mode == "clone"
        self._tree_files = lru_cache(tree_files)

    def stage_all(self, staging: Path, targets: Sequence[Target]) -> list[RecordedFile]:
        """Put every file there, under its number."""
        names = [_staged(staging, number) for number in range(len(targets))]
        for folder in {name.parent for name in names}:
            folder.mkdir()
        if sum(target.size for target in targets) < _WORTH_THREADS:
            return list(map(self.stage, names, targets))
        from concurrent.futures import ThreadPoolExecutor

        # Copying is the system's work, and it has more than one core.
        with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
            return list(pool.map(self.stage, names, targets))

    def stage(self, staged: Path, target: Target) -> RecordedFile:
        """Put one file at `staged`; `IntegrityError` if the cache's has not the size it should have."""
        if target.link:
            os.symlink(target.link, staged)
            return _recorded(target, staged)
        source = self._tree_files(target.tree) / target.source
        try:
            if not (self._hardlinks and _hardlink(source, staged)):
                self._copy(source, staged)
                os.chmod(staged, target.mode)
        except FileNotFoundError as error:
            if source.exists():
                raise
            raise CacheVanishedError(
                f"`{target.path}` vanished from the cache while it was being installed",
                hint="run `etfetch install` again",
            ) from error
        # The time of its installation, so that ninja and make rebuild what uses it. A hard link shares
        # its time with the cache and other projects: they see a touched file with the same bytes.
        os.utime(staged)
        found = os.lstat(staged)
        if found.st_size != target.size:
            raise IntegrityError(
                f"`{target.path}` came out of the cache with another size than it went in",
                data=[f"expected {target.size} bytes", f"found {found.st_size} bytes"],
                hint="run `etfetch cache verify`, then install again",
            )
        return _recorded_as(target, found.st_mtime_ns)

    def _copy(self, source: Path, staged: Path) -> None:
        if self._clones and copying.clone(source, staged):
            return
        # The file system cannot, or source and target are on two: don't ask again for each file.
        self._clones = False
        copying.copy(source, staged)


def _hardlink(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError as error:
        # The cache is on another file system, or the source has as many links as one can have.
        if error.errno not in (errno.EXDEV, errno.EMLINK):
            raise
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Journal:
    """A decided install: staged file `n` goes to `moves[n]`, then `record` is the record's text."""

    moves: tuple[str, ...]
    removes: tuple[str, ...]
    record: str


def _read_journal(path: Path) -> _Journal:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["version"] != _JOURNAL_VERSION:
            raise ValueError(f"version {values['version']} is not known")
        journal = _Journal(tuple(values["moves"]), tuple(values["removes"]), values["record"])
        if any(map(paths.unsafe_reason, (*journal.moves, *journal.removes))):
            raise ValueError("it holds an unsafe path")
        record.parse(journal.record, str(path))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TreeError(
            f"`{path}` is damaged: {error}",
            hint="delete the destination's `.etfetch` folder and run `etfetch install`",
        ) from error
    return journal


def _staged(staging: Path, number: int) -> Path:
    """Where the file of a journal's move stands before."""
    return staging / str(number % _STAGING_FOLDERS) / str(number)


def _refuse_symlinks(destination: Path, journal: _Journal) -> None:
    """A journal may come with a repository, together with symlinks that lead out of it."""
    folders = {folder for path in (*journal.moves, *journal.removes) for folder in paths.parents(path)}
    folders |= {f"{record.FOLDER}/{STAGING}/{number}" for number in range(_STAGING_FOLDERS)}
    links = sorted(folder for folder in folders if (destination / folder).is_symlink())
    if links:
        raise TreeError(
            "an interrupted install cannot be finished through symlinks",
            data=[str(destination / link) for link in links],
            hint="remove them, then run `etfetch install`",
        )


def _finish(destination: Path, journal: _Journal) -> None:
    """The decided part of an install. Every step may have been done before."""
    moves, removes, text = journal.moves, journal.removes, journal.record
    folder = destination / record.FOLDER
    for path in removes:
        (destination / path).unlink(missing_ok=True)
    _remove_empty_folders(destination, removes)
    for number, path in enumerate(moves):
        staged = _staged(folder / STAGING, number)
        if os.path.lexists(staged):
            _place(staged, destination / path)
    durable.write_file(folder / record.NAME, text.encode("utf-8"))
    shutil.rmtree(folder / STAGING, ignore_errors=True)
    (folder / JOURNAL).unlink(missing_ok=True)


def _place(staged: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        # Nothing but empty folders is left below: `conflicts` saw to that.
        shutil.rmtree(target)
    try:
        durable.replace(staged, target)
    except PermissionError as error:
        raise FilesystemError(
            f"cannot place `{target}`: {error.strerror}",
            hint="close the program that uses it, then run `etfetch install`: it finishes what was begun",
        ) from error


def _remove_empty_folders(destination: Path, removed: Iterable[str]) -> None:
    folders = {parent for path in removed for parent in paths.parents(path)}
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            (destination / folder).rmdir()
