"""Generated files over the life of a project: written at the end of installs, kept, renewed and removed."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.world import REQUEST, World

CONFIG = "third-party/share/cmake/executorch/executorch-config.cmake"


def _states(world: World) -> dict[str, tuple[int, int]]:
    files = (path for path in world.project.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def test_installs_write_what_is_listed(world: World) -> None:
    world.write(f'{REQUEST}generate = ["cmake", "xcconfig"]\n')
    world.ok("install")
    assert "executorch::backend_fast" in (world.project / CONFIG).read_text()
    assert (world.project / "etfetch.cmake").is_file()
    assert (world.project / "etfetch.xcconfig").is_file()
    before = _states(world)
    world.ok("install")
    world.ok("generate")
    world.ok("verify", "--deep")
    assert _states(world) == before


def test_a_lost_or_changed_file_is_written_again(world: World) -> None:
    world.write(f'{REQUEST}generate = ["cmake"]\n')
    world.ok("install")
    text = (world.project / CONFIG).read_text()
    (world.project / CONFIG).unlink()
    (world.project / "etfetch.cmake").write_text("# Written by somebody\n")
    world.ok("install")
    assert (world.project / CONFIG).read_text() == text
    assert "find_package" in (world.project / "etfetch.cmake").read_text()


def test_what_is_not_wanted_any_more_goes(world: World) -> None:
    world.write(f'{REQUEST}generate = ["cmake", "xcconfig"]\n')
    world.ok("install")
    (world.project / "etfetch.xcconfig").write_text("// Written by etfetch, then by me\n")
    world.write(f'{REQUEST}generate = ["registration-check"]\n')
    world.ok("install")
    assert not (world.project / "third-party/share").exists()
    assert not (world.project / "etfetch.cmake").exists()
    # Somebody made it his own.
    assert (world.project / "etfetch.xcconfig").is_file()
    assert (world.project / "etfetch_registration_check.cpp").is_file()
    world.write(REQUEST)
    world.ok("install")
    assert not list(world.project.glob("etfetch_registration_check.*"))
    assert (world.project / "third-party").is_dir()


def test_without_downloads_they_are_written_all_the_same(world: World) -> None:
    world.write(f'{REQUEST}generate = ["cmake"]\n')
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    assert world.ok("install", "--json").json["status"] == "skipped"
    assert "executorch::backend_fast" in (world.project / CONFIG).read_text()


def test_a_record_from_elsewhere_removes_nothing_else(world: World) -> None:
    """A checkout may come with a record; what it says was generated has to look so."""
    world.write(f'{REQUEST}generate = ["xcconfig"]\n')
    world.ok("install")
    mine = world.project / "mine.txt"
    mine.write_text("mine\n")
    record = world.destination / ".etfetch/installed.json"
    values = json.loads(record.read_text())
    values["outputs"].append({"path": "mine.txt", "sha256": hashlib.sha256(b"mine\n").hexdigest()})
    record.write_text(json.dumps(values))
    world.write(REQUEST)
    world.ok("install")
    assert mine.read_text() == "mine\n"
    assert not (world.project / "etfetch.xcconfig").exists()


def test_a_tree_elsewhere_has_none(world: World) -> None:
    world.write(f'{REQUEST}generate = ["cmake"]\n')
    world.ok("install", "--destination", str(world.root / "elsewhere"))
    assert not (world.project / "third-party").exists()
    assert not (world.project / "etfetch.cmake").exists()


@pytest.mark.parametrize("name", ["Package.swift", "etfetch.xcconfig"])
def test_a_file_of_the_projects_own_stops_the_install_before_it_is_lost(world: World, name: str) -> None:
    (world.project / name).write_text("// mine\n")
    world.write(f'{REQUEST}generate = ["xcconfig", "swiftpm"]\n')
    words = ["generate", "swiftpm", "--remote"] if name == "Package.swift" else ["install"]
    world.ok("lock")
    ran = world.run(*words)
    assert ran.code == 10
    assert ran.err.splitlines()[-3] == (
        f"error: `{name}` is in the way of a generated file: etfetch did not write it"
    )
    assert (world.project / name).read_text() == "// mine\n"
