"""Reading programs: the truth about real ones, what is refused, and that nothing else ever happens.

`tests/models/` holds programs of three ExecuTorch versions with what its own deserializer says of them
(`truth.json`), and damaged ones with what the real runtime did (`malformed/malformed.json`).
"""

from __future__ import annotations

import io
import json
import random
import struct
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etfetch import modelfile, program
from etfetch.errors import ModelError
from etfetch.program import Model
from tests.demo_models import MODELS
from tests.world import World

TRUTH: list[dict[str, Any]] = json.loads((MODELS / "truth.json").read_text())
OTHERS = {entry["file"]: entry for entry in json.loads((MODELS / "truth_other_formats.json").read_text())}
MALFORMED: dict[str, dict[str, Any]] = json.loads((MODELS / "malformed/malformed.json").read_text())


def _read(data: bytes) -> Model:
    return program.read(memoryview(data), io.BytesIO(data))


def _check(model: Model, truth: dict[str, Any]) -> None:
    assert model.schema_version == truth["schema_version"]
    assert model.segments == truth["n_segments_in_file"]
    assert list(model.named_data) == truth["named_data_keys"]
    assert {method.name for method in model.methods} == set(truth["methods"])
    for method in model.methods:
        wanted = truth["methods"][method.name]
        names = {f"{o['name']}.{o['overload']}".removesuffix(".") for o in wanted["operators"]}
        assert [name for name, _ in method.operators] == sorted(names)
        assert {name: calls for name, calls in method.operators if calls} == wanted["kernel_calls_per_op"]
        assert [delegate.id for delegate in method.delegates] == [d["id"] for d in wanted["delegates"]]
        calls = {str(i): d.calls for i, d in enumerate(method.delegates) if d.calls}
        assert calls == wanted["delegate_calls_per_index"]
        assert sorted(method.external) == sorted(wanted["external_tensors"])


@pytest.mark.parametrize("truth", TRUTH, ids=lambda truth: truth["file"])
def test_programs_are_what_executorch_says(truth: dict[str, Any]) -> None:
    model = modelfile.read(MODELS / truth["file"])
    assert (model.format, model.identifier) == ("pte", truth["magic"])
    _check(model, truth)


def test_a_bundled_program() -> None:
    truth = OTHERS["i_bundled_linear_xnnpack.bpte"]
    model = modelfile.read(MODELS / truth["file"])
    assert (model.format, model.identifier) == ("bpte", truth["bundle_magic"])
    _check(model, truth)


@pytest.mark.parametrize("name", ["_default_external_constant.ptd", "xnn_weights.ptd"])
def test_data_for_programs(name: str) -> None:
    model = modelfile.read(MODELS / name)
    assert (model.format, model.identifier, model.methods) == ("ptd", OTHERS[name]["magic"], ())
    assert list(model.named_data) == OTHERS[name]["keys"]
    assert model.segments == OTHERS[name]["n_buffers"]


def test_an_exported_graph() -> None:
    truth = OTHERS["p_cnn_split.pt2"]["models"]["p_cnn_split/models/model.json"]["ops"]
    model = modelfile.read(MODELS / "p_cnn_split.pt2")
    [method] = model.methods
    found = {f"torch.ops.{name.replace('::', '.')}": calls for name, calls in method.operators}
    assert (model.format, found) == ("pt2", truth)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        ("i_linear_external_ptd.pte", "_default_external_constant.ptd"),
        ("i_linear_xnnpack_external_ptd.pte", "xnn_weights.ptd"),
    ],
)
def test_data_in_another_file_is_told(model: str, data: str) -> None:
    """Of XNNPACK's weights only its payload knows, and the runtime crashes without them."""
    assert set(modelfile.read(MODELS / model).external) == set(modelfile.read(MODELS / data).named_data)
    others = [modelfile.read(MODELS / truth["file"]) for truth in TRUTH if "_ptd" not in truth["file"]]
    assert not any(other.external for other in others)


REFUSED_BY_ETFETCH_ALONE = {"delegate_id_empty.pte", "eh_len_huge.pte", "op_name_len_1GB.pte"}
"""The runtime tolerates these; a name of a gigabyte is no name."""


@pytest.mark.parametrize("name", MALFORMED)
def test_what_the_runtime_does_not_survive_is_refused(name: str) -> None:
    runs = MALFORMED[name]["real_runtime_rc"] == 13
    assert runs == (name in REFUSED_BY_ETFETCH_ALONE)
    with pytest.raises(ModelError) as caught:
        modelfile.read(MODELS / "malformed" / name)
    assert caught.value.code == 4
    assert "cannot be read as a model: byte " in caught.value.message


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "dag_bomb_3000cubed.pte",
            "byte 48120: more elements than the file could hold: they are shared",
            None,
        ),
        (
            "future_magic_ET99.pte",
            "byte 4: a program of format `ET99`, which this etfetch does not know",
            None,
        ),
        ("op_index_negative.pte", "byte 412: a call of operator number -1 of 2", None),
        ("op_name_not_utf8.pte", "byte 332: a string that is not UTF-8", None),
        (
            "lfs_pointer.pte",
            "byte 0: a pointer of Git LFS stands in place of the model",
            "run `git lfs pull`",
        ),
        ("html_page.pte", "byte 0: a web page stands in place of the model", "download the model again"),
        ("trunc_16.pte", "byte 8: the extended header is cut off", None),
        ("segment_size_huge.pte", "byte 340: a segment of 1099511627776 bytes at 768 does not fit", None),
    ],
)
def test_what_is_wrong_is_told_with_its_byte(name: str, message: str, hint: str | None) -> None:
    with pytest.raises(ModelError) as caught:
        _read((MODELS / "malformed" / name).read_bytes())
    assert caught.value.message.startswith(message)
    assert caught.value.hint == hint


def test_a_large_program_costs_what_its_tables_cost(tmp_path: Path) -> None:
    path = tmp_path / "large.pte"
    path.write_bytes((MODELS / "b_mixed_xnnpack_plus_cumsum.pte").read_bytes())
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    model = modelfile.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.methods[0].delegates[0].id == "XnnpackBackend"
    assert peak < 1_000_000


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4, 8])):
        place = chance.randrange(len(changed))
        kind = chance.random()
        if kind < 0.5:
            changed[place] = chance.randrange(256)
        elif kind < 0.7:
            changed[place : place + 4] = struct.pack("<I", chance.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
        elif kind < 0.8:
            del changed[max(place, 1) :]
        else:
            other = chance.randrange(len(changed))
            changed[place : place + 16] = changed[other : other + 16]
    return bytes(changed)


@pytest.mark.slow  # 200,000 programs: what breaks a reader is rare
def test_damaged_models_are_read_or_refused() -> None:
    chance = random.Random(20)
    originals = [p.read_bytes() for p in sorted(MODELS.glob("*.[pb]*")) if p.stat().st_size < 10_000]
    outcomes = Counter(_outcome(_mutated(chance.choice(originals), chance)) for _ in range(200_000))
    assert set(outcomes) == {"read", "refused"}
    assert min(outcomes.values()) > 10_000


def _outcome(data: bytes) -> str:
    try:
        _read(data)
    except ModelError as error:
        return "refused" if "byte " in error.message else error.message
    return "read"


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=400), st.sampled_from([b"ET12", b"BP08", b"FT01", b"PK\x03\x04", b""]))
def test_any_bytes_are_read_or_refused(data: bytes, identifier: bytes) -> None:
    at = 0 if identifier.startswith(b"PK") else 4
    changed = data[:at] + identifier + data[at + len(identifier) :]
    assert _outcome(changed) in {"read", "refused"}


def _archive(name: str, text: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_archive("m/models/m.json", "[" * 100_000), "is not valid JSON"),
        (_archive("m/models/m.json", "{}"), "is not a graph of torch.export"),
        (
            _archive("m/models/m.json", '{"graph_module": {"graph": {"nodes": [{"target": 1}]}}}'),
            "is not a graph",
        ),
        (_archive("m/other.json", "{}"), "a zip archive without an exported graph"),
        (b"PK\x03\x04" + b"\0" * 60, "a damaged zip archive"),
    ],
)
def test_wrong_archives(data: bytes, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        _read(data)
    assert message in caught.value.message


def test_a_graph_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etfetch.program.exported._LARGEST", 1000)
    with pytest.raises(ModelError, match="a graph of more than 1000 bytes"):
        _read(_archive("m/models/m.json", " " * 100_000))


# The command


def test_inspect_as_json(world: World) -> None:
    path = str(MODELS / "b_mixed_xnnpack_plus_cumsum.pte")
    assert world.ok("inspect", "--json", path).json == {
        "models": [
            {
                "path": path,
                "format": "pte",
                "schema_version": 0,
                "external_data": False,
                "external_keys": [],
                "named_data": [
                    "dc98c368dc378c0704f387477aa7fa2fe35735f464a30ac51658da4458d48a77",
                    "81eeacd3f6160b522b7dc4a27a74b477c25a411d5167748d586144bfe044facb",
                ],
                "methods": {
                    "forward": {
                        "operators": ["aten::cumsum.out"],
                        "delegates": [{"id": "XnnpackBackend", "calls": 1, "size": 720}],
                    }
                },
            }
        ]
    }


def test_inspect_as_a_table(world: World) -> None:
    ran = world.ok(
        "inspect", str(MODELS / "i_linear_xnnpack_external_ptd.pte"), str(MODELS / "xnn_weights.ptd")
    )
    assert ran.out.splitlines()[:2] == [
        "method   needs     name            calls  size",
        "forward  delegate  XnnpackBackend  1      720 B",
    ]
    assert "pte, schema version 0, 1 method\n" in ran.err
    assert "note: its weights stand in another file, a `.ptd` with these keys:\n" in ran.err
    assert "ptd, schema version 0, 2 keys of data\n" in ran.err


def test_inspect_what_is_not_there(world: World) -> None:
    ran = world.run("inspect", "missing.pte")
    assert (ran.code, ran.err) == (2, "error: there is no model `missing.pte`\n")
    empty = world.project / "empty.pte"
    empty.write_bytes(b"")
    ran = world.run("inspect", "--json", str(empty))
    assert ran.code == 4
    assert ran.json["error"]["kind"] == "model"
    assert ran.json["error"]["message"].endswith("cannot be read as a model: byte 0: the file is empty")
