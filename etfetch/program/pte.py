"""`.pte`: an ExecuTorch program.

In: the file's bytes. Out: a `Model`, or a `ModelError` with the byte that is wrong. The format is
`schema/program.fbs` of pytorch/executorch, slots by their order there; fields were only ever appended. Rules:

- The identifier is `ET12`; `ET` with other digits is a format that this etfetch does not know.
- With an extended header (`eh00` at byte 8) the flatbuffer is as long as that says, and segments follow.
  Header and segments lie within the file.
- Methods have names of their own. Instructions are of known kinds, and name operators and delegates that
  are there.
- What is visited is counted: vectors of a small file can share their elements.

A delegate's bytes are looked into for XNNPACK only, whose weights may stand in another file without a word of
it in the program.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass

from etfetch.errors import ModelError
from etfetch.program import xnnpack
from etfetch.program.flatbuffer import Buffer, Table
from etfetch.program.model import Delegate, Method, Model

IDENTIFIER = "ET12"
_HEADER = struct.Struct("<4sIQQ")
_HEADER_AT = 8
_HEADER_LEAST = 24
_DATA_SIZE = struct.Struct("<Q")
_HEADER_WITH_SIZE = 32
_DELEGATE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")

_PROGRAM_VERSION, _PLANS, _INLINE_DATA, _SEGMENTS, _NAMED_DATA = 0, 1, 3, 4, 7
_PLAN_NAME, _VALUES, _CHAINS, _OPERATORS, _DELEGATES = 0, 2, 5, 6, 7
_INSTRUCTIONS = 2
_INSTRUCTION_KIND, _INSTRUCTION = 0, 1
_KERNEL_CALL, _DELEGATE_CALL, _LAST_KIND = 1, 2, 5
_VALUE_KIND, _VALUE, _TENSOR = 0, 1, 5
_EXTRA_INFO = 9
_FULL_NAME, _LOCATION, _EXTERNAL = 1, 2, 1
_IN_SEGMENT = 1


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in the file: the flatbuffer's end, and the segments' base (0: there are none)."""

    program: int
    base: int


def read(data: memoryview, start: int = 0) -> Model:
    """Read a program; `start` is where it begins in its file, for messages."""
    identifier = _identifier(data, start)
    layout = _layout(data, start)
    buffer = Buffer(data[: layout.program], start)
    program = buffer.root()
    segments = [_segment(segment, layout, len(data)) for segment in program.tables(_SEGMENTS)]
    inline = [entry.span(0) for entry in program.tables(_INLINE_DATA)]
    named = tuple(entry.string(0) for entry in program.tables(_NAMED_DATA))
    payloads = _Payloads(data, start, tuple(segments), tuple(inline))
    methods: dict[str, Method] = {}
    needed: set[str] = set()
    for plan in program.tables(_PLANS):
        method, keys = _method(plan, payloads)
        if method.name in methods:
            raise plan.fail(f"two methods are called `{method.name}`")
        methods[method.name] = method
        needed |= {*keys, *method.external}
    if not methods:
        raise program.fail("the program has no methods")
    return Model(
        format="pte",
        identifier=identifier,
        schema_version=program.u32(_PROGRAM_VERSION),
        methods=tuple(methods.values()),
        named_data=named,
        external=tuple(sorted(needed - set(named))),
        segments=len(segments),
    )


def is_program(data: memoryview) -> bool:
    """Whether bytes say that they are a program, of whatever version."""
    return re.fullmatch(rb"ET[0-9]{2}", bytes(data[4:8])) is not None


def _identifier(data: memoryview, start: int) -> str:
    if not is_program(data):
        raise ModelError(f"byte {start + 4}: no program: the identifier `{IDENTIFIER}` is missing")
    identifier = str(data[4:8], "ascii")
    if identifier != IDENTIFIER:
        raise ModelError(
            f"byte {start + 4}: a program of format `{identifier}`, which this etfetch does not know"
        )
    return identifier


def _layout(data: memoryview, start: int) -> _Layout:
    if bytes(data[_HEADER_AT : _HEADER_AT + 4]) != b"eh00":
        return _Layout(len(data), 0)
    if _HEADER_AT + _HEADER.size > len(data):
        raise ModelError(f"byte {start + _HEADER_AT}: the extended header is cut off")
    _, length, program, base = _HEADER.unpack_from(data, _HEADER_AT)
    if not _HEADER_LEAST <= length <= program <= len(data):
        raise ModelError(
            f"byte {start + _HEADER_AT}: the extended header does not fit the file of {len(data)} bytes"
        )
    size = 0
    if length >= _HEADER_WITH_SIZE:
        (size,) = _DATA_SIZE.unpack_from(data, _HEADER_AT + _HEADER.size)
    if base and not program <= base <= len(data) - size:
        raise ModelError(f"byte {start + _HEADER_AT}: the segments do not fit the file of {len(data)} bytes")
    return _Layout(program, base)


def _segment(segment: Table, layout: _Layout, size: int) -> tuple[int, int]:
    """Where a segment begins in the file, and its size."""
    offset, length = segment.u64(0), segment.u64(1)
    # Programs without a header may list segments without a byte in them.
    if layout.base + offset + length > size or (length and not layout.base):
        raise segment.fail(f"a segment of {length} bytes at {offset} does not fit the file of {size} bytes")
    return layout.base + offset, length


@dataclass(frozen=True, slots=True)
class _Payloads:
    """What delegates are handed: bytes in the flatbuffer, or segments after it, as (begin, size) pairs."""

    data: memoryview
    start: int
    segments: tuple[tuple[int, int], ...]
    inline: tuple[tuple[int, int], ...]

    def of(self, delegate: Table) -> tuple[int, int]:
        reference = delegate.table(1)
        if reference is None:
            return 0, 0
        index = reference.u32(1)
        spans = self.segments if reference.i8(0) == _IN_SEGMENT else self.inline
        if index >= len(spans):
            raise reference.fail(f"a delegate's data has number {index} of {len(spans)}")
        return spans[index]


def _method(plan: Table, payloads: _Payloads) -> tuple[Method, set[str]]:
    """A method, and the keys of data that its delegates look up by name."""
    operators = [_operator(operator) for operator in plan.tables(_OPERATORS)]
    delegates = list(plan.tables(_DELEGATES))
    kernel_calls: Counter[int] = Counter()
    delegate_calls: Counter[int] = Counter()
    for chain in plan.tables(_CHAINS):
        for instruction in chain.tables(_INSTRUCTIONS):
            _count(instruction, kernel_calls, delegate_calls, len(operators), len(delegates))
    calls: Counter[str] = Counter(dict.fromkeys(operators, 0))
    for index, name in enumerate(operators):
        calls[name] += kernel_calls[index]
    found, keys = [], set()
    for index, delegate in enumerate(delegates):
        name = delegate.string(0)
        if not _DELEGATE_ID.fullmatch(name):
            raise delegate.fail(f"`{name!a}` is not a delegate's id")
        begin, size = payloads.of(delegate)
        if name == xnnpack.DELEGATE:
            keys |= xnnpack.keys(payloads.data[begin : begin + size], payloads.start + begin)
        found.append(Delegate(name, delegate_calls[index], size))
    method = Method(plan.string(_PLAN_NAME), tuple(sorted(calls.items())), tuple(found), _external(plan))
    return method, keys


def _operator(operator: Table) -> str:
    name, overload = operator.string(0), operator.string(1)
    if not name:
        raise operator.fail("an operator without a name")
    return f"{name}.{overload}" if overload else name


def _count(
    instruction: Table,
    kernels: Counter[int],
    delegates: Counter[int],
    operators: int,
    there: int,
) -> None:
    kind = instruction.u8(_INSTRUCTION_KIND)
    call = instruction.table(_INSTRUCTION)
    if not 1 <= kind <= _LAST_KIND or call is None:
        raise instruction.fail(f"an instruction of the unknown kind {kind}")
    if kind == _KERNEL_CALL:
        _check_index(call, operators, "operator")
        kernels[call.i32(0)] += 1
    elif kind == _DELEGATE_CALL:
        _check_index(call, there, "delegate")
        delegates[call.i32(0)] += 1


def _check_index(call: Table, count: int, what: str) -> None:
    index = call.i32(0)
    if not 0 <= index < count:
        raise call.fail(f"a call of {what} number {index} of {count}")


def _external(plan: Table) -> tuple[str, ...]:
    """The names of tensors whose data stands outside of the program."""
    names = set()
    for value in plan.tables(_VALUES):
        if value.u8(_VALUE_KIND) != _TENSOR:
            continue
        tensor = value.table(_VALUE)
        extra = tensor.table(_EXTRA_INFO) if tensor else None
        if extra is not None and extra.i8(_LOCATION) == _EXTERNAL:
            names.add(extra.string(_FULL_NAME))
    return tuple(sorted(names))
