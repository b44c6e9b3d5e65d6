"""`.bpte`: a program bundled with test cases.

The format is `schema/bundled_program_schema.fbs` of pytorch/executorch: version, test suites, and the bytes
of the program itself, which is read as every program.
"""

from __future__ import annotations

from dataclasses import replace

from etfetch.errors import ModelError
from etfetch.program import pte
from etfetch.program.flatbuffer import Buffer
from etfetch.program.model import Model

IDENTIFIER = "BP08"
_PROGRAM = 2


def read(data: memoryview) -> Model:
    """Read the program inside; `ModelError` when there is none."""
    identifier = ascii(bytes(data[4:8]))[2:-1]
    if identifier != IDENTIFIER:
        raise ModelError(f"byte 4: a bundle of format `{identifier}`, which this etfetch does not know")
    begin, size = Buffer(data).root().span(_PROGRAM)
    if not size:
        raise ModelError("byte 0: a bundle without a program")
    return replace(pte.read(data[begin : begin + size], begin), format="bpte", identifier=identifier)
