"""Programs that need what the demo release has: real ones in which names were written over."""

from __future__ import annotations

import struct
from pathlib import Path

MODELS = Path(__file__).parent / "models"


def _renamed(data: bytes, old: str, new: str) -> bytes:
    """A program in which one string is another, no longer one: its length stands before it."""
    before = struct.pack("<I", len(old)) + old.encode()
    assert data.count(before) >= 1
    after = struct.pack("<I", len(new)) + new.encode()
    return data.replace(before, after.ljust(len(before), b"\0"))


def adds(operator: str = "demo::add") -> bytes:
    """A program that calls `operator` with the overload `out`."""
    return _renamed((MODELS / "a_add_portable.pte").read_bytes(), "aten::add", operator)


def delegates(backend: str = "FastBackend", operator: str = "demo::mul") -> bytes:
    """A program that hands work to `backend`, and calls `operator` with the overload `out`."""
    data = (MODELS / "b_mixed_xnnpack_plus_cumsum.pte").read_bytes()
    return _renamed(_renamed(data, "XnnpackBackend", backend), "aten::cumsum", operator)
