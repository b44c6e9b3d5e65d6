"""The short cut: right whenever it speaks, silent whenever it is unsure, and light."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etfetch import __version__, uptodate
from tests.world import REQUEST, World

HEAVY = {"httpx", "rich", "argparse", "dataclasses", "packaging", "filelock", "tomllib", "typing"}


def _summary(world: World, *words: str) -> str | None:
    import os

    return uptodate.summary(["install", *words], os.environ, __version__)


def _imported(world: World, *words: str) -> set[str]:
    """The modules that a run of the program imports."""
    script = (
        "import sys; from etfetch.__main__ import main; code = main(sys.argv[1:]);"
        "sys.stderr.write('\\n'.join(sys.modules)); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script, *words],
        cwd=world.project,
        env={"PYTHONPATH": ":".join(sys.path), "ETFETCH_CACHE_DIR": str(world.cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in ran.stderr.split()}


def test_a_no_op_imports_next_to_nothing(world: World) -> None:
    world.write()
    world.ok("install")
    assert not HEAVY & _imported(world, "install")


def test_the_whole_path_of_a_no_op_imports_neither_httpx_nor_rich(world: World) -> None:
    world.write()
    world.ok("install")
    heavy = {"httpx", "rich", "filelock", "tenacity", "truststore", "concurrent", "ssl", "netrc"}
    assert not heavy & _imported(world, "install", "--json")


@pytest.mark.parametrize("words", [[], ["--locked"], ["--frozen", "-q"], ["--offline"]])
def test_neutral_words_take_it(world: World, words: list[str]) -> None:
    world.write()
    world.ok("install")
    assert _summary(world, *words) is not None


@pytest.mark.parametrize("words", [["--json"], ["-v"], ["--force"], ["--platform", "ios"], ["--dry-run"]])
def test_other_words_do_not(world: World, words: list[str]) -> None:
    world.write()
    world.ok("install")
    assert _summary(world, *words) is None


def _edit_file(world: World) -> None:
    (world.destination / "demo/include/demo/registry.h").write_text("x")


def _delete_file(world: World) -> None:
    (world.destination / "demo/include/demo/registry.h").unlink()


def _edit_request(world: World) -> None:
    world.write(REQUEST + "# more\n")


def _second_request(world: World) -> None:
    world.write('[tool.etfetch]\npackage = "demo"\n', "pyproject.toml")


def _edit_lock(world: World) -> None:
    world.lock.write_text(world.lock.read_text() + "\n")


def _journal(world: World) -> None:
    (world.destination / ".etfetch/journal.json").write_text("{}")


def _broken_record(world: World) -> None:
    (world.destination / ".etfetch/installed.json").write_text("[]")


def _other_platforms(world: World) -> None:
    world.setenv(ETFETCH_PLATFORMS="linux-aarch64")


def _skip_download(world: World) -> None:
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")


@pytest.mark.parametrize(
    "change",
    [
        _edit_file,
        _delete_file,
        _edit_request,
        _second_request,
        _edit_lock,
        _journal,
        _broken_record,
        _other_platforms,
        _skip_download,
    ],
)
def test_whatever_changes_takes_the_whole_path(world: World, change: Callable[[World], None]) -> None:
    world.write()
    world.ok("install")
    assert _summary(world) is not None
    change(world)
    assert _summary(world) is None


def test_a_request_from_flags_is_never_taken_for_the_project_files(world: World) -> None:
    world.write()
    world.ok("install", "--platform", "linux-aarch64")
    assert _summary(world) is None


def test_another_version_of_etfetch_looks_again(world: World) -> None:
    world.write()
    world.ok("install")
    assert uptodate.summary(["install"], {}, "999") is None


def test_it_works_from_a_folder_below(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write()
    world.ok("install")
    below = world.project / "android"
    below.mkdir()
    monkeypatch.chdir(below)
    assert _summary(world) == "nothing to do: demo 1.0.0 is installed in `../third-party` (7 files)"


def test_another_destination(world: World) -> None:
    world.write(REQUEST + 'destination = "native/libs"\n')
    world.ok("install")
    assert _summary(world) is not None


def test_no_project_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert uptodate.summary(["install"], {}, __version__) is None
    assert uptodate.summary([], {}, __version__) is None
    assert uptodate.summary(["lock"], {}, __version__) is None
