"""Writes that survive a kill.

The only place that calls `os.replace` and `os.fsync`: the cache and the installer build their
guarantees on these functions, and the tests kill a process at each of their calls.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def fsync(descriptor: int) -> None:
    """Force a file's bytes to the disk."""
    os.fsync(descriptor)


def fsync_folder(folder: Path) -> None:
    """Force a folder's entries to the disk, where the platform can (Windows cannot)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(source: Path | str, target: Path | str) -> None:
    """Rename `source` to `target` in one step, over whatever stands there."""
    os.replace(source, target)


def unique_name(prefix: str) -> str:
    """A name nobody else uses, also on a network file system: no lock is needed to write there."""
    return f"{prefix}.{os.getpid()}.{secrets.token_hex(6)}"


def write_file(path: Path, data: bytes, scratch: Path | None = None) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or all the new ones.

    The folder must exist. The temporary file stands in `scratch` if that is on the same file system, else
    beside `path`, and is removed on failure; OSError as the system raises it.
    """
    if scratch is not None and scratch.stat().st_dev == path.parent.stat().st_dev:
        try:
            _write_through(scratch, path, data)
        except OSError as error:
            # A bind mount has its device's number, and yet nothing can be renamed out of it.
            if error.errno != errno.EXDEV:
                raise
        else:
            return
    _write_through(path.parent, path, data)


def _write_through(folder: Path, path: Path, data: bytes) -> None:
    temporary = folder / unique_name(f".{path.name}")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            # Without the sync a crash after the rename can leave an empty file under the final name.
            fsync(stream.fileno())
        replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)
