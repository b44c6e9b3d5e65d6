"""What a program needs of the runtime, whatever file it stands in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delegate:
    """A backend that a method hands work to: its id, how many calls, and the bytes of what it is handed."""

    id: str
    calls: int
    size: int


@dataclass(frozen=True, slots=True)
class Method:
    """One entry point. `operators` are names with overloads (`aten::add.out`), each with its calls.

    `external` are the names of tensors whose data stands in another file.
    """

    name: str
    operators: tuple[tuple[str, int], ...] = ()
    delegates: tuple[Delegate, ...] = ()
    external: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """A file: its format (`pte`, `bpte`, `ptd`, `pt2`), its schema's version and its methods.

    `named_data` are the keys that it holds data for. `external` are keys that it needs and another file, a
    `.ptd`, has to hold. For a `pt2` the operators are those of the exported graph, not yet lowered.
    """

    format: str
    identifier: str
    schema_version: int
    methods: tuple[Method, ...] = ()
    named_data: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    segments: int = 0
