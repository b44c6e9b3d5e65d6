"""SHA-256, the one digest of manifests, locks and the cache."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

CHUNK = 1 << 20
"""Bytes read at a time: large enough that hashing, not the loop, is what costs."""

_HEX = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """True for 64 lower-case hex digits."""
    return _HEX.fullmatch(text) is not None


def of_bytes(data: bytes) -> str:
    """The digest of `data`, as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def of_file(path: Path) -> str:
    """The digest of the file at `path`, read in pieces; OSError as `open` raises it."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()
