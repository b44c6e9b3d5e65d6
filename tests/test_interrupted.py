"""A kill at any instant of an install, and what the next install makes of it.

A child process runs the install with `durable`'s renames and syncs counted, and kills itself with SIGKILL at
the n-th. Which n there are is found by counting a whole run first, so no step can be forgotten.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from server_fixtures.release_server import Fault
from tests.world import REQUEST, World, snapshot

_COUNTER = """\
import os, pathlib, shutil, signal, sys
from etfetch import durable
from etfetch.__main__ import main

steps = 0

def counted(real, when):
    def call(*arguments, **named):
        global steps
        steps += 1
        mine = steps
        if mine == KILL_AT and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **named)
        if mine == KILL_AT and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

for owner, name in STEPS:
    setattr(owner, name, counted(getattr(owner, name), WHEN))
code = main(["install", "-q"])
print(steps)
sys.exit(code)
"""


_WRITES = '[(durable, "replace"), (durable, "fsync")]'
_THE_REST = (
    '[(pathlib.Path, "unlink"), (pathlib.Path, "mkdir"), (pathlib.Path, "rmdir"), (shutil, "rmtree"),'
    ' (os, "utime"), (os, "symlink")]'
)


def _run(world: World, kill_at: int, when: str, steps: str) -> subprocess.CompletedProcess[str]:
    script = _COUNTER.replace("KILL_AT", str(kill_at)).replace("WHEN", repr(when)).replace("STEPS", steps)
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=world.project,
        # One download at a time, so that step n is the same step in every run.
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "ETFETCH_JOBS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def _prepare(world: World, start: str) -> None:
    """The state before the install: nothing, a full cache, or an older version to be replaced."""
    if start == "cold":
        world.write()
        return
    world.write(REQUEST.replace('"fast"', '"fast", "slow"'))
    world.ok("install")
    world.write(REQUEST.replace("1.0.0", "1.1.0"))


# Slow, because it is a process and an install for every rename and sync there is.
@pytest.mark.parametrize(
    ("start", "when", "steps"),
    [
        ("cold", "before", _WRITES),
        ("cold", "after", _WRITES),
        ("upgrade", "before", _WRITES),
        ("upgrade", "after", _WRITES),
        ("upgrade", "before", _THE_REST),
    ],
)
def test_killed_at_every_step(world: World, start: str, when: str, steps: str, tmp_path: Path) -> None:
    _prepare(world, start)
    saved = tmp_path / "saved"
    shutil.copytree(world.project, saved / "project", symlinks=True)
    if world.cache.exists():
        shutil.copytree(world.cache, saved / "cache", symlinks=True)
    before = world.files()
    whole = _run(world, 0, when, steps)
    assert whole.returncode == 0, whole.stderr
    expected = world.files()
    count = int(whole.stdout)
    assert count > 15
    for step in range(1, count + 1):
        shutil.rmtree(world.project)
        shutil.rmtree(world.cache)
        _copy(saved, world)
        killed = _run(world, step, when, steps)
        assert killed.returncode == -signal.SIGKILL
        _check_half_done(world, before, expected)
        os.chdir(world.project)
        ran = world.run("install")
        assert ran.code == 0, f"step {step}: {ran.err}"
        assert world.files() == expected, f"step {step}"
        world.ok("verify", "--deep")
        _check_nothing_stray(world)


def _copy(saved: Path, world: World) -> None:
    # copy2 keeps times, so that the record still fits.
    shutil.copytree(saved / "project", world.project, symlinks=True)
    if (saved / "cache").exists():
        shutil.copytree(saved / "cache", world.cache, symlinks=True)


def _check_half_done(world: World, before: dict[str, bytes], expected: dict[str, bytes]) -> None:
    """What a kill leaves is the old tree, the new one, or one that does not pass `verify`."""
    os.chdir(world.project)
    if world.files() not in (before, expected):
        assert world.run("verify").code == 10


def _check_nothing_stray(world: World) -> None:
    own = {path.name for path in (world.destination / ".etfetch").iterdir()}
    assert own == {"installed.json", "lock"}
    assert {path.name for path in world.project.iterdir()} == {
        "etfetch.lock",
        "etfetch.toml",
        "manifests",
        "third-party",
    }


def test_an_interrupted_install_never_verifies(world: World) -> None:
    world.write()
    world.ok("install")
    (world.destination / ".etfetch/journal.json").write_text("{}")
    ran = world.run("verify")
    assert ran.code == 10
    assert "an install was interrupted and is not finished" in ran.err


def test_a_damaged_journal_is_named_and_nothing_else_happens(world: World) -> None:
    world.write()
    world.ok("install")
    before = world.files()
    (world.destination / ".etfetch/journal.json").write_text(
        '{"version": 2, "moves": ["../../escape"], "removes": [], "record": ""}'
    )
    ran = world.run("install")
    assert ran.code == 10
    assert "journal.json` is damaged: it holds an unsafe path" in ran.err
    assert world.files() == before


def test_a_journal_never_leads_outside(world: World, tmp_path: Path) -> None:
    # A repository may come with a journal and a symlink of its own.
    world.write()
    world.ok("install")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    (world.destination / "way").symlink_to(outside)
    record = (world.destination / ".etfetch/installed.json").read_text()
    journal = {"version": 2, "moves": [], "removes": ["way/precious"], "record": record}
    (world.destination / ".etfetch/journal.json").write_text(json.dumps(journal))
    ran = world.run("install")
    assert ran.code == 10
    assert "an interrupted install cannot be finished through symlinks" in ran.err
    assert (outside / "precious").read_text() == "mine"


def test_a_journal_takes_nothing_from_outside(world: World, tmp_path: Path) -> None:
    """Nor through a link in the place of a folder of staged files."""
    world.write()
    world.ok("install")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "0").write_text("mine")
    staging = world.destination / ".etfetch/staging"
    staging.mkdir()
    (staging / "0").symlink_to(outside)
    record = (world.destination / ".etfetch/installed.json").read_text()
    journal = {"version": 2, "moves": ["taken"], "removes": [], "record": record}
    (world.destination / ".etfetch/journal.json").write_text(json.dumps(journal))
    ran = world.run("install")
    assert ran.code == 10
    assert "an interrupted install cannot be finished through symlinks" in ran.err
    assert (outside / "0").read_text() == "mine"


def test_etfetchs_own_folder_is_no_symlink(world: World, tmp_path: Path) -> None:
    world.write()
    outside = tmp_path / "outside"
    outside.mkdir()
    world.destination.mkdir()
    (world.destination / ".etfetch").symlink_to(outside)
    assert world.run("install").code == 2
    assert list(outside.iterdir()) == []


def test_ctrl_c_is_130_and_leaves_nothing_half_done(world: World) -> None:
    def stall(*_: object) -> None:
        time.sleep(30)

    fault: Fault = stall
    world.server.faults["headers.tar.gz"] = [fault]
    world.write()
    process = world.spawn("install")
    while not world.server.asked_for("headers.tar.gz") and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not world.destination.exists()
    # What had arrived of the others may stay for the next time, and nothing else does.
    left = [name for name in snapshot(world.cache) if name.startswith("v1/partial/")]
    assert all(name.endswith((".part", ".json")) for name in left), left
    world.ok("install")
    assert [name for name in snapshot(world.cache) if name.startswith("v1/partial/")] == []
