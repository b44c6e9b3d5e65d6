"""A bundle: one file with archives of the cache, for machines without a network.

A plain TAR, since archives do not compress again: `bundle.json` says what is in it, `blobs/<sha256>` are the
archives. The same archives give the same bytes. It is read as every archive is (`archive`), so nothing in it
can lead elsewhere, and each file is hashed: what is not what its name says is never kept.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from etfetch import archive, durable
from etfetch.archive import Budget, Selection
from etfetch.digest import is_sha256
from etfetch.errors import IntegrityError
from etfetch.lockfile import LockedArtifact
from etfetch.plan import TreeFile

LISTING = "bundle.json"
BLOBS = "blobs"
_SCHEMA = 1
_MAX_BLOBS = 10_000


def write(path: Path, artifacts: Sequence[LockedArtifact], blob: Callable[[str], Path]) -> int:
    """Write a bundle of verified archives, whose files `blob` gives by digest; gives its size in bytes.

    OSError as the system raises it; a bundle that was there stays until the new one is whole.
    """
    by_digest = {artifact.sha256: artifact for artifact in artifacts}
    draft = path.with_name(durable.unique_name(f".{path.name}"))
    try:
        with draft.open("wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tape:
                text = _listing(list(by_digest.values())).encode()
                tape.addfile(_member(LISTING, len(text)), io.BytesIO(text))
                for sha256 in sorted(by_digest):
                    with blob(sha256).open("rb") as content:
                        size = blob(sha256).stat().st_size
                        tape.addfile(_member(f"{BLOBS}/{sha256}", size), content)
            file.flush()
            durable.fsync(file.fileno())
        durable.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path.stat().st_size


def unpack(path: Path, folder: Path) -> list[TreeFile]:
    """Unpack a bundle's archives into an empty folder, under their digests, and check every one.

    `ArchiveError` for a file that is no bundle or breaks a rule, `IntegrityError` with the name of every
    archive whose bytes are not those of its digest. Nothing stays in the folder then.
    """
    budget = Budget(_MAX_BLOBS, path.stat().st_size)
    selection = Selection(folder, (f"{BLOBS}/*",), strip=1)
    [files] = archive.unpack(path, "tar", [selection], budget, name=path.name)
    wrong = [file.path for file in files if not is_sha256(file.path) or file.sha256 != file.path]
    if wrong:
        for file in files:
            (folder / file.path).unlink()
        raise IntegrityError(
            f"`{path.name}` holds archives that are not what their names say",
            data=wrong,
            hint="the bundle was damaged on its way: copy it again, or make a new one",
        )
    return list(files)


def _listing(artifacts: Sequence[LockedArtifact]) -> str:
    """For people and other programs; restoring goes by the digests alone."""
    listed = [
        {"name": a.name, "sha256": a.sha256, "source": a.source}
        for a in sorted(artifacts, key=lambda a: (a.name, a.sha256))
    ]
    return json.dumps({"schema": _SCHEMA, "artifacts": listed}, indent=2) + "\n"


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member
