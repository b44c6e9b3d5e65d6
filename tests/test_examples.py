"""The examples' committed locks and generated files are those that etfetch makes today."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.world import World

EXAMPLES = Path(__file__).parent.parent / "examples"
GENERATED = {
    "android-app": {
        "etfetch.cmake",
        "etfetch.gradle",
        "etfetch.lock",
        "third-party/share/cmake/executorch/etfetch-functions.cmake",
        "third-party/share/cmake/executorch/executorch-config-version.cmake",
        "third-party/share/cmake/executorch/executorch-config.cmake",
    },
    "ios-app": {
        "etfetch.lock",
        "etfetch.xcconfig",
        "etfetch_registration_check.cpp",
        "etfetch_registration_check.h",
    },
}


@pytest.mark.parametrize("example", GENERATED)
def test_what_is_committed_is_what_is_made(world: World, example: str) -> None:
    committed = {name: (EXAMPLES / example / name).read_text() for name in GENERATED[example]}
    folder = world.root / example
    folder.mkdir()
    shutil.copyfile(EXAMPLES / example / "etfetch.toml", folder / "etfetch.toml")
    world.chdir(folder)
    world.ok("lock")
    world.ok("generate")
    made = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
    del made["etfetch.toml"]
    assert made == committed
