"""What models need, and how that differs from what a lock recorded."""

from __future__ import annotations

from pathlib import Path

from etfetch import needs
from etfetch.needs import ModelNeeds, Models, Provided
from etfetch.program import Delegate, Method, Model

MODEL = Model(
    "pte",
    "ET12",
    0,
    (
        Method("encode", (("aten::mul.out", 2), ("myco::relu.out", 1)), (Delegate("XnnpackBackend", 1, 9),)),
        Method("decode", (("aten::add.out", 1), ("aten::mul.out", 1)), (Delegate("EthosUBackend", 1, 9),)),
    ),
)


def test_all_methods_together_sorted() -> None:
    found = needs.of("m.pte", MODEL, Provided())
    assert found.operators == ("aten::add.out", "aten::mul.out", "myco::relu.out")
    assert found.delegates == ("EthosUBackend", "XnnpackBackend")
    assert found.sha256 == ""


def test_what_the_app_brings_itself_is_not_asked_for() -> None:
    found = needs.of("m.pte", MODEL, Provided(("myco::*", "aten::add.out"), ("EthosUBackend",)))
    assert found.operators == ("aten::mul.out",)
    assert found.delegates == ("XnnpackBackend",)


def test_differences_are_told_a_line_each() -> None:
    before = [
        ModelNeeds("a", "1", ("XnnpackBackend",), ("aten::add.out",)),
        ModelNeeds("b", "2", (), ()),
    ]
    now = [ModelNeeds("a", "3", (), ("aten::add.out", "aten::mul.out")), ModelNeeds("c", "4", (), ())]
    assert needs.differences(now, before) == [
        "models: - b",
        "a: no longer needs the delegate XnnpackBackend",
        "a: now needs the operator aten::mul.out",
        "models: + c",
    ]


def test_another_digest_is_no_difference() -> None:
    one, other = ModelNeeds("a", "1", (), ("x",)), ModelNeeds("a", "2", (), ("x",))
    assert needs.differences([one], [other]) == []


def test_models_that_are_not_here_count() -> None:
    here, kept = ModelNeeds("b", "1", (), ()), ModelNeeds("a", "2", (), ())
    models = Models((here,), (kept,), (Path("b"),))
    assert models.all == (kept, here)
    assert models.notices == (
        "`a` is not here: what the lock recorded of it counts (`etfetch lock` forgets it)",
    )
