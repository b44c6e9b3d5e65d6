"""`etfetch check` and `etfetch explain`: verdicts, words, the command that repairs, exit codes."""

from __future__ import annotations

import json
import re

import pytest

from etfetch import cli, runtime_errors, shelf, verdicts
from etfetch.cache import Cache
from etfetch.needs import Provided
from etfetch.program import Delegate, Method, Model
from etfetch.verdicts import Registered
from tests.demo_models import MODELS
from tests.world import World

MIXED = "b_mixed_xnnpack_plus_cumsum.pte"
REQUEST = 'version = "1.5.1"\nplatforms = ["linux-x86_64"]\n'


@pytest.fixture
def locked(world: World) -> World:
    """A world that knows the carried manifests; locking a wheel asks nobody."""
    world.chdir(world.root)
    return world


def _check(world: World, request: str, *models: str, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
    world.write(REQUEST + request)
    world.ok("lock")
    ran = world.run("check", *words, *(str(MODELS / model) for model in models))
    return ran.code, ran.out.replace(f"{MODELS}/", ""), ran.err.replace(f"{MODELS}/", "")


def test_what_runs(locked: World) -> None:
    request = 'backends = ["xnnpack"]\nkernels = ["optimized"]\n'
    code, out, err = _check(locked, request, MIXED)
    assert code == 0
    assert [re.split("  +", line) for line in out.splitlines()] == [
        [MIXED],
        ["platform", "method", "verdict", "needs", "given by"],
        ["linux-x86_64", "forward", "runs", "XnnpackBackend", "backend_xnnpack"],
        ["", "aten::cumsum.out", "kernels_optimized"],
    ]
    assert err == "everything runs with executorch 1.5.1 as it is locked\n"


def test_what_is_missing_and_how_to_add_it(locked: World) -> None:
    models = (MIXED, "c_linear_quantized_decomposed.pte")
    code, out, err = _check(locked, "", *models)
    assert code == 11
    assert re.search(r"forward  FAILS 0x20  XnnpackBackend +nothing\n +aten::cumsum.out +nothing\n", out)
    assert "FAILS 0x14" in out
    assert "0x20 NotFound: when a method is loaded: a backend that the program was lowered to is not" in err
    assert err.endswith("hint: run `etfetch add xnnpack optimized quantized`, then `etfetch install`\n")
    code, _, _ = _check(locked, 'backends = ["xnnpack"]\nkernels = ["optimized", "quantized"]\n', *models)
    assert code == 0


def test_as_json(locked: World) -> None:
    code, out, _ = _check(locked, "", MIXED, words=("--json",))
    assert code == 11
    assert json.loads(out) == {
        "verdicts": [
            {
                "model": MIXED,
                "platform": "linux-x86_64",
                "method": "forward",
                "runs": False,
                "given_by": {},
                "missing_delegates": ["XnnpackBackend"],
                "missing_operators": ["aten::cumsum.out"],
                "error": "0x20",
                "fix": "etfetch add xnnpack optimized",
            }
        ]
    }


@pytest.mark.parametrize(
    ("model", "name", "where"),
    [
        (
            "e_torchao_linear_8bit_act_4bit_weight.pte",
            "torchao::_linear_8bit_act_4bit_weight.out",
            "`kernels_torchao` of executorch 1.5.1 gives it on macos-arm64",
        ),
        (
            "d_llama_custom_sdpa_update_cache.pte",
            "llama::custom_sdpa.out`, `llama::update_cache.out",
            "`kernels_llm` of executorch 1.4.1 gives it on macos-arm64, ios, ios-simulator",
        ),
        (
            "g_linear_coreml.pte",
            "CoreMLBackend",
            "`backend_coreml` of executorch 1.5.1 gives it on macos-arm64",
        ),
    ],
)
def test_what_this_platform_does_not_have(locked: World, model: str, name: str, where: str) -> None:
    code, _, err = _check(locked, 'kernels = ["optimized"]\n', model)
    assert code == 11
    assert f"  nothing of executorch 1.5.1 gives `{name}` on linux-x86_64; {where}\n" in err
    assert "etfetch add" not in err


@pytest.mark.parametrize("declared", ["myco::*", "myco::mul3.out"])
def test_the_apps_own_operators(locked: World, declared: str) -> None:
    model = "i_custom_namespace_myco.pte"
    code, out, err = _check(locked, 'kernels = ["optimized"]\n', model)
    assert (code, "FAILS 0x14  myco::mul3.out" in out) == (11, True)
    assert err.endswith(
        "hint: what the app registers itself stands in `provided-operators` or `provided-delegates`; "
        "else export for another backend, or judge fewer platforms with `--platform`\n"
    )
    code, _, _ = _check(locked, f'kernels = ["optimized"]\nprovided-operators = ["{declared}"]\n', model)
    assert code == 0


def test_an_operator_that_the_app_and_a_library_register(locked: World) -> None:
    request = 'kernels = ["optimized"]\nprovided-operators = ["aten::add.out"]\n'
    code, out, err = _check(locked, request, "a_add_portable.pte")
    assert code == 11
    assert "FAILS 0x16  aten::add.out" in out
    assert "0x16 RegistrationAlreadyRegistered: two linked libraries register the same operator" in err


def test_many_operators_of_one_component_share_a_line(locked: World) -> None:
    request = 'backends = ["xnnpack"]\nkernels = ["optimized"]\n'
    code, out, _ = _check(locked, request, "d_tinyllama_xnnpack_customops.pte")
    assert code == 11
    assert [re.split("  +", line)[-2:] for line in out.splitlines()[2:7]] == [
        ["llama::custom_sdpa.out", "nothing"],
        ["llama::update_cache.out", "nothing"],
        ["XnnpackBackend", "backend_xnnpack"],
        ["4 operators", "executorch"],
        ["5 operators", "kernels_optimized"],
    ]


def test_a_backend_of_the_app(locked: World) -> None:
    request = 'kernels = ["optimized"]\nprovided-delegates = ["XnnpackBackend"]\n'
    code, out, _ = _check(locked, request, MIXED)
    assert (code, bool(re.search(r"runs +XnnpackBackend +the app\n", out))) == (0, True)


def test_weights_in_another_file(locked: World) -> None:
    request = 'backends = ["xnnpack"]\n'
    model, data = "i_linear_xnnpack_external_ptd.pte", "xnn_weights.ptd"
    code, _, err = _check(locked, request, model)
    assert code == 0
    assert f"note: `{model}` needs a `.ptd` beside it; it has to hold 2 keys:\n" in err
    _, _, err = _check(locked, request, model, data)
    assert "note:" not in err


@pytest.mark.parametrize(
    ("models", "words", "code", "message"),
    [
        (("xnn_weights.ptd",), (), 2, "error: none of these files is a program\n"),
        (
            ("p_cnn_split.pt2",),
            (),
            4,
            "error: `p_cnn_split.pt2` is an exported graph: what it needs is decided",
        ),
        (("a_add_portable.pte",), ("--platform", "ios"), 2, "error: the lock is not for `ios`\n"),
        (
            ("malformed/wrong_magic.pte",),
            (),
            4,
            "error: `malformed/wrong_magic.pte` cannot be read as a model: byte 4",
        ),
    ],
)
def test_what_cannot_be_checked(
    locked: World, models: tuple[str, ...], words: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = _check(locked, "", *models, words=words)
    assert (found, out) == (code, "")
    assert err.startswith(message)


def test_without_a_lock(locked: World) -> None:
    locked.write(REQUEST)
    ran = locked.run("check", str(MODELS / "a_add_portable.pte"))
    assert ran.code == 3
    assert ran.err.startswith("error: there is no `etfetch.lock`\n")


def test_another_schema() -> None:
    model = Model("pte", "ET12", 1, (Method("forward", (("aten::add.out", 1),)),))
    there = Registered({}, {"aten::add.out": "kernels"}, Provided())

    class Nothing:
        def repair(self, *_: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
            return (), ()

    [verdict] = verdicts.judge("m", model, "ios", there, Nothing())  # type: ignore[arg-type]
    assert verdict.error == "0x23"
    assert cli._verdict_rows(verdict) == [
        ("ios", "forward", "FAILS 0x23", "schema version 1", "no runtime: they read 0"),
        ("", "", "", "aten::add.out", "kernels"),
    ]


def test_backends_are_asked_for_first() -> None:
    method = Method("forward", (("aten::add.out", 1),), (Delegate("XnnpackBackend", 1, 1),))
    model = Model("pte", "ET12", 0, (method,))

    class Nothing:
        def repair(self, *_: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
            return (), ()

    backend, operator, nothing = {"XnnpackBackend"}, {"aten::add.out"}, set[str]()
    for delegates, operators, error in [
        (nothing, nothing, "0x20"),
        (backend, nothing, "0x14"),
        (nothing, operator, "0x20"),
        (backend, operator, None),
    ]:
        there = Registered(dict.fromkeys(delegates, "b"), dict.fromkeys(operators, "k"), Provided())
        [verdict] = verdicts.judge("m", model, "ios", there, Nothing())  # type: ignore[arg-type]
        assert verdict.error == error


@pytest.mark.parametrize(
    "word",
    ["0x14", "0X14", "0x00000014", "20", "OperatorMissing", "operatormissing", "Error::OperatorMissing"],
)
def test_explain(world: World, word: str) -> None:
    ran = world.ok("explain", word)
    assert ran.out == (
        "0x14 (20) OperatorMissing\n"
        "  the program calls an operator that no linked library registers: a kernels library is not "
        "installed, not linked, or was dropped by the linker because nothing refers to it\n"
        "  the runtime prints: kernel 'aten::addmm.out' not found. … Missing operator: [1] aten::addmm.out\n"
    )
    assert ran.err == "hint: run `etfetch check MODEL`\n"


def test_every_error_is_explained(world: World) -> None:
    assert len({error.code for error in runtime_errors.ERRORS}) == len(runtime_errors.ERRORS) == 21
    for error in runtime_errors.ERRORS:
        assert world.ok("explain", error.hexadecimal).out.startswith(f"{error.hexadecimal} ({error.code})")


def test_no_such_error(world: World) -> None:
    ran = world.run("explain", "OperatorMising")
    assert ran.code == 2
    assert ran.err.startswith(
        "error: ExecuTorch has no error `OperatorMising`; did you mean `OperatorMissing`?\n"
    )


def test_a_graph_for_metal(world: World) -> None:
    path = str(MODELS / "p_cnn_split.pt2")
    ran = world.run("check", path, "--backend", "metal")
    assert ran.code == 11
    rows = [line.split(maxsplit=2) for line in ran.out.splitlines()[1:]]
    states = {row[0]: row[2] for row in rows}
    assert states["aten::split.Tensor"].startswith(
        "known to fail  `aten::split_copy.Tensor` was missing in 1.3.1: YOLO11n"
    )
    assert states["aten::linear.default"].startswith(
        "known to fail  `aoti_torch_mps_addmm_out` was missing in 1.3.1"
    )
    assert (
        states["aten::conv2d.default"]
        == "covered        `aoti_torch_mps_convolution` is in the list of 1.4.1"
    )
    assert states["aten::relu.default"].startswith("not known      no entry; it needs none if")
    assert [row[0] for row in rows][:2] == ["aten::linear.default", "aten::split.Tensor"]
    assert ran.err.startswith(f"`{path}` for Metal, by the list of ExecuTorch 1.4.1:\n")
    assert ran.err.endswith(
        "the export fails with `missing fallback kernels` for what is known to fail\n"
        "hint: lower to `coreml`, `mps` or (on macOS) `mlx`, or leave these operators to the CPU\n"
    )


def test_the_list_is_that_of_the_locked_release(locked: World) -> None:
    locked.write('version = "1.2.0"\nplatforms = ["ios"]\n')
    locked.ok("lock")
    ran = locked.run("check", "--json", str(MODELS / "p_cnn_split.pt2"), "--backend", "metal")
    assert ran.code == 11
    [graph] = ran.json["graphs"]
    assert graph["version"] == "1.2.0"
    assert {answer["state"] for answer in graph["answers"]} == {"covered", "known to fail", "not known"}


def test_metal_is_asked_of_named_graphs(world: World) -> None:
    # Once it said "nothing is known to fail" of nothing.
    ran = world.run("check", "--backend", "metal")
    assert ran.code == 2
    assert ran.err == (
        "error: no exported graph is named\nhint: run `etfetch check MODEL.pt2 --backend metal`\n"
    )


def test_metal_is_asked_of_graphs_alone(world: World) -> None:
    ran = world.run("check", str(MODELS / "a_add_portable.pte"), "--backend", "metal")
    assert ran.code == 4
    assert "is a program already: what a backend could be given was decided at its export" in ran.err


def test_what_is_built_in_counts(locked: World) -> None:
    """Android's archive of ExecuTorch 1.0.0 is one library with its kernels and a backend inside."""
    artifacts = shelf.load().manifest("executorch", "1.0.0").artifacts
    for artifact in artifacts:
        # Its digest is published beside it; here somebody has asked for it before.
        Cache(locked.cache).remember_digest(artifact.source, "0" * 64)
    locked.setenv(ETFETCH_OFFLINE="1")
    locked.write('version = "1.0.0"\nplatforms = ["android-arm64-v8a"]\nbackends = ["xnnpack"]\n')
    locked.ok("lock")
    ran = locked.ok("check", str(MODELS / MIXED))
    assert "everything runs with executorch 1.0.0 as it is locked" in ran.err


def test_a_release_of_which_nobody_has_listed_the_operators(locked: World) -> None:
    request = (
        'package = "react-native-executorch"\nversion = "0.9.2"\nplatforms = ["android-arm64-v8a", "ios"]\n'
    )
    locked.write(request)
    locked.ok("lock")
    ran = locked.run("check", str(MODELS / MIXED), str(MODELS / "g_linear_coreml.pte"))
    assert ran.code == 11
    verdicts_ = [line.split()[-3:] for line in ran.out.splitlines() if "FAILS" in line]
    assert verdicts_ == [["0x20", "CoreMLBackend", "nothing"]]
    assert re.search(r"aten::cumsum.out +not known\n", ran.out)
    assert (
        "note: nobody has listed the operators of react-native-executorch 0.9.2: only backends are judged\n"
    ) in ran.err
