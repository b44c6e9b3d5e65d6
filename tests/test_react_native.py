"""The example library and an app, packed and installed by npm itself, from a server on loopback."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

from tests.apps import NAME, flags, write_package
from tests.phone import Phone, build_config
from tests.programs import need


def test_what_is_published(packages: dict[str, Path]) -> None:
    def names(package: str) -> set[str]:
        with tarfile.open(packages[package]) as tape:
            return {name.removeprefix("package/") for name in tape.getnames()}

    own = {"bin/etfetch.js", "lib/environment.js", "lib/main.js", "lib/path.js", "lib/processes.js"}
    assert names("etfetch") == {*own, "LICENSE", "README.md", "package.json"}
    assert names(NAME) == {
        "android/build.gradle",
        "etfetch-guard.gradle",
        "etfetch-guard.rb",
        "etfetch.toml",
        "package.json",
        "react-native-on-device.podspec",
    }


def test_a_single_app(phone: Phone) -> None:
    app = phone.app(phone.root / "app", {"backends": ["xnnpack"], "libs": ["opencv"]})
    said = phone.npm_install(app)
    library = app / "node_modules" / NAME
    assert "choices from `../../package.json`" in said
    assert build_config(library) == flags("xnnpack", "opencv")
    names = {path.name for path in (library / "third-party/android/libs/executorch/arm64-v8a").iterdir()}
    assert names == {"libexecutorch.so", "libxnnpack_executorch_backend.so"}
    assert (app / "etfetch.lock").is_file()
    # The lock is committed; a clean install on another machine starts from it.
    lock = (app / "etfetch.lock").read_bytes()
    asked = len(phone.server.requests)
    said = phone.npm_install(app)
    assert len(phone.server.requests) == asked
    phone.app(app, {"extras": ["vulkan"]})
    said = phone.run(app, "npm", "rebuild", "--foreground-scripts", NAME)
    assert "0 files written" not in said
    assert build_config(library) == flags("vulkan")
    phone.app(app, {"backends": ["xnnpack"], "libs": ["opencv"]})
    asked = len(phone.server.requests)
    phone.run(app, "npm", "rebuild", "--foreground-scripts", NAME, ETFETCH_OFFLINE="1")
    assert len(phone.server.requests) == asked
    assert (app / "etfetch.lock").read_bytes() == lock
    said = phone.run(app, "npm", "rebuild", "--foreground-scripts", NAME)
    assert "nothing to do: react-native-executorch 0.10.0 is installed in `third-party`" in said


def test_a_workspace_with_a_hoisted_library(phone: Phone) -> None:
    root = write_package(phone.root / "ws", private=True, workspaces=["apps/*"]).parent
    app = phone.app(root / "apps/mobile", {"features": ["vad"]})
    write_package(root / "apps/web", version="1.0.0")
    said = phone.npm_install(root)
    assert "choices from `../../apps/mobile/package.json`" in said
    library = root / "node_modules" / NAME
    assert build_config(library) == flags("xnnpack")
    assert (app / "etfetch.lock").is_file()
    assert not (root / "etfetch.lock").exists()
    # Called in the app's folder it is the same file, hence the same lock.
    said = phone.run(app, "npm", "rebuild", "--foreground-scripts", NAME)
    assert [path.parent for path in root.glob("**/etfetch.lock")] == [app]


def test_four_at_once_in_a_workspace(phone: Phone) -> None:
    root = write_package(phone.root / "ws", private=True, workspaces=["apps/*"]).parent
    phone.app(root / "apps/mobile", {"backends": ["xnnpack", "vulkan"]})
    phone.run(root, "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts")
    running = [
        subprocess.Popen(
            [need("npm"), "rebuild", "--foreground-scripts", NAME],
            cwd=root,
            env=phone.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(4)
    ]
    for process in running:
        said, _ = process.communicate(timeout=100)
        assert process.returncode == 0, said
    library = root / "node_modules" / NAME
    assert build_config(library) == flags("xnnpack", "vulkan")
    phone.run(library, "etfetch", "verify", "--deep")
    archives = [path for path in phone.server.requests if path.endswith(".tar.gz")]
    assert len(archives) == len(set(archives)) == 7


def test_a_failing_postinstall_fails_the_install_with_its_words(phone: Phone) -> None:
    app = phone.app(phone.root / "app", {"backends": ["vulcan"]})
    done = subprocess.run(
        [need("npm"), "install", "--offline", "--no-audit", "--no-fund"],
        cwd=app,
        env=phone.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7
    assert "no backend `vulcan`; did you mean `vulkan`?" in done.stderr
