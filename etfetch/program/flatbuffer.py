"""Reading flatbuffers from bytes that may be hostile.

Scope: tables, vectors and strings of a flatbuffer whose schema the caller knows, by slot. Every read is
checked against the bytes there are, and every table and string counts against a budget: in a small file
vectors can share their elements, so that following all of them would take years.

Why not the `flatbuffers` runtime: it checks no bounds. It raises `struct.error` or reads elsewhere for
a wrong offset, and knows no budget. The format: https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from etfetch.errors import ModelError

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_I8, _I32 = struct.Struct("<b"), struct.Struct("<i")
_LONGEST_STRING = 65_536
"""Bytes of a name: longer ones are no names."""

_SMALLEST_BUDGET = 4096


class Buffer:
    """Bytes that hold one flatbuffer, which starts at `start` of a file, for messages.

    `budget` is how many tables, vectors, elements and strings may be visited: by default as many as the bytes
    could hold if nothing were shared.
    """

    def __init__(self, data: memoryview, start: int = 0, budget: int | None = None) -> None:
        self.data = data
        self.start = start
        self._budget = max(len(data), _SMALLEST_BUDGET) if budget is None else budget

    def fail(self, position: int, problem: str) -> ModelError:
        """The error for a byte of the flatbuffer, to be raised by the caller."""
        return ModelError(f"byte {self.start + max(position, 0)}: {problem}")

    def spend(self, count: int, position: int) -> None:
        """Count what is visited; `ModelError` when it is more than the bytes could hold."""
        self._budget -= count
        if self._budget < 0:
            raise self.fail(position, "more elements than the file could hold: they are shared")

    def root(self) -> Table:
        """The table that everything hangs on."""
        return self.table(self.u32(0))

    def table(self, position: int) -> Table:
        """The table at a position, with its vtable checked."""
        self.spend(1, position)
        vtable = position - self.i32(position)
        size = self.u16(vtable)
        # The table's own size, which comes next, is not to be relied on: the builder that ExecuTorch exports
        # with shares a list of fields between tables of different sizes. Each field is checked instead.
        if size < _U32.size or size % 2 or vtable + size > len(self.data):
            raise self.fail(vtable, "a table's list of fields does not fit")
        return Table(self, position, vtable, size)

    def u16(self, position: int) -> int:
        return int(self._unpack(_U16, position))

    def u32(self, position: int) -> int:
        return int(self._unpack(_U32, position))

    def u64(self, position: int) -> int:
        return int(self._unpack(_U64, position))

    def i8(self, position: int) -> int:
        return int(self._unpack(_I8, position))

    def i32(self, position: int) -> int:
        return int(self._unpack(_I32, position))

    def string(self, position: int) -> str:
        """The string at a position; `ModelError` unless it is UTF-8 and of a name's length."""
        length = self.u32(position)
        begin = position + _U32.size
        if length > _LONGEST_STRING or begin + length > len(self.data):
            raise self.fail(position, f"a string of {length} bytes")
        self.spend(1 + length // 16, position)
        try:
            return str(self.data[begin : begin + length], "utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(begin + error.start, "a string that is not UTF-8") from error

    def _unpack(self, form: struct.Struct, position: int) -> int:
        if position < 0 or position + form.size > len(self.data):
            raise self.fail(position, "an offset leads past the end")
        value: int = form.unpack_from(self.data, position)[0]
        return value


class Table:
    """One table: fields by their slot, in the order of the schema. One that is not there is its default."""

    __slots__ = ("_size", "_vtable", "buffer", "position")

    def __init__(self, buffer: Buffer, position: int, vtable: int, size: int) -> None:
        self.buffer = buffer
        self.position = position
        self._vtable = vtable
        self._size = size

    def fail(self, problem: str) -> ModelError:
        return self.buffer.fail(self.position, problem)

    def u8(self, slot: int) -> int:
        return self.i8(slot) & 0xFF

    def i8(self, slot: int) -> int:
        place = self._field(slot)
        return self.buffer.i8(place) if place else 0

    def u32(self, slot: int) -> int:
        place = self._field(slot)
        return self.buffer.u32(place) if place else 0

    def i32(self, slot: int) -> int:
        place = self._field(slot)
        return self.buffer.i32(place) if place else 0

    def u64(self, slot: int) -> int:
        place = self._field(slot)
        return self.buffer.u64(place) if place else 0

    def string(self, slot: int) -> str:
        place = self._reference(slot)
        return self.buffer.string(place) if place else ""

    def table(self, slot: int) -> Table | None:
        place = self._reference(slot)
        return self.buffer.table(place) if place else None

    def tables(self, slot: int) -> Iterator[Table]:
        """The tables of a vector, one at a time."""
        begin, length = self._vector(slot, 4)
        for index in range(length):
            place = begin + 4 * index
            yield self.buffer.table(place + self.buffer.u32(place))

    def strings(self, slot: int) -> Iterator[str]:
        begin, length = self._vector(slot, 4)
        for index in range(length):
            place = begin + 4 * index
            yield self.buffer.string(place + self.buffer.u32(place))

    def count(self, slot: int, element: int = 4) -> int:
        """How many elements of `element` bytes a vector has."""
        return self._vector(slot, element)[1]

    def span(self, slot: int) -> tuple[int, int]:
        """Where the bytes of a vector of bytes begin, and how many they are."""
        return self._vector(slot, 1)

    def _vector(self, slot: int, element: int) -> tuple[int, int]:
        place = self._reference(slot)
        if not place:
            return 0, 0
        length = self.buffer.u32(place)
        begin = place + 4
        if begin + length * element > len(self.buffer.data):
            raise self.buffer.fail(place, f"a vector of {length} elements")
        return begin, length

    def _reference(self, slot: int) -> int:
        place = self._field(slot)
        return place + self.buffer.u32(place) if place else 0

    def _field(self, slot: int) -> int:
        """Where a field stands; 0 if it is not there."""
        entry = 4 + 2 * slot
        if entry + 2 > self._size:
            return 0
        offset = self.buffer.u16(self._vtable + entry)
        return self.position + offset if offset else 0
