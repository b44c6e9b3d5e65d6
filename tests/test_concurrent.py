"""Several installs at once: one cache or one project, each artifact downloaded once, all end well."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from etfetch import copying
from etfetch.cache import Cache, Usage, hold
from etfetch.installer import Applied
from etfetch.operations import installing
from tests.world import REQUEST, World

EIGHT = 8


def test_eight_installs_in_one_project(world: World) -> None:
    world.write(REQUEST.replace('"fast"', '"fast", "slow"'))
    running = [world.spawn("install", "--json") for _ in range(EIGHT)]
    results = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * EIGHT, results
    assert _downloads(world) == {"backend_fast": 1, "backend_slow": 1, "headers": 1, "runtime": 1}
    statuses = Counter(json.loads(out)["status"] for out, _ in results)
    assert statuses["installed"] >= 1
    world.ok("verify", "--deep")


def test_eight_installs_in_eight_projects(world: World) -> None:
    world.write()
    projects = []
    for number in range(EIGHT):
        project = world.root / f"project {number}"
        shutil.copytree(world.project, project)
        projects.append(project)
    running = [world.spawn("install", "-q", "--project", str(project)) for project in projects]
    results = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * EIGHT, results
    assert _downloads(world) == {"backend_fast": 1, "headers": 1, "runtime": 1}
    trees = [world.files(project / "third-party") for project in projects]
    assert all(tree == trees[0] and tree for tree in trees)
    assert len({(project / "etfetch.lock").read_bytes() for project in projects}) == 1


@pytest.mark.parametrize("moment", ["before unpacking", "before placing", "while placing"])
def test_a_cache_cleaned_under_an_install(world: World, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write()
    owner, name = {
        "before unpacking": (installing, "_unpack"),
        "before placing": (installing, "_apply"),
        "while placing": (copying, "copy"),
    }[moment]
    monkeypatch.setattr(copying, "clone", lambda *_: False)
    real: Any = getattr(owner, name)
    cleaned: list[Usage] = []
    # Archives are unpacked in several threads; two that clean at once would share what there is.
    one_at_a_time = threading.Lock()

    def clean_once(*arguments: object, **named: object) -> object:
        with one_at_a_time:
            if not cleaned:
                cleaned.append(Cache(world.cache).clean())
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, clean_once)
    world.ok("install")
    assert cleaned
    # The first archive is unpacked while the others are still on their way.
    assert cleaned[0].entries >= (1 if moment == "before unpacking" else 3)
    world.ok("verify", "--deep")


def test_a_cache_that_is_always_cleaned_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = installing._apply

    def clean(*arguments: Any, **named: Any) -> Applied:  # noqa: ANN401  # passed on as they are
        Cache(world.cache).clean()
        arguments[0].cache.forget()
        return real(*arguments, **named)

    world.write()
    monkeypatch.setattr(installing, "_apply", clean)
    ran = world.run("install")
    assert ran.code == 4
    assert "vanished from the cache while it was being installed" in ran.err
    assert world.server.asked_for("headers.tar.gz") == 3
    assert not world.destination.exists()


def test_a_lock_held_too_long_is_exit_9(world: World) -> None:
    world.write()
    world.ok("install")
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    world.setenv(ETFETCH_LOCK_TIMEOUT="0.2")
    holder = world.spawn(python=_holder(world.destination / ".etfetch" / "lock"))
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        ran = world.run("install")
    finally:
        holder.kill()
        holder.communicate()
    assert ran.code == 9
    assert "another process has held" in ran.err
    assert "ETFETCH_LOCK_TIMEOUT" in ran.err


def test_hold_is_released(tmp_path: Path) -> None:
    for _ in range(2):
        with hold(tmp_path / "lock", 1):
            pass


def _holder(path: Path) -> str:
    script = path.parent.parent.parent / "hold.py"
    script.write_text(
        "import sys, time, pathlib\nfrom etfetch.cache import hold\n"
        f"with hold(pathlib.Path({str(path)!r}), 5):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    assert sys.executable
    return str(script)


def _downloads(world: World) -> dict[str, int]:
    names = (path.rpartition("/")[2] for path in world.server.requests)
    stems = (name.partition("-")[0].partition(".")[0] for name in names if not name.endswith("256"))
    return dict(Counter(stems))
