"""The content-addressed cache: verified archives and unpacked parts, shared by all projects.

Layout, below `v1/` (see `docs/cache.md`):

- `blobs/sha256/ab/<digest>`: archives, verified before they got that name.
- `trees/sha256/ab/<key>/{index.json,files/}`: unpacked parts; the key is `lockfile.tree_key`.
- `partial/`: what is being written, under names nobody else uses.
- `damaged/`: entries that were found wrong, set aside for a look.
- `locks/`: one file lock an entry.

Whatever has its final name is complete: it was written elsewhere, synced and renamed. The locks only keep
two processes from doing the same work; where a file system lies about locks, both do it and the
second rename finds the same bytes. No network here: `fetch` brings the bytes, `archive` the trees.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import digest, durable, partial
from etfetch.errors import BusyError
from etfetch.partial import Partial
from etfetch.plan import TreeFile

if TYPE_CHECKING:
    from filelock import BaseFileLock

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds a cache of etfetch. See https://bford.info/cachedir/\n"
)
LAYOUT = "v1"
"""The version of the folders below, and their name."""

ABANDONED_AFTER = 24 * 3600
"""Seconds after which an unfinished download or tree cannot belong to a running install."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of the cache something takes: entries and bytes."""

    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Prune:
    """What to remove: everything but `keep` if `only_kept`, else what the other limits say.

    `keep` are names of entries: digests of archives and keys of trees. `older_than` is in seconds since
    the last use, `max_size` in bytes of all archives and trees.
    """

    keep: frozenset[str] = frozenset()
    only_kept: bool = False
    older_than: float | None = None
    max_size: int | None = None


class Cache:
    """One cache folder. Its folders are made when first written to, so reading leaves no trace."""

    def __init__(self, root: Path, lock_timeout: float = 600.0) -> None:
        self.root = root
        self._base = root / LAYOUT
        self._lock_timeout = lock_timeout
        self._seen: dict[str, tuple[TreeFile, ...]] = {}

    # Blobs

    def blob(self, sha256: str) -> Path:
        """Where the archive with that digest is, or will be."""
        return self._base / "blobs" / "sha256" / sha256[:2] / sha256

    def has_blob(self, sha256: str, size: int | None = None) -> bool:
        """Whether an archive is there with the size it should have (None: any).

        One of another size is set aside.
        """
        path = self.blob(sha256)
        try:
            found = path.stat().st_size
        except OSError:
            return False
        if size is not None and found != size:
            self._set_aside(path)
            return False
        return True

    def keep_blob(self, verified: Path, sha256: str) -> None:
        """Give a verified and synced file of `partial_file` its final name."""
        target = self.blob(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            durable.replace(verified, target)
        except FileNotFoundError:
            # Where locks lie, somebody else may have finished it first and tidied up.
            if not target.is_file():
                raise
        durable.fsync_folder(target.parent)

    def blob_is_sound(self, sha256: str) -> bool:
        """Hash an archive again; a wrong one is set aside."""
        return self._is_sound(self.blob(sha256))

    def use_blob(self, sha256: str) -> None:
        """Say that an archive is being used: what was used lately is pruned last."""
        with suppress(OSError):
            os.utime(self.blob(sha256))

    def drop_blob(self, sha256: str) -> None:
        """Forget an archive that turned out to be of no use."""
        self.blob(sha256).unlink(missing_ok=True)

    @contextmanager
    def partial_file(self) -> Iterator[Path]:
        """A path to write to; whatever still stands there at the end is removed."""
        path = self._partial()
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    @contextmanager
    def partial(self, sha256: str) -> Iterator[Partial]:
        """A download to be finished, with what earlier tries have left of it.

        If it ends with an error it stays for the next one, as far as that can go on from it.
        """
        earlier = self._left_over(sha256)
        found = Partial(self.scratch() / f"{durable.unique_name(sha256)}{partial.BYTES}")
        if earlier and not found.adopt(earlier[0]):
            found.forget()
        try:
            yield found
        except BaseException:
            found.close()
            if not (found.received and found.validator):
                found.discard()
            raise
        else:
            found.discard()
        finally:
            for path in earlier:
                partial.discard(path)

    def text(self, sha256: str) -> bytes | None:
        """A small file by its digest, or None if it is not there or not sound."""
        try:
            data = self.blob(sha256).read_bytes()
        except OSError:
            return None
        return data if digest.of_bytes(data) == sha256 else None

    def keep_text(self, sha256: str, data: bytes) -> None:
        """Keep a small file whose digest was checked."""
        with self.partial_file() as path:
            durable.write_file(path, data)
            self.keep_blob(path, sha256)

    # Digests that stand beside archives

    def remember_digest(self, source: str, sha256: str) -> None:
        """Remember what digest a server gave for a source, for locks that are made without a network."""
        path = self._sidecar(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_file(path, sha256.encode())

    def remembered_digest(self, source: str) -> str | None:
        """The digest last given for a source, or None."""
        try:
            text = self._sidecar(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text if digest.is_sha256(text) else None

    def _sidecar(self, source: str) -> Path:
        return self._base / "sidecars" / digest.of_bytes(source.encode("utf-8"))

    # Trees

    def tree(self, key: str) -> tuple[TreeFile, ...] | None:
        """The files of an unpacked part, or None if it is not there, or not whole any more.

        It is looked at once: an install asks several times, and checks each size again as it copies.
        """
        if key in self._seen:
            return self._seen[key]
        folder = self._tree_folder(key)
        try:
            entries = json.loads((folder / "index.json").read_bytes())
            index = tuple(TreeFile(**entry) for entry in entries)
        except OSError:
            return None
        except (ValueError, TypeError):
            # Left there it would be taken for the work of a faster process, and never be replaced.
            self._set_aside(folder)
            return None
        root = str(folder / "files")
        if all(_has_size(f"{root}/{file.path}", file) for file in index):
            # What was used lately is not pruned; a cache that may only be read stays as it is.
            with suppress(OSError):
                os.utime(folder)
            self._seen[key] = index
            return index
        self._set_aside(folder)
        return None

    def tree_files(self, key: str) -> Path:
        """The folder with the files of an unpacked part."""
        return self._tree_folder(key) / "files"

    def add_trees(
        self,
        keys: Sequence[str],
        fill: Callable[[list[Path]], list[tuple[TreeFile, ...]]],
    ) -> list[tuple[TreeFile, ...]]:
        """Have `fill` unpack into new folders, one a key, then give them their final names."""
        drafts = [self._partial() for _ in keys]
        try:
            for draft in drafts:
                (draft / "files").mkdir(parents=True)
            indexes = fill([draft / "files" for draft in drafts])
            for key, draft, index in zip(keys, drafts, indexes, strict=True):
                self._keep_tree(key, draft, index)
            return indexes
        finally:
            for draft in drafts:
                shutil.rmtree(draft, ignore_errors=True)

    def _keep_tree(self, key: str, draft: Path, index: tuple[TreeFile, ...]) -> None:
        text = json.dumps([asdict(file) for file in index])
        durable.write_file(draft / "index.json", text.encode())
        target = self._tree_folder(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            durable.replace(draft, target)
        except OSError:
            # A folder cannot be renamed over another: somebody else unpacked the same bytes first.
            if not (target / "index.json").is_file():
                raise

    # Locks

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the lock `name` (a digest); `BusyError` after the lock timeout."""
        folder = self._base / "locks"
        self._make(folder)
        with hold(folder / f"{name}.lock", self._lock_timeout):
            yield

    # Care

    def usage(self) -> dict[str, Usage]:
        """Entries and bytes of each kind of thing in the cache."""
        return {
            "blobs": _usage(self._blobs()),
            "trees": _usage(self._trees()),
            "partial": _usage(_entries(self._base / "partial")),
            "damaged": _usage(self._damaged()),
        }

    def verify(self) -> list[str]:
        """Hash everything; what is wrong is set aside and named, relative to the cache."""
        self.forget()
        blobs = [path for path in self._blobs() if not self._is_sound(path)]
        trees = [path for path in self._trees() if not self._tree_is_sound(path)]
        return [str(path.relative_to(self.root)) for path in (*blobs, *trees)]

    def prune(self, rule: Prune | None = None) -> Usage:
        """Remove what can be made again or was given up, and what `rule` says.

        Without a rule: trees that were not used for a day, damaged entries, abandoned downloads; no archive.
        A running install that misses what it was about to use fetches it again.
        """
        self.forget()
        rubbish = [*self._abandoned(), *self._damaged()]
        if rule is None:
            return self._remove([*(path for path in self._trees() if _is_old(path)), *rubbish])
        return self._remove([*self._condemned(rule), *rubbish])

    def _condemned(self, rule: Prune) -> list[Path]:
        """The archives and trees that a rule ends, least lately used first."""
        entries = sorted((_used(path), path) for path in (*self._blobs(), *self._trees()))
        free = [(used, path) for used, path in entries if path.name not in rule.keep]
        if rule.only_kept:
            return [path for _, path in free]
        before = time.time() - rule.older_than if rule.older_than is not None else 0.0
        old = [path for used, path in free if used < before]
        if rule.max_size is None:
            return old
        # The oldest come first, so what is too old is a beginning of what has to go.
        sizes = {path: _size(path) for _, path in entries}
        total = sum(sizes.values())
        gone = []
        for number, (_, path) in enumerate(free):
            if number >= len(old) and total <= rule.max_size:
                break
            gone.append(path)
            total -= sizes[path]
        return gone

    def clean(self) -> Usage:
        """Remove everything but what running installs hold: lock files and young partial files."""
        self.forget()
        sidecars = _entries(self._base / "sidecars")
        return self._remove([*self._blobs(), *self._trees(), *self._abandoned(), *self._damaged(), *sidecars])

    def forget(self) -> None:
        """Look at the disk again, whatever was seen there before."""
        self._seen.clear()

    def _is_sound(self, blob: Path) -> bool:
        if digest.of_file(blob) == blob.name:
            return True
        self._set_aside(blob)
        return False

    def _tree_is_sound(self, folder: Path) -> bool:
        index = self.tree(folder.name)
        if index is not None and all(
            file.link or digest.of_file(folder / "files" / file.path) == file.sha256 for file in index
        ):
            return True
        self._set_aside(folder)
        return False

    def _remove(self, entries: list[Path]) -> Usage:
        """Remove entries; gives what went."""
        count = total = 0
        for entry in entries:
            size = _size(entry)
            if self._remove_one(entry):
                count, total = count + 1, total + size
        return Usage(count, total)

    def _remove_one(self, entry: Path) -> bool:
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink(missing_ok=True)
            return True
        # Away first, in one step: half a tree must not be found under its name.
        aside = self.scratch() / durable.unique_name("gone")
        try:
            durable.replace(entry, aside)
        except OSError:
            # Somebody else has it, or (on Windows) reads from it.
            return False
        shutil.rmtree(aside, ignore_errors=True)
        return True

    def _blobs(self) -> list[Path]:
        return _below(self._base / "blobs" / "sha256")

    def _abandoned(self) -> list[Path]:
        return [path for path in _entries(self._base / "partial") if _is_old(path)]

    def _damaged(self) -> list[Path]:
        return _entries(self._base / "damaged")

    def _trees(self) -> list[Path]:
        return _below(self._base / "trees" / "sha256")

    def _tree_folder(self, key: str) -> Path:
        return self._base / "trees" / "sha256" / key[:2] / key

    def scratch(self) -> Path:
        """The folder for what is being written, on the file system of the cache."""
        folder = self._base / "partial"
        self._make(folder)
        return folder

    def _partial(self) -> Path:
        return self.scratch() / durable.unique_name("new")

    def _left_over(self, sha256: str) -> list[Path]:
        """The bytes of abandoned downloads of an archive, the one with most of them first."""
        found = self.scratch().glob(f"{sha256}.*{partial.BYTES}")
        return sorted(found, key=partial.received, reverse=True)

    def _set_aside(self, path: Path) -> None:
        self._seen.pop(path.name, None)
        folder = self._base / "damaged"
        self._make(folder)
        try:
            durable.replace(path, folder / durable.unique_name(path.name))
        except FileNotFoundError:
            # Another process set it aside first.
            return

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            tag = self.root / "CACHEDIR.TAG"
            if not tag.exists():
                durable.write_file(tag, _TAG.encode())


@contextmanager
def hold(path: Path, timeout: float) -> Iterator[None]:
    """Hold a file lock; `BusyError` when another process keeps it longer than `timeout` seconds."""
    import filelock

    lock: BaseFileLock = filelock.FileLock(path, timeout=timeout)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise BusyError(
            f"another process has held `{path}` for more than {timeout:g} s",
            hint="wait for it, or raise `ETFETCH_LOCK_TIMEOUT` (seconds)",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _is_old(path: Path) -> bool:
    try:
        return path.lstat().st_mtime < time.time() - ABANDONED_AFTER
    except FileNotFoundError:
        # Whoever it belonged to has finished with it.
        return False


def _has_size(path: str, file: TreeFile) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return bool(file.link) or found.st_size == file.size


def _entries(folder: Path) -> list[Path]:
    """What stands in a folder; nothing in one that is a link, or below one."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(folder.iterdir())


def _below(folder: Path) -> list[Path]:
    """The entries two levels below a folder, never through a link."""
    if folder.parent.is_symlink():
        return []
    return [entry for middle in _entries(folder) for entry in _entries(middle)]


def _used(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0


def _usage(entries: Iterable[Path]) -> Usage:
    count = total = 0
    for entry in entries:
        count += 1
        total += _size(entry)
    return Usage(count, total)


def _size(path: Path) -> int:
    """Bytes of a file or of all files below a folder; symlinks are not followed, and what goes is 0."""
    total = 0
    with suppress(FileNotFoundError):
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        for folder, _, names in os.walk(path):
            for name in names:
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
