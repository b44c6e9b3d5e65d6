"""Models decide what is installed: what they bring, when a lock is stale, what may be missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from etfetch import digest, uptodate
from etfetch.lockfile import parse
from tests import demo_models
from tests.apps import KEY, NAME, App, flags, write_package
from tests.demo_models import MODELS
from tests.test_modelfile import POINTER
from tests.test_uptodate import _summary
from tests.world import World

REQUEST = (
    'package = "demo"\nversion = "==1.0.0"\nplatforms = ["linux-x86_64"]\nmodels = ["assets/**/*.pte"]\n'
)
ADDS, DELEGATES = demo_models.adds(), demo_models.delegates()


@pytest.fixture
def demo(world: World) -> World:
    """A project with one model, whose operator two kernels libraries register."""
    world.write(REQUEST)
    _put(world, "add", ADDS)
    return world


def _put(world: World, name: str, data: bytes) -> Path:
    path = world.project / f"assets/{name}.pte"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def _components(world: World) -> set[str]:
    return {c.name for c in parse(world.lock.read_text()).components} - {"runtime", "headers"}


# What is installed


def test_what_a_model_needs_and_nothing_else(demo: World) -> None:
    demo.ok("install")
    assert _components(demo) == {"kernels_plain"}
    libraries = {Path(name).name for name in demo.files() if "/lib/" in name}
    assert libraries == {"libruntime.a", "libkernels_plain.a"}


def test_the_lock_records_what_each_needed(demo: World) -> None:
    _put(demo, "more", DELEGATES)
    demo.ok("install")
    lock = parse(demo.lock.read_text())
    assert lock.version == 2
    assert [(m.path, m.sha256, m.delegates, m.operators) for m in lock.models] == [
        ("assets/add.pte", digest.of_bytes(ADDS), (), ("demo::add.out",)),
        ("assets/more.pte", digest.of_bytes(DELEGATES), ("FastBackend",), ("demo::mul.out",)),
    ]
    assert _components(demo) == {"backend_fast", "kernels_plain"}


def test_why(demo: World) -> None:
    _put(demo, "more", DELEGATES)
    demo.ok("install")
    assert demo.ok("why", "plain").out.splitlines()[1:3] == [
        "  needed by `assets/add.pte`",
        "  needed by `assets/more.pte`",
    ]


def test_what_is_asked_for_by_name_is_not_chosen_again(demo: World) -> None:
    demo.write(REQUEST + 'kernels = ["quick"]\n')
    demo.ok("install")
    assert _components(demo) == {"kernels_quick"}
    assert "  needed by `assets/add.pte`\n" in demo.ok("why", "quick").out


def test_model_flags_in_an_empty_folder(world: World) -> None:
    # What the flag names stands in the lock, so that a plain install is the same.
    world.chdir(world.root)
    (world.root / "a [1].pte").write_bytes((MODELS / "b_linear_xnnpack.pte").read_bytes())
    world.ok("lock", "--model", "a [1].pte", "--platform", "linux-x86_64")
    lock = parse(world.lock.read_text())
    assert (lock.request.package, lock.request.version) == ("executorch", "")
    assert lock.request.models == ("a [[]1].pte",)
    assert {c.name for c in lock.components} == {"executorch", "backend_xnnpack", "threadpool"}
    before = world.lock.read_bytes()
    world.ok("lock")
    assert world.lock.read_bytes() == before


def test_a_model_flag_through_a_link(world: World) -> None:
    world.chdir(world.root)
    (world.root / "a.pte").write_bytes((MODELS / "b_linear_xnnpack.pte").read_bytes())
    link = world.root.with_name("linked")
    link.symlink_to(world.root)
    world.ok("lock", "--model", str(link / "a.pte"), "--platform", "linux-x86_64")
    assert parse(world.lock.read_text()).request.models == ("a.pte",)


def test_model_flags_beside_a_project_file(demo: World) -> None:
    elsewhere = demo.root / "other.pte"
    elsewhere.write_bytes(DELEGATES)
    demo.ok("install", "--model", str(elsewhere))
    assert parse(demo.lock.read_text()).request.models == ("../other.pte", "assets/**/*.pte")
    assert _components(demo) == {"backend_fast", "kernels_plain"}


def test_where_a_model_cannot_load_is_a_notice(demo: World) -> None:
    demo.write(REQUEST.replace('["linux-x86_64"]', '["linux-x86_64", "macos-arm64", "ios"]'))
    _put(demo, "more", DELEGATES)
    ran = demo.ok("lock")
    assert ran.err.startswith(
        "note: ios, macos-arm64: `assets/add.pte` cannot load there: nothing gives `demo::add.out`\n"
        "note: ios, macos-arm64: `assets/more.pte` cannot load there: nothing gives `FastBackend`, "
        "`demo::mul.out`\n"
    )
    on = {c.name: c.platforms for c in parse(demo.lock.read_text()).components}
    assert on["kernels_plain"] == on["backend_fast"] == ("linux-x86_64",)


def test_a_model_that_cannot_load_somewhere_brings_nothing_there(demo: World) -> None:
    # Android has the runtime of one backend; kernels alone would be dead weight.
    demo.write(REQUEST.replace('["linux-x86_64"]', '["linux-x86_64", "android-arm64-v8a"]'))
    _put(demo, "add", demo_models.delegates("SlowBackend", "demo::add"))
    demo.ok("lock")
    on = {c.name: c.platforms for c in parse(demo.lock.read_text()).components}
    assert on["backend_slow"] == on["kernels_plain"] == ("linux-x86_64",)
    assert "android-arm64-v8a" in on["runtime"]


def test_data_needs_nothing(demo: World) -> None:
    demo.write(REQUEST.replace("*.pte", "*"))
    (demo.project / "assets/weights.ptd").write_bytes((MODELS / "xnn_weights.ptd").read_bytes())
    demo.ok("install")
    assert [model.path for model in parse(demo.lock.read_text()).models] == ["assets/add.pte"]


def test_what_the_app_brings_itself(demo: World) -> None:
    _put(demo, "own", demo_models.delegates("MyBackend", "myco::mul"))
    ran = demo.run("install")
    assert ran.code == 7
    demo.write(REQUEST + 'provided-operators = ["myco::*"]\nprovided-delegates = ["MyBackend"]\n')
    demo.ok("install")
    assert _components(demo) == {"kernels_plain"}
    assert demo.run("check").code == 0


# When a lock is stale


def test_a_model_that_needs_more_makes_the_lock_stale(demo: World) -> None:
    demo.ok("install")
    before, asked = demo.lock.read_bytes(), len(demo.server.requests)
    _put(demo, "add", DELEGATES)
    for words in (["install", "--locked"], ["lock", "--check"]):
        ran = demo.run(*words)
        assert ran.code == 3
        assert ran.err == (
            "error: `etfetch.lock` does not answer the request any more\n"
            "  assets/add.pte: now needs the delegate FastBackend\n"
            "  assets/add.pte: now needs the operator demo::mul.out\n"
            "  assets/add.pte: no longer needs the operator demo::add.out\n"
            "hint: run `etfetch lock`, and commit `etfetch.lock`\n"
        )
    demo.setenv(CI="1")
    assert demo.run("install").code == 3
    demo.delenv("CI")
    assert (demo.lock.read_bytes(), len(demo.server.requests)) == (before, asked)
    demo.ok("install")
    assert _components(demo) == {"backend_fast", "kernels_plain"}
    demo.ok("lock", "--check")


def test_a_new_model_makes_it_stale(demo: World) -> None:
    demo.ok("install")
    _put(demo, "more", DELEGATES)
    ran = demo.run("install", "--locked")
    assert (ran.code, "  models: + assets/more.pte\n" in ran.err) == (3, True)


def test_a_model_that_needs_the_same_does_not(demo: World) -> None:
    demo.ok("install")
    before = demo.lock.read_text()
    changed = ADDS + b"\0"
    _put(demo, "add", changed)
    demo.ok("install", "--locked")
    demo.ok("lock", "--check")
    assert demo.lock.read_text() == before
    assert _summary(demo) is None
    # Where the lock may be written, it says which file it was made for.
    demo.ok("install")
    assert demo.lock.read_text() == before.replace(digest.of_bytes(ADDS), digest.of_bytes(changed))


@pytest.mark.parametrize("command", ["install", "lock"])
def test_the_release_stays_when_only_models_changed(demo: World, command: str) -> None:
    newer = demo.project / "manifests/demo/1.1.0.toml"
    kept = newer.read_bytes()
    newer.unlink()
    demo.write(REQUEST.replace("==1.0.0", ">=1"))
    demo.ok("lock")
    newer.write_bytes(kept)
    _put(demo, "add", DELEGATES)
    demo.ok(command)
    assert parse(demo.lock.read_text()).release == "1.0.0"
    assert "backend_fast" in _components(demo)
    demo.ok("lock", "--upgrade")
    assert parse(demo.lock.read_text()).release == "1.1.0"


def test_frozen_does_not_look_at_models(demo: World) -> None:
    demo.ok("lock")
    (demo.project / "assets/add.pte").write_bytes(b"broken")
    demo.ok("install", "--frozen")
    assert _summary(demo) is None
    assert demo.run("install").code == 4


# The short cut


def test_a_second_install_takes_the_short_cut(demo: World) -> None:
    demo.ok("install")
    assert _summary(demo) is not None


def test_what_changes_models_ends_the_short_cut(demo: World) -> None:
    demo.ok("install")
    model = demo.project / "assets/add.pte"
    again = model.with_suffix(".old")

    def seen(change: str) -> None:
        assert _summary(demo) is None, change
        demo.ok("install")
        assert _summary(demo) is not None, change

    os.utime(model, ns=(1, 1))
    seen("another time")
    _put(demo, "add", ADDS + b"\0")
    seen("another size")
    (demo.project / "assets/new").mkdir()
    seen("a new folder")
    (demo.project / "assets/new/more.pte").write_bytes(ADDS)
    seen("a new model in it")
    model.rename(again)
    seen("a model that went away")


def test_a_named_model_that_appears_ends_it(demo: World) -> None:
    demo.write(REQUEST.replace("**/*.pte", "add.pte"))
    demo.ok("install")
    model = demo.project / "assets/add.pte"
    model.unlink()
    demo.ok("install")
    assert _summary(demo) is not None
    _put(demo, "add", DELEGATES)
    assert _summary(demo) is None


def test_another_pattern_ends_the_short_cut(demo: World) -> None:
    demo.ok("install")
    demo.write(REQUEST.replace("**/", ""))
    assert _summary(demo) is None


def test_no_models_no_watch(world: World) -> None:
    world.write(REQUEST.replace("models", "# models"))
    world.ok("install")
    record = json.loads((world.destination / uptodate.RECORD).read_text())
    assert "watch" not in record


# What is not here


def test_a_model_that_is_not_here_counts_as_the_lock_says(demo: World) -> None:
    _put(demo, "more", DELEGATES)
    demo.ok("install")
    before = demo.lock.read_bytes()
    (demo.project / "assets/more.pte").unlink()
    note = "`assets/more.pte` is not here: what the lock recorded of it counts (`etfetch lock` forgets it)"
    assert f"note: {note}\n" in demo.ok("install").err
    assert demo.ok("install", "--locked", "--json").json["notices"] == [note]
    assert demo.lock.read_bytes() == before
    (demo.project / "assets/add.pte").unlink()
    demo.ok("install", "--locked")
    assert demo.lock.read_bytes() == before
    _put(demo, "add", ADDS)
    demo.ok("lock")
    assert _components(demo) == {"kernels_plain"}


def test_a_pattern_that_nothing_matches(demo: World) -> None:
    (demo.project / "assets/add.pte").unlink()
    ran = demo.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: etfetch.toml:4: models: no file matches `assets/**/*.pte`\n"
        f"  looked in {demo.project}\n"
        "hint: correct `models`\n"
    )
    assert demo.server.requests == []


def test_a_model_flag_that_names_no_file(world: World) -> None:
    world.chdir(world.root)
    ran = world.run("install", "--model", "nope.pte", "--platform", "linux-x86_64")
    assert ran.code == 2
    assert ran.err == (
        "error: the command line: no file matches `nope.pte`\n"
        f"  looked in {world.root}\n"
        "hint: name another file with `--model`\n"
    )


def test_a_lock_is_no_help_for_a_new_pattern(demo: World) -> None:
    demo.ok("install")
    demo.write(REQUEST.replace("assets", "missing"))
    ran = demo.run("install")
    assert ran.code == 2
    assert ran.err.endswith("hint: correct `models`; `etfetch install --frozen` takes the lock as it is\n")


def test_a_pointer_of_git_lfs_stands_for_the_model(demo: World) -> None:
    demo.ok("install")
    before = demo.lock.read_bytes()
    _put(demo, "add", POINTER.format(digest.of_bytes(ADDS)).encode())
    demo.ok("install", "--locked")
    demo.ok("install")
    demo.ok("lock", "--check")
    demo.ok("lock")
    assert demo.lock.read_bytes() == before


def test_a_pointer_to_another_model_is_an_error(demo: World) -> None:
    demo.ok("install")
    pointer = _put(demo, "add", POINTER.format("0" * 64).encode())
    ran = demo.run("install", "--locked")
    assert ran.code == 4
    assert ran.err == (
        f"error: `{pointer}` cannot be read as a model: byte 0: a pointer of Git LFS stands in place of the "
        "model\nhint: run `git lfs pull`\n"
    )


# How it fails


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            demo_models.delegates("XnnpackBackend", "demo::add"),
            "`assets/add.pte` needs `XnnpackBackend`, not to be had on linux-x86_64; `backend_xnnpack` of ex",
        ),
        (
            demo_models.adds("demo::sin"),
            "`assets/add.pte` needs `demo::sin.out`, not to be had on linux-x86_64; no known release has it",
        ),
    ],
)
def test_what_cannot_be_had(demo: World, data: bytes, message: str) -> None:
    _put(demo, "add", data)
    ran = demo.run("install")
    assert ran.code == 7
    assert ran.err.startswith("error: demo 1.0.0 does not give what is asked for\n")
    assert f"  {message}" in ran.err
    assert (
        "hint: what the app registers itself stands in `provided-operators` or `provided-delegates`"
        in ran.err
    )
    assert not demo.lock.exists()
    assert demo.server.requests == []


def test_what_conflicts_with_what_is_asked_for(demo: World) -> None:
    _put(demo, "add", demo_models.adds("demo::mul"))
    demo.write(REQUEST + 'kernels = ["quick"]\n')
    ran = demo.run("install")
    assert ran.code == 7
    assert (
        "  `assets/add.pte` needs `demo::mul.out`, not to be had on linux-x86_64; `plain` gives it and "
        "conflicts with `quick`, which is asked for\n"
    ) in ran.err


def test_what_is_no_program(demo: World) -> None:
    model = _put(demo, "add", (MODELS / "p_cnn_split.pt2").read_bytes())
    ran = demo.run("install")
    assert ran.code == 4
    assert ran.err == (
        "error: `assets/add.pte` is an exported graph: what it needs is decided when it becomes a program\n"
        "hint: export it to a `.pte` and name that; for Metal: `etfetch check --backend metal`\n"
    )
    model.write_bytes(b"")
    ran = demo.run("install")
    assert ran.code == 4
    assert ran.err == f"error: `{model}` cannot be read as a model: byte 0: the file is empty\n"


# The other commands


def test_check_takes_the_models_of_the_project(demo: World) -> None:
    demo.ok("install")
    ran = demo.ok("check")
    assert ran.out.startswith("assets/add.pte\nplatform      method   verdict  needs          given by\n")
    assert "\nlinux-x86_64  forward  runs     demo::add.out  kernels_plain\n" in ran.out
    _put(demo, "more", DELEGATES)
    ran = demo.run("check")
    assert ran.code == 11
    assert "\nlinux-x86_64  forward  FAILS 0x20  FastBackend    nothing\n" in ran.out


def test_check_without_any_model(world: World) -> None:
    world.write()
    world.ok("lock")
    ran = world.run("check")
    assert ran.code == 2
    assert ran.err == (
        "error: no model is named, neither here nor in the project file\n"
        "hint: run `etfetch check MODEL.pte`, or write `models = [...]` into the project file\n"
    )


def test_add_and_remove_beside_models(demo: World) -> None:
    demo.ok("add", "fast")
    demo.ok("install")
    assert _components(demo) == {"backend_fast", "kernels_plain"}
    demo.ok("remove", "fast")
    demo.ok("install")
    assert _components(demo) == {"kernels_plain"}
    _put(demo, "more", DELEGATES)
    ran = demo.run("add", "quick")
    assert ran.code == 7
    assert "`plain` gives it and conflicts with `quick`, which is asked for" in ran.err


# Libraries


def test_the_models_of_an_app(app: App) -> None:
    (app.folder / "assets").mkdir()
    model = app.folder / "assets/m.pte"
    model.write_bytes((MODELS / "b_linear_xnnpack.pte").read_bytes())
    app.choose({"models": ["assets/*.pte"]})
    ran = app.install()
    lock = parse(app.lock.read_text())
    assert [(m.path, m.delegates) for m in lock.models] == [("assets/m.pte", ("XnnpackBackend",))]
    assert app.build_config == flags("xnnpack")
    assert "nobody has listed" not in ran.err
    assert _summary(app.world) is not None
    model.write_bytes((MODELS / "f_linear_vulkan.pte").read_bytes())
    assert _summary(app.world) is None
    app.install()
    assert app.build_config == flags("vulkan")
    model.write_bytes((MODELS / "b_mixed_xnnpack_plus_cumsum.pte").read_bytes())
    assert "note: nobody has listed the operators of react-native-executorch 0.10.0: " in app.install().err


def test_the_models_of_an_app_in_a_workspace(app: App) -> None:
    root, mobile = app.folder, app.folder / "apps/mobile"
    write_package(root, workspaces=["apps/*"])
    write_package(mobile, dependencies={NAME: "*"}, **{KEY: {"models": ["assets/*.pte"]}})
    write_package(root / "apps/other", dependencies={NAME: "*"}, **{KEY: {"backends": ["vulkan"]}})
    (mobile / "assets").mkdir()
    (mobile / "assets/m.pte").write_bytes((MODELS / "b_linear_xnnpack.pte").read_bytes())
    app.install()
    lock = parse(app.lock.read_text())
    assert lock.request.models == ("apps/mobile/assets/*.pte",)
    assert lock.models[0].path == "apps/mobile/assets/m.pte"
    assert app.build_config == flags("xnnpack", "vulkan")


def test_a_library_has_no_models_of_its_own(app: App) -> None:
    file = app.library / "etfetch.toml"
    file.write_text('models = ["*.pte"]\n' + file.read_text())
    ran = app.world.run("install")
    assert ran.code == 2
    assert "etfetch.toml:1: models: belongs to the app, whose block names its models" in ran.err
