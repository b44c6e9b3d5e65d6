"""`.ptd`: data for programs, by key.

The format is `extension/flat_tensor/serialize/flat_tensor.fbs` of pytorch/executorch. A header (`FH01` at
byte 8) says where the flatbuffer and the segments are.
"""

from __future__ import annotations

import struct

from etfetch.errors import ModelError
from etfetch.program.flatbuffer import Buffer
from etfetch.program.model import Model

IDENTIFIER = "FT01"
_HEADER = struct.Struct("<4sIQQQQ")
_HEADER_AT = 8
_VERSION, _SEGMENTS, _NAMED_DATA = 0, 1, 2


def read(data: memoryview) -> Model:
    """Read the keys that a file holds data for."""
    identifier = ascii(bytes(data[4:8]))[2:-1]
    if identifier != IDENTIFIER:
        raise ModelError(f"byte 4: tensors of format `{identifier}`, which this etfetch does not know")
    if _HEADER_AT + _HEADER.size > len(data) or bytes(data[_HEADER_AT : _HEADER_AT + 4]) != b"FH01":
        raise ModelError(f"byte {_HEADER_AT}: the header of the tensors is missing")
    _, _, offset, size, base, length = _HEADER.unpack_from(data, _HEADER_AT)
    if offset + size > len(data) or base + length > len(data):
        raise ModelError(f"byte {_HEADER_AT}: the header does not fit the file of {len(data)} bytes")
    root = Buffer(data[: offset + size]).root()
    for segment in root.tables(_SEGMENTS):
        if segment.u64(0) + segment.u64(1) > length:
            raise segment.fail("a segment does not fit the file")
    named = tuple(entry.string(0) for entry in root.tables(_NAMED_DATA))
    version, segments = root.u32(_VERSION), root.count(_SEGMENTS)
    return Model("ptd", identifier, version, named_data=named, segments=segments)
