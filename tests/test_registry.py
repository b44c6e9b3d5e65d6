"""The real thing: the executorch wheel through pip and the npm package through npm."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.demo_models import MODELS
from tests.world import World, snapshot

pytestmark = pytest.mark.registry


LINUX = ["--platform", "linux-x86_64"]


def test_the_issue_of_every_newcomer(real: World) -> None:
    real.ok("install", "executorch[xnnpack,optimized]==1.5.1", *LINUX)
    root = real.destination / "executorch/linux-x86_64"
    assert {path.name for path in (root / "lib").iterdir()} == {
        "cmake",
        "libexecutorch.so",
        "libexecutorch_backend_xnnpack.so",
        "libexecutorch_kernels_optimized.so",
        "libexecutorch_threadpool.so",
    }
    assert (root / "share/cmake/executorch-config.cmake").is_file()
    assert (root / "include/executorch/runtime/core/evalue.h").is_file()
    first = snapshot(real.destination, without=".etfetch")
    shutil.rmtree(real.destination)
    real.ok("install", "--offline")
    assert snapshot(real.destination, without=".etfetch") == first
    real.ok("verify", "--deep")
    library = root / "lib/libexecutorch.so"
    data = bytearray(library.read_bytes())
    data[1000] ^= 1
    library.write_bytes(data)
    ran = real.run("verify")
    assert ran.code == 10
    assert "changed: executorch/linux-x86_64/lib/libexecutorch.so" in ran.err


def test_a_model_in_an_empty_folder(real: World) -> None:
    shutil.copyfile(MODELS / "b_mixed_xnnpack_plus_cumsum.pte", real.project / "a.pte")
    real.ok("install", "--model", "a.pte", *LINUX)
    libraries = {path.name for path in real.destination.rglob("*.so")}
    assert libraries == {
        "libexecutorch.so",
        "libexecutorch_backend_xnnpack.so",
        "libexecutorch_kernels_optimized.so",
        "libexecutorch_threadpool.so",
    }
    assert {path.name for path in real.project.iterdir()} == {"a.pte", "etfetch.lock", "third-party"}
    real.ok("check", "a.pte")


def test_from_1_5_0_to_1_5_1_changes_exactly_what_changed(real: World) -> None:
    request = (
        'version = "{}"\nplatforms = ["linux-x86_64"]\n'
        'backends = ["xnnpack"]\nkernels = ["optimized", "quantized"]\nlibraries = ["etdump"]\n'
    )
    real.write(request.format("1.5.0"))
    real.ok("install")
    before = {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in _installed(real)}
    real.write(request.format("1.5.1"))
    ran = real.ok("install", "--json")
    changed = {
        "include/executorch/runtime/kernel/thread_parallel_interface.h",
        "lib/libexecutorch_threadpool.so",
        "lib/cmake/executorch/executorch-config-version.cmake",
        "share/cmake/executorch-config-version.cmake",
    }
    assert ran.json["files"] == {"written": 4, "removed": 0, "unchanged": len(before) - 4}
    root = real.destination / "executorch/linux-x86_64"
    for path, (inode, mtime) in before.items():
        now = path.stat()
        if str(path.relative_to(root)) in changed:
            assert now.st_mtime_ns > mtime
        else:
            assert (now.st_ino, now.st_mtime_ns) == (inode, mtime)
    real.ok("verify", "--deep")


@pytest.mark.parametrize("platform", ["linux-aarch64", "macos-arm64"])
def test_wheels_of_other_platforms(real: World, platform: str) -> None:
    real.ok(
        "install",
        "executorch[xnnpack,optimized]==1.5.1",
        *("--platform", platform, "--platform", "all"),
    )
    assert (real.destination / f"executorch/{platform}/include").is_dir()
    real.ok("verify", "--deep")


def test_the_npm_package_gives_its_own_files(real: World) -> None:
    real.ok(
        "install",
        "react-native-executorch[opencv,phonemis]==0.9.2",
        *("--platform", "android-arm64-v8a", "--platform", "android-x86_64"),
        *("--platform", "ios", "--platform", "ios-simulator", "--platform", "all"),
    )
    [blob] = [
        path
        for path in (real.cache / "v1/blobs").rglob("*")
        if path.is_file() and path.stat().st_size == 38103093
    ]
    prefix = "package/third-party/"
    with tarfile.open(blob) as package:
        expected = {}
        for member in package:
            if member.name.startswith(prefix):
                stream = package.extractfile(member)
                assert stream is not None
                expected[member.name.removeprefix(prefix)] = stream.read()
    assert snapshot(real.destination, without=".etfetch") == expected


def test_a_version_that_no_registry_has(real: World) -> None:
    manifest = real.project / "manifests/demo/1.0.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        'schema = 1\npackage = "demo"\nversion = "1.0"\n[components.demo]\nkind = "runtime"\n[[artifacts]]\n'
        'name = "x.tgz"\nsource = "npm:react-native-executorch@0.0.1-never"\n'
        f'sha256 = "{"0" * 64}"\n[[artifacts.parts]]\ncomponent = "demo"\nplatforms = ["linux-x86_64"]\n'
        'members = ["**"]\n'
    )
    ran = real.run("install", "demo", *LINUX)
    assert ran.code == 5
    assert "`npm` could not download `npm:react-native-executorch@0.0.1-never`" in ran.err
    assert not real.lock.exists()


def test_json_of_a_real_install(real: World) -> None:
    ran = real.ok("install", "executorch==1.5.1", *LINUX, "--json")
    assert ran.json["artifacts"][0]["size"] == 18887977
    assert json.dumps(ran.json)
    assert real.destination.is_dir()


def _installed(world: World) -> list[Path]:
    root = world.destination / "executorch"
    return [path for path in root.rglob("*") if path.is_file()]
