"""Reading programs: which operators and backends they need, and whose data.

In: a file's bytes, which may be hostile. Out: a `Model`, or a `ModelError` that names the byte. Rules:

- Nothing is read that the file's own bounds do not allow, and nothing is visited without being counted.
- Names are strings of a name's length, in UTF-8; a delegate's id has a name's characters.
- Weights are never read: a file of a gigabyte costs what its tables cost.

A module for each format: `pte` (programs), `bundled` (`.bpte`), `tensors` (`.ptd`), `exported` (`.pt2`); and
`xnnpack` for the one payload that says what the program does not.
"""

from __future__ import annotations

from typing import IO

from etfetch.errors import ModelError
from etfetch.program import bundled, exported, pte, tensors
from etfetch.program.model import Delegate, Method, Model

__all__ = ["Delegate", "Method", "Model", "read"]

_SMALLEST = 8
_LFS = b"version https://git-lfs"
_PAGES = (b"<!doctype", b"<html", b"<?xml")


def read(data: memoryview, file: IO[bytes]) -> Model:
    """Read a model by what it is, whatever its name says; `file` gives the same bytes to those who seek."""
    head = bytes(data[:64])
    if head.startswith(_LFS):
        raise ModelError(
            "byte 0: a pointer of Git LFS stands in place of the model", hint="run `git lfs pull`"
        )
    if head.lstrip().lower().startswith(_PAGES):
        raise ModelError("byte 0: a web page stands in place of the model", hint="download the model again")
    if head.startswith(b"PK"):
        return exported.read(file)
    if len(data) < _SMALLEST:
        raise ModelError(f"byte 0: a file of {len(data)} bytes is no program")
    if head[4:6] == b"BP":
        return bundled.read(data)
    if head[4:6] == b"FT":
        return tensors.read(data)
    return pte.read(data)
