"""Air gaps: `bundle create` where the network is, `bundle restore` where it is not."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from etfetch import bundle, durable
from etfetch.config import Options
from etfetch.errors import UsageError
from etfetch.operations import bringing, locking
from etfetch.operations.caring import open_cache
from etfetch.operations.workspace import open_workspace
from etfetch.progress import Progress


@dataclass(frozen=True, slots=True)
class Bundled:
    """A bundle: its file, its size in bytes, and how many archives it holds."""

    path: Path
    size: int
    archives: int


def create(options: Options, file: Path, progress: Progress) -> Bundled:
    """`etfetch bundle create FILE`: every archive of the lock, fetched if need be, in one file."""
    with open_workspace(replace(options, platforms=())) as workspace:
        lock = locking.there(workspace)
        wanted = locking.narrowed(lock, options).artifacts
        artifacts = list(bringing.sound(workspace, lock.request.package, lock.release, wanted, progress))
        size = bundle.write(file, artifacts, workspace.cache.blob)
    return Bundled(file, size, len({a.sha256 for a in artifacts}))


def restore(options: Options, file: Path) -> Bundled:
    """`etfetch bundle restore FILE`: put a bundle's archives into the cache, every digest checked."""
    if not file.is_file():
        raise UsageError(f"there is no bundle `{file}`", hint="make one with `etfetch bundle create FILE`")
    cache = open_cache(options)
    # In the cache's own folder, so that giving the final name is a rename.
    with tempfile.TemporaryDirectory(dir=cache.scratch(), prefix="bundle.") as scratch:
        folder = Path(scratch)
        found = bundle.unpack(file, folder)
        for blob in found:
            path = folder / blob.path
            with path.open("rb+") as stream:
                durable.fsync(stream.fileno())
            cache.keep_blob(path, blob.sha256)
    return Bundled(file, file.stat().st_size, len(found))
