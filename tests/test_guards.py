"""The guards, evaluated by Ruby and by Gradle: what stops a build, and which command they name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apps import NAME, App
from tests.programs import need

RECORD = ".etfetch/installed.json"
TOOL = "node_modules/etfetch/bin/etfetch.js"


def _without_record(app: App) -> None:
    (app.library / "third-party" / RECORD).unlink()


def _interrupted(app: App) -> None:
    (app.library / "third-party/.etfetch/journal.json").write_text("{}")


def _damaged(app: App) -> None:
    (app.library / "third-party" / RECORD).write_text("{")


def _incomplete(app: App) -> None:
    record = app.library / "third-party" / RECORD
    values = json.loads(record.read_text())
    record.write_text(json.dumps({**values, "lock": ""}))


def _newer_lock(app: App) -> None:
    app.lock.write_text(app.lock.read_text() + "# newer\n")


def _another_app(app: App) -> None:
    app.lock.unlink()


def _windows_lock(app: App) -> None:
    app.lock.write_bytes(app.lock.read_bytes().replace(b"\n", b"\r\n"))


def _file_gone(app: App) -> None:
    (app.library / "third-party/include/opencv2/core.hpp").unlink()


def _headers_alone(app: App) -> None:
    app.world.setenv(RNET_HEADERS_ONLY="1")
    app.install()
    app.world.delenv("RNET_HEADERS_ONLY")


STATES: dict[str, tuple[Callable[[App], None], str | None]] = {
    "installed": (lambda _app: None, None),
    "windows-lock": (_windows_lock, None),
    "never": (_without_record, "they were never installed: {third_party}/" + RECORD + " is missing"),
    "interrupted": (_interrupted, "an install was interrupted"),
    "damaged": (_damaged, "{third_party}/" + RECORD + " is damaged"),
    "incomplete": (_incomplete, "not everything was downloaded"),
    "newer-lock": (_newer_lock, "{lock} has changed since they were installed"),
    "another-app": (_another_app, "they were installed for another app: {lock} is missing"),
    "file-gone": (_file_gone, "{third_party}/include/opencv2/core.hpp is missing"),
    "headers-alone": (_headers_alone, "nothing is installed for {system}"),
}


def _message(problem: str, command: str, again: str) -> str:
    return (
        "react-native-executorch: its native libraries are not ready:\n"
        "\n"
        f"  {problem}\n"
        "\n"
        "The package manager may have skipped the postinstall step (newer pnpm and yarn, --ignore-scripts).\n"
        f"Run this in the app's folder, and {again} again:\n"
        "\n"
        f"  {command}\n"
    )


def _installed(app: App, state: str, system: str) -> str | None:
    """Bring an app into a state; what the guard should find there."""
    app.choose({})
    app.world.setenv(RNET_TARGET="ios" if system == "iOS" else "android-arm64-v8a")
    app.install()
    change, problem = STATES[state]
    change(app)
    third_party = app.library / "third-party"
    return problem and problem.format(third_party=third_party, lock=app.lock, system=system)


def _ruby(library: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Evaluate the guard as CocoaPods evaluates a podspec: text, with the file's path."""
    podspec = library / "on-device.podspec"
    podspec.write_text('require File.join(__dir__, "etfetch-guard")\nputs "goes on"\n')
    script = (
        "module Pod; class Informative < StandardError; end; end\n"
        "begin; eval(File.read(ARGV[0]), nil, ARGV[0])\n"
        "rescue Pod::Informative => error; print error.message; exit 3; end\n"
    )
    command = [need("ruby"), "-w", "-e", script, str(podspec)]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("state", STATES)
def test_the_podspecs_guard(app: App, state: str) -> None:
    problem = _installed(app, state, "iOS")
    ran = _ruby(app.library)
    assert ran.stderr == ""
    if problem is None:
        assert (ran.returncode, ran.stdout) == (0, "goes on\n")
    else:
        assert ran.returncode == 3
        expected = _message(problem, f'etfetch install --project "{app.library}"', "`pod install`")
        assert ran.stdout == f"{expected}\n"
        assert _ruby(app.library, ETFETCH_SKIP_DOWNLOAD="1").stdout == "goes on\n"


@pytest.mark.parametrize("place", ["beside the library", "in pnpm's store"])
def test_the_command_is_the_one_that_is_there(app: App, place: str) -> None:
    library = app.library
    if place == "in pnpm's store":
        store = app.folder / "node_modules/.pnpm/lib@1/node_modules"
        store.mkdir(parents=True)
        shutil.move(library, store / NAME)
        library.symlink_to(store / NAME)
        tool = store.parent / TOOL
    else:
        tool = app.folder / TOOL
    tool.parent.mkdir(parents=True)
    tool.write_text("")
    app.world.ok("generate", "podspec-guard", "--project", str(library))
    ran = _ruby(library)
    assert f'  node "{tool}" install --project "{library.resolve()}"\n' in ran.stdout


def test_gradles_guard(app: App, tmp_path: Path) -> None:
    """One build with a project for each state: starting Gradle takes seconds."""
    gradle = need("gradle")
    build = tmp_path / "build"
    expected = {}
    for state in STATES:
        app.world.chdir(tmp_path)
        shutil.rmtree(app.folder)
        app = App(app.world)
        problem = _installed(app, state, "Android")
        copy = build / state
        shutil.copytree(app.folder, copy)
        place = copy / app.library.relative_to(app.folder)
        if problem is not None:
            problem = problem.replace(str(app.folder), str(copy))
            expected[state] = _message(problem, f'etfetch install --project "{place}"', "build")
        guard = place / "etfetch-guard.gradle"
        (copy / "build.gradle").write_text(
            f'try {{ apply from: "{guard}" }} catch (GradleScriptException error) {{\n'
            f'    new File("{copy}/said").text = error.cause.message\n}}\n'
        )
    (build / "settings.gradle").write_text("\n".join(f'include "{state}"' for state in STATES))
    command = [gradle, "--no-daemon", "--offline", "-q", "-g", str(tmp_path / "home"), "help"]
    ran = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = {path.parent.name: path.read_text() for path in build.glob("*/said")}
    assert said == expected


STUB = """
class Flags { List arguments = []; List abiFilters = [] }
class Native {
    Flags cmake = new Flags()
    def cmake(Closure c) { c.delegate = cmake; c.resolveStrategy = 1; c() }
}
class Defaults {
    Flags ndk = new Flags()
    Native externalNativeBuild = new Native()
    def ndk(Closure c) { c.delegate = ndk; c.resolveStrategy = 1; c() }
    def externalNativeBuild(Closure c) { c.delegate = externalNativeBuild; c.resolveStrategy = 1; c() }
}
class Main { List dirs = []; Main getJniLibs() { this }; def srcDir(dir) { dirs << dir } }
class Sets { Main main = new Main(); def main(Closure c) { c.delegate = main; c.resolveStrategy = 1; c() } }
class Android {
    Defaults defaultConfig = new Defaults()
    Sets sourceSets = new Sets()
    def defaultConfig(Closure c) { c.delegate = defaultConfig; c.resolveStrategy = 1; c() }
    def sourceSets(Closure c) { c.delegate = sourceSets; c.resolveStrategy = 1; c() }
}
extensions.create("android", Android)
apply from: "etfetch.gradle"
def said = extensions.android
println groovy.json.JsonOutput.toJson([
    abis: said.defaultConfig.ndk.abiFilters,
    arguments: said.defaultConfig.externalNativeBuild.cmake.arguments*.toString(),
    folders: said.sourceSets.main.dirs*.toString(),
])
"""
"""The part of the Android plugin's language that the script uses."""


def test_gradle_reads_the_script(app: App) -> None:
    gradle = need("gradle")
    toml = app.library / "etfetch.toml"
    text = toml.read_text().replace('"gradle-guard",', '"gradle-guard", "gradle",')
    toml.write_text(text.replace('pass = ["opencvPod"]', 'pass = ["opencvPod"]\ncmake-prefix = "RNE_"'))
    app.choose({"backends": ["xnnpack"]})
    app.install()
    (app.library / "build.gradle").write_text(STUB)
    words = ["--no-daemon", "--offline", "-q", "-g", str(app.world.root / "home"), "help"]
    ran = subprocess.run([gradle, *words], cwd=app.library, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = json.loads(next(line for line in ran.stdout.splitlines() if line.startswith("{")))
    third_party = app.library / "third-party"
    assert said == {
        "abis": ["arm64-v8a", "x86_64"],
        "arguments": [
            f"-Dexecutorch_DIR={third_party}/share/cmake/executorch",
            "-DRNE_ENABLE_OPENCV=OFF",
            "-DRNE_ENABLE_PHONEMIS=OFF",
            "-DRNE_ENABLE_PHONEMIZER=OFF",
            "-DRNE_ENABLE_XNNPACK=ON",
            "-DRNE_ENABLE_COREML=OFF",
            "-DRNE_ENABLE_MLX=OFF",
            "-DRNE_ENABLE_VULKAN=OFF",
        ],
        "folders": [f"{third_party}/android/libs/executorch"],
    }
    shutil.rmtree(third_party)
    ran = subprocess.run([gradle, *words], cwd=app.library, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "its native libraries are not ready" in ran.stderr


def test_published_guards_are_those_that_etfetch_writes(app: App) -> None:
    """The example's guards are committed, as a library's are published."""
    before = {path.name: path.read_bytes() for path in app.library.glob("etfetch-guard.*")}
    assert set(before) == {"etfetch-guard.gradle", "etfetch-guard.rb"}
    app.world.ok("generate", "gradle-guard", "podspec-guard")
    assert {path.name: path.read_bytes() for path in app.library.glob("etfetch-guard.*")} == before
