"""XNNPACK's payload: the keys of weights that it looks up by name.

A program does not say that its XNNPACK weights stand in another file; only the payload knows the keys. Loaded
without that file the runtime crashes. The format is `backends/xnnpack/serialization/schema.fbs` of
pytorch/executorch, behind a header of its own (`XH00`); payloads without that header are older and hold
their weights.
"""

from __future__ import annotations

import struct

from etfetch.errors import ModelError
from etfetch.program.flatbuffer import Buffer

DELEGATE = "XnnpackBackend"
_HEADER = struct.Struct("<4x4sHII")
_CONSTANT_DATA, _NAMED_KEY = 8, 2


def keys(payload: memoryview, start: int) -> set[str]:
    """The keys that a payload looks up; `start` is where it begins in its file, for messages."""
    if len(payload) < _HEADER.size or bytes(payload[4:8]) != b"XH00":
        return set()
    _, _, offset, size = _HEADER.unpack_from(payload)
    if offset + size > len(payload):
        raise ModelError(
            f"byte {start}: the header of the XNNPACK payload does not fit its {len(payload)} bytes"
        )
    graph = Buffer(payload[offset : offset + size], start + offset).root()
    found = {entry.string(_NAMED_KEY) for entry in graph.tables(_CONSTANT_DATA)}
    return found - {""}
