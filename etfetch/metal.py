"""What is known of lowering a graph to the Metal backend, before it is tried.

The backend is experimental. It compiles ahead of time with AOTInductor; operators for which that emits a
fallback kernel must be in the backend's list, or the export fails with "missing fallback kernels". Operators
that AOTInductor generates itself need no entry, and which those are is written down nowhere. So there are
three answers: in the list, seen to fail, and not known.

In: an exported graph, and the data of `manifests/backends/metal.json`. Out: an answer for each operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etfetch.program import Model

COVERED, FAILS, UNKNOWN = "covered", "known to fail", "not known"


@dataclass(frozen=True, slots=True)
class Answer:
    """One operator of a graph: its calls, what is known, and from where."""

    operator: str
    calls: int
    state: str
    why: str


def version_for(data: Mapping[str, Any], release: str | None) -> str:
    """The release whose list is taken: the given one, else the newest that is known."""
    known: Mapping[str, Any] = data["fallback_kernels"]
    return release if release is not None and release in known else list(known)[-1]


def answers(model: Model, data: Mapping[str, Any], version: str) -> list[Answer]:
    """An answer for each operator of a graph, what fails first."""
    listed = set(data["fallback_kernels"][version])
    calls: dict[str, int] = {}
    for method in model.methods:
        for operator, number in method.operators:
            calls[operator] = calls.get(operator, 0) + number
    order = (FAILS, UNKNOWN, COVERED)
    found = [_answer(operator, number, data, listed, version) for operator, number in calls.items()]
    return sorted(found, key=lambda answer: (order.index(answer.state), answer.operator))


def _answer(operator: str, calls: int, data: Mapping[str, Any], listed: set[str], version: str) -> Answer:
    name = operator.rpartition(".")[0] or operator
    for failure in data["known_failures"]:
        if name in failure["operators"]:
            why = f"`{failure['fallback']}` was missing in {failure['seen_in']}: {failure['model']}"
            return Answer(operator, calls, FAILS, why)
    kernel = data["lowered_to"].get(name)
    if kernel in listed:
        return Answer(operator, calls, COVERED, f"`{kernel}` is in the list of {version}")
    if kernel is not None:
        return Answer(operator, calls, FAILS, f"`{kernel}` is not in the list of {version}")
    return Answer(operator, calls, UNKNOWN, "no entry; it needs none if AOTInductor generates it itself")
