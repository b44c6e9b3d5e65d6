"""Unpacking, as if every archive were hostile.

`tarfile` and `zipfile` only list members here; names are checked and files are written by etfetch,
because Python's own extraction filters were bypassed more than once (CVE-2025-4517 and its kin).

Rules, all for the archive as a whole, also for members nobody asked for:

- Only regular files, folders and relative symlinks whose target stays inside, also when followed
  through the archive's other symlinks. No hard links, devices, pipes, sparse files.
- No name that is unsafe on any platform (`paths`), no two names that fall together when case or
  Unicode normalisation is ignored, nothing below a symlink.
- No setuid, setgid or sticky files. Modes become 0644, or 0755 for what its owner may execute.
- No entry whose two headers disagree: a ZIP entry's local and central header, a TAR entry's size in
  its own and its pax header.
- No more entries and bytes than the budget, counted as they are read, not as they are announced.
- A TAR ends with its end marker.

A breach is an `ArchiveError` that names the member; nothing stays behind. Symlinks are made last.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import lzma
import os
import shutil
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from etfetch import paths
from etfetch.digest import CHUNK
from etfetch.errors import ArchiveError, FilesystemError
from etfetch.plan import TreeFile

MAX_ENTRIES = 100_000
MAX_BYTES = 16 << 30
_MAX_RATIO = 250
_FREE_BYTES = 64 << 20
_MAX_SYMLINK_HOPS = 40
_BLOCK = 128 << 10
"""Bytes that `tarfile` reads at once. Its own 10 KiB cost a quarter of the time; with many more, every header
that it takes off the front of the block copies the rest of it."""

_READER_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,
    struct.error,
    UnicodeError,
    OverflowError,
)
_OPTIONAL_ERRORS = (
    ("compression.zstd", "ZstdError"),
    ("zstandard", "ZstdError"),
    ("isal.isal_zlib", "IsalError"),
)
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_DATA_DESCRIPTOR = 0x08
_ENCRYPTED = 0x01
_ZIP64 = 0xFFFFFFFF


class HaltedError(Exception):
    """Somebody else failed, or the user interrupted: this archive is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many entries, and bytes after decompression, an archive may have."""

    entries: int
    bytes: int


def budget_for(archive_size: int) -> Budget:
    """The budget of an archive of that many bytes.

    Native libraries compress at best about thirtyfold; a bomb reaches a thousandfold and more.
    """
    return Budget(MAX_ENTRIES, min(MAX_BYTES, _FREE_BYTES + _MAX_RATIO * archive_size))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which members go into which folder: patterns, exceptions, leading components to drop."""

    folder: Path
    members: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    strip: int = 0


@dataclass(frozen=True, slots=True)
class _Member:
    """One checked entry; `kind` is file, folder or link; `open` gives a file's bytes."""

    name: str
    kind: str
    size: int
    executable: bool
    target: str
    open: Callable[[], AbstractContextManager[Any]]


def unpack(
    archive: Path,
    archive_format: str,
    selections: Sequence[Selection],
    budget: Budget | None = None,
    *,
    name: str | None = None,
    halted: Callable[[], bool] = lambda: False,
) -> list[tuple[TreeFile, ...]]:
    """Unpack the selected members into the selections' folders, which must exist and be empty.

    `name` is what messages call the archive, whose file in the cache has only a digest. The files of each
    selection are returned in the order of their paths. `ArchiveError` for a broken rule, a damaged
    archive or a pattern that matches nothing; `FilesystemError` where symlinks cannot be made;
    `HaltedError` soon after `halted` says so. On any failure the folders are emptied again.
    """
    budget = budget or budget_for(archive.stat().st_size)
    name = name or archive.name
    sinks = [_Sink(name, selection) for selection in selections]
    try:
        with _reading(archive, archive_format, budget, name) as members:
            checker = _Checker(name, budget)
            for member in members:
                checker.check(member)
                _write(name, member, [sink for sink in sinks if sink.takes(member)], halted)
            checker.check_links()
        return [sink.finish() for sink in sinks]
    except BaseException:
        for selection in selections:
            _empty(selection.folder)
        raise


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


class _Checker:
    """The rules over names, links and numbers of all members of one archive."""

    def __init__(self, archive: str, budget: Budget) -> None:
        self._archive = archive
        self._budget = budget
        self._names = paths.NameSet()
        self._links: dict[str, str] = {}
        self._entries = 0
        self._bytes = 0

    def check(self, member: _Member) -> None:
        # Only a folder may have no name: it is the root, which `tar -C folder .` writes as `./`.
        is_root = not member.name and member.kind == "folder"
        reason = None if is_root else paths.unsafe_reason(member.name)
        if reason:
            raise _broken(self._archive, member.name, reason)
        self._count(member)
        if is_root:
            return
        add = self._names.add_folder if member.kind == "folder" else self._names.add_file
        clash = add(member.name)
        if clash == member.name:
            raise _broken(self._archive, member.name, "the name stands twice in the archive")
        if clash:
            raise _broken(
                self._archive,
                member.name,
                f"on some file systems its name is the same as that of `{clash}`",
            )
        if member.kind == "link":
            self._links[member.name] = member.target

    def check_links(self) -> None:
        """Every symlink leads to somewhere inside, through whichever others it goes."""
        for name, target in self._links.items():
            reason = escape_reason(name, target, self._links)
            if reason:
                raise _broken(self._archive, name, reason)

    def _count(self, member: _Member) -> None:
        self._entries += 1
        self._bytes += member.size
        if self._entries > self._budget.entries:
            raise _broken(self._archive, member.name, f"more than {self._budget.entries} entries")
        if self._bytes > self._budget.bytes:
            raise _broken(self._archive, member.name, f"more than {self._budget.bytes} bytes when unpacked")


def escape_reason(name: str, target: str, links: dict[str, str]) -> str | None:
    """Why the symlink `name` -> `target` may not be made, or None; `links` are all of the archive's."""
    if not target or target.startswith("/") or "\\" in target or ":" in target:
        return f"a symlink to `{target}`, which is not a relative path"
    if paths.has_control(target):
        return "a symlink whose target holds a control character"
    here = name.split("/")[:-1]
    ahead = target.split("/")
    hops = 0
    while ahead:
        step = ahead.pop(0)
        if step in {"", "."}:
            continue
        if step == "..":
            if not here:
                return f"a symlink to `{target}`, which leads outside"
            here.pop()
            continue
        here.append(step)
        next_target = links.get("/".join(here))
        if next_target is not None:
            hops += 1
            if hops > _MAX_SYMLINK_HOPS:
                return f"a symlink to `{target}`, which never ends"
            if next_target.startswith("/"):
                return f"a symlink to `{target}`, which leads outside"
            here.pop()
            ahead = next_target.split("/") + ahead
    return None


class _Sink:
    """One selection being filled."""

    def __init__(self, archive: str, selection: Selection) -> None:
        self._archive = archive
        self._selection = selection
        self._patterns = {text: paths.Pattern(text) for text in selection.members}
        self._exclude = [paths.Pattern(text) for text in selection.exclude]
        self._unmatched = set(selection.members)
        self._names = paths.NameSet()
        self._files: list[TreeFile] = []
        self._links: dict[str, str] = {}
        self._made: set[Path] = set()

    def takes(self, member: _Member) -> bool:
        """Whether a pattern names the member; a symlink is remembered for the end."""
        if member.kind == "folder" or any(p.matches(member.name) for p in self._exclude):
            return False
        matched = [text for text, pattern in self._patterns.items() if pattern.matches(member.name)]
        if not matched:
            return False
        self._unmatched.difference_update(matched)
        path = self.path_of(member)
        clash = self._names.add_file(path) if path else member.name
        if clash:
            raise _broken(
                self._archive, member.name, f"without its leading folders it collides with `{clash}`"
            )
        if member.kind == "link":
            self._links[path] = member.target
        return member.kind == "file"

    def path_of(self, member: _Member) -> str:
        """Where a member goes below the selection's folder."""
        return "/".join(member.name.split("/")[self._selection.strip :])

    def create(self, member: _Member, mode: int) -> AbstractContextManager[IO[bytes]]:
        """The new file for a member."""
        destination = self._selection.folder / self.path_of(member)
        if destination.parent not in self._made:
            destination.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(destination.parent)
        return _create(destination, mode)

    def add(self, file: TreeFile) -> None:
        self._files.append(file)

    def finish(self) -> tuple[TreeFile, ...]:
        """Make the symlinks, now that no file can be written through them."""
        if self._unmatched:
            raise ArchiveError(
                f"`{self._archive}` has no member that matches `{min(self._unmatched)}`",
                hint="the manifest does not fit this archive; report it to whoever wrote it",
            )
        for path, target in self._links.items():
            reason = escape_reason(path, target, self._links)
            if reason:
                raise _broken(self._archive, path, reason)
            self._files.append(self._link(path, target))
        return tuple(sorted(self._files, key=lambda file: file.path))

    def _link(self, path: str, target: str) -> TreeFile:
        destination = self._selection.folder / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.symlink(target, destination)
        except (OSError, NotImplementedError) as error:
            raise FilesystemError(
                f"cannot make the symlink `{path}` of `{self._archive}`: {error}",
                hint="on Windows, turn on Developer Mode, which lets programs make symlinks",
            ) from error
        return TreeFile(path, len(target), 0, hashlib.sha256(target.encode()).hexdigest(), target)


def _write(archive: str, member: _Member, sinks: Sequence[_Sink], halted: Callable[[], bool]) -> None:
    """Write a file's bytes into every folder that takes it, in one reading: a stream has only one."""
    if not sinks:
        return
    mode = 0o755 if member.executable else 0o644
    hasher = hashlib.sha256()
    written = 0
    with ExitStack() as stack:
        files = [stack.enter_context(sink.create(member, mode)) for sink in sinks]
        source = stack.enter_context(member.open())
        while written <= member.size and not halted() and (chunk := source.read(CHUNK)):
            written += len(chunk)
            hasher.update(chunk)
            for file in files:
                file.write(chunk)
    if halted():
        raise HaltedError
    if written != member.size:
        raise _broken(archive, member.name, f"{member.size} bytes announced, {written} or more found")
    for sink in sinks:
        sink.add(TreeFile(sink.path_of(member), written, mode, hasher.hexdigest()))


@contextmanager
def _create(path: Path, mode: int) -> Iterator[IO[bytes]]:
    # O_EXCL and O_NOFOLLOW: whatever already stands there is never written to.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode)
    with open(descriptor, "wb") as stream:
        yield stream
    os.chmod(path, mode)


def _broken(archive: str, member: str, reason: str) -> ArchiveError:
    shown = member.encode("unicode_escape", "replace").decode("ascii")
    return ArchiveError(
        f"`{archive}` is not safe to unpack: `{shown}`: {reason}",
        hint="do not use this archive; report it to whoever published it",
    )


@contextmanager
def _reading(archive: Path, archive_format: str, budget: Budget, name: str) -> Iterator[Iterator[_Member]]:
    """The members of an archive, with every library's errors translated, also while they are read."""
    try:
        if archive_format == "zip":
            with zipfile.ZipFile(archive) as bundle:
                yield _zip_members(archive, bundle, name)
        else:
            with _decompressed(archive, archive_format) as stream:
                counted = _Counted(stream, budget.bytes, name)
                with tarfile.open(fileobj=counted, mode="r|", bufsize=_BLOCK, tarinfo=_StrictTarInfo) as tape:
                    yield _tar_members(name, tape)
                # The checksum of a compressed stream stands at its end: read on to it.
                while counted.read(CHUNK):
                    pass
    except _reader_errors() as error:
        raise ArchiveError(
            f"`{name}` is damaged or not a {archive_format} archive: {error}",
            hint="run `etfetch cache verify`, then install again",
        ) from error


class _Counted(io.RawIOBase):
    """A decompressed stream that stops at the budget, whatever the headers announced."""

    def __init__(self, stream: IO[bytes], limit: int, archive: str) -> None:
        super().__init__()
        self._stream = stream
        # Headers and padding come on top of the members' bytes.
        self._left = limit + _FREE_BYTES
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveError(
                f"`{self._archive}` unpacks to more bytes than its size allows for",
                hint="do not use this archive; report it to whoever published it",
            )
        return data


class _StrictTarInfo(tarfile.TarInfo):
    """Fails where `tarfile` takes a broken header in the middle of an archive for its end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _StrictTarInfo:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # not in typeshed
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"a header is damaged or missing: {error}") from error


def _tar_members(archive: str, tape: tarfile.TarFile) -> Iterator[_Member]:
    for entry in tape:
        name = _tar_name(entry.name)
        _check_tar_entry(archive, entry)
        kind = "folder" if entry.isdir() else "link" if entry.issym() else "file"
        yield _Member(
            name=name,
            kind=kind,
            size=entry.size if kind == "file" else 0,
            executable=bool(entry.mode & stat.S_IXUSR),
            target=entry.linkname if kind == "link" else "",
            open=_tar_opener(tape, entry),
        )


def _tar_opener(tape: tarfile.TarFile, entry: tarfile.TarInfo) -> Callable[[], AbstractContextManager[Any]]:
    def open_member() -> AbstractContextManager[Any]:
        stream = tape.extractfile(entry)
        if stream is None:
            raise tarfile.ReadError(f"`{entry.name}` has no bytes")
        return stream

    return open_member


def _tar_name(name: str) -> str:
    """A TAR name without the leading `./` that `tar -C folder .` writes ("" for the root)."""
    while name.startswith("./"):
        name = name[2:]
    return "" if name == "." else name.removesuffix("/")


def _check_tar_entry(archive: str, entry: tarfile.TarInfo) -> None:
    reason = None
    if entry.islnk():
        reason = "a hard link"
    elif entry.sparse is not None or entry.type == tarfile.GNUTYPE_SPARSE:
        reason = "a sparse file"
    elif not (entry.isdir() or entry.issym() or entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE)):
        reason = "not a file, a folder or a symlink"
    elif entry.type != tarfile.DIRTYPE and entry.mode & 0o7000:
        reason = "a setuid, setgid or sticky bit"
    elif "size" in entry.pax_headers:
        # Readers disagree on which size counts, so one of them sees members that others don't
        # (CVE-2025-62518). No archive below 8 GiB needs a second size.
        reason = "its pax header gives another size than its own header"
    elif "\0" in entry.name or "\0" in entry.linkname:
        reason = "a NUL in the name"
    elif entry.size < 0:
        reason = "a negative size"
    if reason:
        raise _broken(archive, entry.name, reason)


def _zip_members(archive: Path, bundle: zipfile.ZipFile, name: str) -> Iterator[_Member]:
    entries = bundle.infolist()
    if len(entries) > MAX_ENTRIES:
        raise _broken(name, entries[-1].filename, f"more than {MAX_ENTRIES} entries")
    with archive.open("rb") as raw:
        _check_zip_entries(name, entries, raw)
    for entry in entries:
        mode = entry.external_attr >> 16
        is_link = stat.S_ISLNK(mode)
        target = bundle.read(entry).decode("utf-8") if is_link else ""
        kind = "link" if is_link else "folder" if entry.is_dir() else "file"
        yield _Member(
            name=entry.filename.removesuffix("/"),
            kind=kind,
            size=entry.file_size if kind == "file" else 0,
            executable=bool(mode & stat.S_IXUSR),
            target=target,
            open=_zip_opener(bundle, entry),
        )


def _zip_opener(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: bundle.open(entry)


def _check_zip_entries(archive: str, entries: list[zipfile.ZipInfo], raw: IO[bytes]) -> None:
    end = 0
    for entry in sorted(entries, key=lambda e: e.header_offset):
        reason = _zip_entry_reason(entry) or _zip_header_reason(entry, raw)
        if not reason and entry.header_offset < end:
            reason = "it overlaps another entry"
        if reason:
            raise _broken(archive, entry.orig_filename, reason)
        end = entry.header_offset + _LOCAL_HEADER.size + entry.compress_size


def _zip_entry_reason(entry: zipfile.ZipInfo) -> str | None:
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if not entry.filename:
        return "the name is empty"
    if "\0" in entry.orig_filename:
        return "a NUL in the name"
    if "\\" in entry.orig_filename:
        return "a backslash in the name"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        return "not a file, a folder or a symlink"
    if kind == stat.S_IFDIR and not entry.is_dir():
        return "a folder by its mode and a file by its name"
    if kind in (stat.S_IFREG, stat.S_IFLNK) and entry.is_dir():
        return "a file by its mode and a folder by its name"
    if mode & 0o7000 and not entry.is_dir():
        return "a setuid, setgid or sticky bit"
    if entry.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compression method {entry.compress_type}"
    if kind == stat.S_IFLNK and entry.file_size > paths.MAX_PATH_LENGTH:
        return "a symlink whose target is too long"
    return None


def _zip_header_reason(entry: zipfile.ZipInfo, raw: IO[bytes]) -> str | None:
    """Why the header before the data contradicts the one in the central directory, or None.

    Layout: APPNOTE.TXT 4.3.7. Sizes and CRC are zero there when a data descriptor follows.
    """
    if entry.header_offset < 0:
        return "its local header is missing"
    raw.seek(entry.header_offset)
    header = raw.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size:
        return "its local header is missing"
    signature, _, flags, method, _, _, crc, packed, size, name_length, _ = _LOCAL_HEADER.unpack(header)
    if signature != b"PK\3\4":
        return "its local header is missing"
    encoding = "utf-8" if flags & 0x800 else "cp437"
    name = raw.read(name_length).decode(encoding, "replace")
    if name != entry.orig_filename:
        return f"its local header calls it `{name}`"
    if flags != entry.flag_bits or method != entry.compress_type:
        return "its two headers disagree on how it is packed"
    zip64 = _ZIP64 in (packed, size)
    if flags & _DATA_DESCRIPTOR or zip64:
        return None
    if (crc, packed, size) != (entry.CRC, entry.compress_size, entry.file_size):
        return "its two headers disagree on size or checksum"
    return None


def _decompressed(archive: Path, archive_format: str) -> AbstractContextManager[Any]:
    if archive_format == "tar.gz":
        return _open_gzip(archive)
    if archive_format == "tar.xz":
        return lzma.open(archive, "rb")
    if archive_format == "tar.zst":
        return _open_zstd(archive)
    return archive.open("rb")


def _open_gzip(archive: Path) -> AbstractContextManager[Any]:
    """Through ISA-L where the extra `fast` is installed: two to three times as fast as zlib."""
    if importlib.util.find_spec("isal"):
        return _opened("isal.igzip", archive)
    return gzip.open(archive, "rb")


def _open_zstd(archive: Path) -> AbstractContextManager[Any]:
    for module in ("compression.zstd", "zstandard"):
        if importlib.util.find_spec(module.partition(".")[0]):
            return _opened(module, archive)
    raise ArchiveError(
        f"`{archive.name}` is a tar.zst archive, which this Python cannot read",
        hint="install etfetch with its extra: `pip install 'etfetch[fast]'`",
    )


def _opened(module: str, archive: Path) -> AbstractContextManager[Any]:
    stream: AbstractContextManager[Any] = importlib.import_module(module).open(archive, "rb")
    return stream


def _reader_errors() -> tuple[type[Exception], ...]:
    """What the standard readers, and whichever optional decompressors are loaded, raise on bad bytes."""
    optional = [
        getattr(sys.modules[module], name) for module, name in _OPTIONAL_ERRORS if module in sys.modules
    ]
    return (*_READER_ERRORS, *optional)
