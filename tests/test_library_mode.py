"""`etfetch install` in a library: the app's choices, its lock, the flags, and what older variables do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import etfetch
from etfetch import config, netconfig, uptodate
from etfetch.config import Options
from tests.apps import KEY, NAME, App, flags, write_package

ANDROID = "android/libs/executorch/arm64-v8a"
EVERYTHING_FOR_ANDROID = {
    f"android/libs/executorch/{abi}/lib{name}.so"
    for abi in ("arm64-v8a", "x86_64")
    for name in ("executorch", "xnnpack_executorch_backend", "vulkan_executorch_backend")
} | {
    "android/libs/cpuinfo/arm64-v8a/libcpuinfo.so",
    "android/libs/opencv-third-party/arm64-v8a/libkleidicv.a",
    "android/libs/opencv/arm64-v8a/libopencv_core.a",
    "android/libs/opencv/x86_64/libopencv_core.a",
    "android/libs/pthreadpool/arm64-v8a/libpthreadpool.so",
}


def _backends(app: App) -> set[str]:
    found = {Path(name).name for name in app.libraries}
    return {
        name.split("_")[0].removeprefix("lib") for name in found if name.endswith("_executorch_backend.so")
    }


def test_nobody_chose_so_everything_is_on(app: App) -> None:
    ran = app.install()
    assert app.libraries == EVERYTHING_FOR_ANDROID
    assert app.build_config == flags("opencv", "phonemis", "xnnpack", "coreml", "mlx", "vulkan")
    assert "no app says what it needs of this library: everything is installed" in ran.err
    assert (
        "note: `backend_coreml`, `backend_mlx` have no effect on what is built here: "
        "android-arm64-v8a, android-x86_64\n"
    ) in ran.err
    assert (app.library / "third-party/common/phonemis/src.cpp").is_file()
    assert app.lock.is_file()
    assert not (app.library / "etfetch.lock").exists()


@pytest.mark.parametrize("block", [{}, {"backends": [], "libs": [], "features": []}, {"extras": []}])
def test_empty_lists_mean_the_core_alone(app: App, block: object) -> None:
    app.choose(block)
    ran = app.install()
    assert app.build_config == flags()
    assert _backends(app) == set()
    assert f"{ANDROID}/libexecutorch.so" in app.libraries
    assert "choices from `../../package.json`\n" in ran.err


@pytest.mark.parametrize(
    ("block", "said", "backends"),
    [
        (
            {"extras": ["opencv", "phonemizer", "xnnpack", "coreml", "vulkan"]},
            flags("opencv", "phonemis", "xnnpack", "coreml", "vulkan"),
            {"xnnpack", "vulkan"},
        ),
        ({"backends": ["vulkan"], "libs": ["phonemizer"]}, flags("vulkan", "phonemis"), {"vulkan"}),
        ({"features": ["privacyFilter"]}, flags("xnnpack", "mlx"), {"xnnpack"}),
        ({"features": ["tokenizer"]}, flags(), set()),
        (
            {"features": ["vad"], "libs": ["opencv"], "opencvPod": "FastOpenCV-iOS"},
            flags("xnnpack", "opencv", opencvPod="FastOpenCV-iOS"),
            {"xnnpack"},
        ),
        (
            {"features": ["all"], "opencvPod": None},
            flags(
                *flags().keys(), "opencv", "phonemis", "xnnpack", "coreml", "mlx", "vulkan", opencvPod=None
            ),
            {"xnnpack", "vulkan"},
        ),
    ],
)
def test_what_an_app_chooses(app: App, block: object, said: dict[str, object], backends: set[str]) -> None:
    app.choose(block)
    app.install()
    assert app.build_config == said
    assert list(app.build_config) == list(said)
    assert _backends(app) == backends


def test_unknown_names_are_all_told_with_what_there_is(app: App) -> None:
    app.choose({"backends": ["vulcan"], "libs": ["opencv2"], "features": ["ocrr"]})
    ran = app.world.run("install")
    assert ran.code == 7
    assert ran.err == (
        "error: react-native-executorch 0.10.0 does not give what is asked for\n"
        "  ../../package.json:8: backends: no backend `vulcan`; did you mean `vulkan`?\n"
        "  ../../package.json:11: libs: no library `opencv2`; did you mean `opencv`?\n"
        "  ../../package.json:14: features: no feature `ocrr`; did you mean `ocr`?\n"
        "  features: all, llm, multimodalLLM, privacyFilter, speechToText, textToSpeech, vad, "
        "textEmbeddings, imageEmbeddings, classification, objectDetection, keypointDetection, "
        "semanticSegmentation, instanceSegmentation, ocr, verticalOCR, styleTransfer, textToImage, "
        "segmentAnything, tokenizer\n"
        "  android-arm64-v8a has backends vulkan, xnnpack; libraries opencv, phonemis; headers headers\n"
        "  android-x86_64 has backends vulkan, xnnpack; libraries opencv, phonemis; headers headers\n"
        "  ios has backends coreml, mlx, xnnpack; libraries opencv, phonemis; headers headers\n"
        "  ios-simulator has backends coreml, xnnpack; libraries opencv, phonemis; headers headers\n"
        "hint: change the request to what exists\n"
    )
    assert app.world.server.requests == ["/index.json"]
    assert not app.lock.exists()
    assert not (app.library / "rne-build-config.json").exists()


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"backend": []}, "error: package.json:7: backend: unknown key; did you mean `backends`?\n"),
        (["xnnpack"], f"error: package.json: {KEY}: expected an object of lists\n"),
    ],
)
def test_wrong_blocks(app: App, block: object, message: str) -> None:
    app.choose(block)
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err == f"{message}  {app.folder / 'package.json'}\n"


def test_dropping_a_backend_and_adding_it_again_offline(app: App) -> None:
    both, one = {"backends": ["xnnpack", "vulkan"]}, {"backends": ["xnnpack"]}
    app.choose(both)
    app.install()
    before, lock = app.libraries, app.lock.read_bytes()
    kept = {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in (app.library / "third-party").rglob("*.so")}
    app.choose(one)
    app.install()
    gone = {
        f"android/libs/executorch/{abi}/libvulkan_executorch_backend.so" for abi in ("arm64-v8a", "x86_64")
    }
    assert before - app.libraries == gone
    assert app.build_config == flags("xnnpack")
    app.choose(both)
    app.world.setenv(ETFETCH_OFFLINE="1")
    asked = len(app.world.server.requests)
    app.install()
    assert app.libraries == before
    assert app.build_config == flags("xnnpack", "vulkan")
    assert app.lock.read_bytes() == lock
    assert len(app.world.server.requests) == asked
    for path, state in kept.items():
        if "vulkan" not in path.name:
            assert (path.stat().st_ino, path.stat().st_mtime_ns) == state


def test_nothing_to_do_is_answered_by_the_short_cut(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.choose({"backends": ["xnnpack"]})
    app.install()
    written = app.library / "rne-build-config.json"
    before = (written.stat().st_ino, written.stat().st_mtime_ns)
    monkeypatch.setattr("etfetch.cli.main", None)  # whoever takes the whole path fails
    ran = app.install()
    assert ran.err == (
        "nothing to do: react-native-executorch 0.10.0 is installed in `third-party` (8 files), "
        "as `../../package.json` says\n"
    )
    assert (written.stat().st_ino, written.stat().st_mtime_ns) == before


def _is_short(app: App) -> bool:
    return uptodate.summary(["install"], os.environ, etfetch.__version__) is not None


def test_whatever_decides_ends_the_short_cut(app: App) -> None:
    app.choose({"backends": ["xnnpack"]})
    app.install()
    assert _is_short(app)
    package = (app.library / "package.json").read_bytes()
    changes: dict[str, Callable[[], object]] = {
        "the app's choices": lambda: app.choose({"backends": []}),
        "an older variable": lambda: app.world.setenv(RNET_NO_X86_64="1"),
        "where the app is": lambda: app.world.setenv(INIT_CWD=str(app.folder / "ios")),
        "the lock": lambda: app.lock.write_text(app.lock.read_text() + "\n"),
        "a generated file": lambda: (app.library / "rne-build-config.json").write_text("{}"),
        "the version": lambda: write_package(app.library, nativeLibsVersion="0.10.1"),
    }
    for what, change in changes.items():
        app.choose({"backends": ["xnnpack"]})
        (app.library / "package.json").write_bytes(package)
        app.world.setenv(INIT_CWD=str(app.folder))
        app.world.delenv("RNET_NO_X86_64")
        app.lock.unlink(missing_ok=True)
        app.install()
        assert _is_short(app), what
        change()
        assert not _is_short(app), what


def test_a_new_member_of_the_workspace_ends_the_short_cut(app: App) -> None:
    write_package(app.folder, workspaces=["apps/*"], dependencies={NAME: "*"})
    write_package(app.folder / "apps/one")
    app.install()
    assert _is_short(app)
    write_package(app.folder / "apps/two", **{KEY: {}})
    assert not _is_short(app)
    ran = app.install()
    assert "choices from `../../apps/two/package.json`\n" in ran.err
    assert (app.folder / "apps/two/etfetch.lock").is_file()


def test_members_that_share_the_library(app: App) -> None:
    write_package(app.folder, workspaces=["apps/*"], dependencies={NAME: "*"})
    write_package(app.folder / "apps/one", **{KEY: {"backends": ["xnnpack"], "opencvPod": "a"}})
    write_package(app.folder / "apps/two", **{KEY: {"backends": ["vulkan"]}})
    ran = app.install()
    assert "choices from `../../apps/one/package.json` and `../../apps/two/package.json`\n" in ran.err
    assert app.build_config == flags("xnnpack", "vulkan", opencvPod="a")
    assert app.lock.is_file()
    write_package(app.folder / "apps/two", **{KEY: {"backends": ["vulkan"], "opencvPod": "b"}})
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: apps that share one copy of the library disagree about `opencvPod`\n"
        f"  {app.folder}/apps/one/package.json\n"
        f"  {app.folder}/apps/two/package.json\n"
        "hint: give all of them the same value\n"
    )


def test_the_lock_is_the_same_on_every_machine(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.choose({"backends": ["xnnpack", "coreml"]})
    app.install()
    lock = app.lock.read_bytes()
    app.lock.unlink()
    monkeypatch.setattr("etfetch.config.sys.platform", "darwin")
    app.world.setenv(RNET_NO_X86_64="1")
    ran = app.install()
    assert app.lock.read_bytes() == lock
    assert "installed react-native-executorch 0.10.0 for android-arm64-v8a, ios, ios-simulator" in ran.err
    assert "no effect" not in ran.err
    assert "ios/CoreMLBackend.xcframework/ios-arm64/libCoreMLBackend.a" in app.libraries
    assert not any("x86_64" in name for name in app.libraries)


@pytest.mark.parametrize(
    ("variables", "words", "platforms"),
    [
        ({"RNET_TARGET": "android-arm64-v8a"}, [], ["android-arm64-v8a"]),
        ({"RNET_TARGET": "ios"}, [], ["ios"]),
        ({"RNET_NO_X86_64": "1"}, [], ["android-arm64-v8a"]),
        ({"RNET_NO_X86_64": "0"}, [], ["android-arm64-v8a", "android-x86_64"]),
        ({"RNET_TARGET": "ios", "ETFETCH_PLATFORMS": "android-x86_64"}, [], ["android-x86_64"]),
        ({"RNET_TARGET": "ios"}, ["--platform", "android-x86_64"], ["android-x86_64"]),
        (
            {},
            ["--platform", "all"],
            ["android-arm64-v8a", "android-x86_64", "ios", "ios-simulator"],
        ),
        ({"RNET_NO_X86_64": "1"}, ["--platform", "android-x86_64"], ["android-x86_64"]),
    ],
)
def test_platforms(app: App, variables: dict[str, str], words: list[str], platforms: list[str]) -> None:
    app.choose({})
    app.world.setenv(**variables)
    assert app.world.ok("install", "--json", *words).json["platforms"] == platforms


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("android-arm64", "error: no platform `android-arm64`; did you mean `android-arm64-v8a`?\n"),
        ("linux-x86_64", "error: the library is not built for `linux-x86_64`\n"),
    ],
)
def test_wrong_targets(app: App, target: str, message: str) -> None:
    app.world.setenv(RNET_TARGET=target)
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err.startswith(message)
    assert "/core-ios.tar.gz.sha256" not in app.world.server.requests


def test_headers_alone(app: App) -> None:
    app.choose({"backends": ["xnnpack"]})
    app.world.setenv(RNET_HEADERS_ONLY="1")
    app.install()
    assert app.libraries == set()
    assert (app.library / "third-party/include/opencv2/core.hpp").is_file()
    assert app.build_config == flags("xnnpack")
    app.world.delenv("RNET_HEADERS_ONLY")
    app.install()
    assert _backends(app) == {"xnnpack"}


def test_skipping_the_download_writes_the_flags_all_the_same(app: App) -> None:
    app.choose({"backends": ["vulkan"]})
    app.world.setenv(RNET_SKIP_DOWNLOAD="1")
    ran = app.install("--json")
    assert ran.json["status"] == "skipped"
    assert app.build_config == flags("vulkan")
    assert app.world.server.requests == []
    assert app.libraries == set()
    written = app.library / "rne-build-config.json"
    before = written.stat().st_mtime_ns
    app.install()
    assert written.stat().st_mtime_ns == before


def test_a_folder_of_archives(app: App) -> None:
    """Archives that were put aside by hand, under their names."""
    app.world.setenv(RNET_BASE_URL=app.world.server.root.as_uri())
    app.choose({"backends": ["vulkan"]})
    app.install()
    assert _backends(app) == {"vulkan"}
    assert app.world.server.requests == []


def test_a_library_may_bring_the_manifest_of_a_newer_release(app: App) -> None:
    carried = Path(__file__).parent.parent / "manifests/react-native-executorch/0.10.0.toml"
    own = app.library / "manifests/react-native-executorch/0.11.0.toml"
    own.parent.mkdir(parents=True)
    own.write_text(carried.read_text().replace('version = "0.10.0"', 'version = "0.11.0"'))
    package = app.library / "package.json"
    package.write_text(
        package.read_text().replace('"nativeLibsVersion": "0.10.0"', '"nativeLibsVersion": "0.11.0"')
    )
    app.choose({})
    assert "installed react-native-executorch 0.11.0" in app.install().err


def test_the_older_cache_variable(app: App, tmp_path: Path) -> None:
    app.world.delenv("ETFETCH_CACHE_DIR")
    app.world.setenv(RNET_LIBS_CACHE_DIR=str(tmp_path / "older"))
    app.choose({})
    app.install()
    assert (tmp_path / "older/v1/blobs").is_dir()


def test_the_token_is_not_for_a_host_that_a_package_names(app: App) -> None:
    """`[environment]` could make any variable mean the base URL, also one that the package itself sets."""
    app.world.setenv(ETFETCH_TOKEN="secret")
    url = f"{app.world.server.url}/core-ios.tar.gz"
    access = netconfig.access_of(config.find_project(Options()), Options())
    assert access.places[0].base == app.world.server.url
    assert access.credentials.for_url(url) is None
    app.world.setenv(ETFETCH_BASE_URL=app.world.server.url)
    access = netconfig.access_of(config.find_project(Options()), Options())
    assert access.credentials.for_url(url) == "Bearer secret"


def test_ci_refuses_a_lock_that_the_choices_left_behind(app: App) -> None:
    app.choose({"backends": ["xnnpack"]})
    app.install()
    app.choose({"backends": ["vulkan"]})
    app.world.setenv(CI="1")
    ran = app.world.run("install")
    assert ran.code == 3
    assert ran.err == (
        "error: `etfetch.lock` does not answer the request any more\n"
        "  backends: - xnnpack\n"
        "  backends: + vulkan\n"
        "hint: run `etfetch lock`, and commit `etfetch.lock`\n"
    )
    assert app.build_config == flags("xnnpack")


def test_the_library_is_found_from_the_app(app: App) -> None:
    app.choose({"backends": ["xnnpack"]})
    app.world.delenv("INIT_CWD")
    app.world.chdir(app.folder)
    ran = app.install()
    assert "choices from `package.json`\n" in ran.err
    assert f"in `node_modules/{NAME}/third-party`" in ran.err
    assert "backend_xnnpack" in app.world.ok("list").out
    app.world.ok("verify", "--deep")
    app.world.ok("lock", "--check")


def test_several_libraries_have_to_be_named(app: App) -> None:
    other = app.folder / "node_modules/other"
    shutil.copytree(app.library, other)
    write_package(app.folder, dependencies={NAME: "*", "other": "*"})
    app.world.delenv("INIT_CWD")
    app.world.chdir(app.folder)
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: several packages here are installed by etfetch\n"
        "  node_modules/other\n"
        f"  node_modules/{NAME}\n"
        "hint: name one: `etfetch install --project node_modules/other`\n"
    )
    app.install("--project", "node_modules/other")


def test_another_librarys_lock_stays(app: App) -> None:
    app.choose({})
    app.install()
    lock = app.lock.read_text()
    toml = app.library / "etfetch.toml"
    text = toml.read_text()
    own = text.replace('version-from = "package.json:nativeLibsVersion"', 'version = "1.5.1"')
    own = own.replace('package      = "react-native-executorch"', "").replace(
        'generate     = ["build-config", ', "generate = ["
    )
    toml.write_text(own)
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: `etfetch.lock` beside the app's `package.json` is not this library's\n"
        f"  {app.lock} locks react-native-executorch, the library is for executorch\n"
        'hint: give the library a lock of its own: `lock = "NAME.lock"` in its project file\n'
    )
    assert app.lock.read_text() == lock


def test_an_app_with_a_request_of_its_own(app: App) -> None:
    app.choose({})
    (app.folder / "etfetch.toml").write_text('version = "1.5.1"\n')
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err.startswith(
        "error: the app has a request of its own, and `etfetch.lock` cannot answer both\n"
    )
    toml = app.library / "etfetch.toml"
    toml.write_text('lock = "on-device.lock"\n' + toml.read_text())
    ran = app.install()
    assert "wrote `on-device.lock`\n" in ran.err
    assert (app.folder / "on-device.lock").is_file()
    app.world.ok("verify")


def test_add_and_remove_do_not_change_apps(app: App) -> None:
    app.choose({})
    for command in ("add", "remove"):
        ran = app.world.run(command, "vulkan")
        assert ran.code == 2
        assert ran.err == (
            "error: an app chooses what is installed of a library, and this command does not change apps\n"
            f"  {app.folder / 'package.json'}\n"
            f"hint: change `{KEY}` there, then run `etfetch install`\n"
        )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('version-from = "package.json"', "`package.json` is not a JSON or TOML file and a key, as in "),
        (
            'version-from = "../package.json:version"',
            "`../package.json:version` is not a JSON or TOML file and ",
        ),
        (
            'version-from = "package.json:nativeLibVersion"',
            "`package.json` has no version under `nativeLibVersion`",
        ),
        ('version-from = "package.json:files"', "`package.json` has no version under `files`"),
        ('version-from = "missing.json:version"', "there is no `missing.json` beside it"),
        ('version-from = "package.json:name"', "`react-native-on-device` is not a version or a specifier"),
        ('version-from = "package.json:version"\nversion = "1"', "stands beside `version`; keep one of them"),
    ],
)
def test_wrong_versions(app: App, line: str, message: str) -> None:
    toml = app.library / "etfetch.toml"
    toml.write_text(toml.read_text().replace('version-from = "package.json:nativeLibsVersion"', line))
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err.startswith(f"error: etfetch.toml:3: version-from: {message}")


def test_a_version_may_stand_in_toml(app: App) -> None:
    (app.library / "native.toml").write_text('[libs]\nversion = "0.10.0"\n')
    toml = app.library / "etfetch.toml"
    toml.write_text(toml.read_text().replace("package.json:nativeLibsVersion", "native.toml:libs.version"))
    app.choose({})
    app.install()


def test_a_flag_for_a_component_that_is_not_there(app: App) -> None:
    toml = app.library / "etfetch.toml"
    toml.write_text(toml.read_text().replace('"backend_vulkan"', '"backend_vulcan"'))
    ran = app.world.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: build-config.flags.enableVulkan: react-native-executorch 0.10.0 has no component "
        "`backend_vulcan`; did you mean `backend_vulkan`?\n"
        "  components: backend_coreml, backend_metal, backend_mlx, backend_vulkan, backend_xnnpack, core, "
        "headers, opencv, phonemis\n"
    )


def test_four_installs_at_once(app: App) -> None:
    """Four copies in one workspace, as without hoisting: one lock, each archive downloaded once."""
    app.choose({"backends": ["xnnpack"]})
    copies = []
    for number in range(4):
        copy = app.folder / f"apps/a{number}/node_modules" / NAME
        shutil.copytree(app.library, copy)
        copies.append(copy)
    running = []
    for copy in [*copies, *copies]:
        app.world.chdir(copy)
        running.append(app.world.spawn("install"))
    for process in running:
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words
    for copy in copies:
        app.library = copy
        assert _backends(app) == {"xnnpack"}
        assert app.build_config == flags("xnnpack")
        app.world.chdir(copy)
        app.world.ok("verify", "--deep")
    asked = app.world.server.requests
    archives = [path for path in asked if path.endswith(".tar.gz")]
    assert sorted(archives) == sorted(set(archives))
    assert [path.name for path in app.folder.glob("**/etfetch.lock")] == ["etfetch.lock"]


def test_generate_for_authors(app: App) -> None:
    """An author publishes the guards; they need neither a lock nor an app."""
    for name in ("gradle", "rb"):
        (app.library / f"etfetch-guard.{name}").unlink(missing_ok=True)
    ran = app.world.ok("generate", "gradle-guard", "podspec-guard")
    assert ran.err == "generated `etfetch-guard.gradle`\ngenerated `etfetch-guard.rb`\n"
    ran = app.world.run("generate")
    assert (ran.code, ran.err.splitlines()[0]) == (3, "error: there is no `etfetch.lock`")
    app.install()
    (app.library / "rne-build-config.json").unlink()
    ran = app.world.ok("generate")
    assert "generated `rne-build-config.json`\n" in ran.err
    ran = app.world.run("generate", "gradle")
    assert ran.code == 2
    assert ran.err == (
        "error: the project does not generate `gradle`; did you mean `gradle-guard`?\n"
        "  it generates: build-config, gradle-guard, podspec-guard\n"
    )


def test_nothing_to_generate(app: App) -> None:
    toml = app.library / "etfetch.toml"
    toml.write_text(toml.read_text().replace("generate ", "# generate "))
    ran = app.world.run("generate")
    assert ran.code == 2
    assert ran.err == (
        "error: the project file lists nothing to generate\n"
        "hint: add `generate = [...]` with some of build-config, gradle-guard, podspec-guard, cmake, "
        "registration-check, xcconfig, cocoapods, swiftpm, gradle\n"
    )


def test_a_file_that_etfetch_did_not_write_stays(app: App) -> None:
    guard = app.library / "etfetch-guard.rb"
    guard.write_text("# mine\n")
    ran = app.world.run("generate", "podspec-guard")
    assert ran.code == 10
    assert ran.err == (
        "error: `etfetch-guard.rb` is in the way of a generated file: etfetch did not write it\n"
        f"  {guard}\n"
        "hint: move it away, or take its name out of `generate`\n"
    )
    assert guard.read_text() == "# mine\n"


def test_generated_files_do_not_leave_through_a_symlink(app: App, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (app.library / "native").symlink_to(outside)
    toml = app.library / "etfetch.toml"
    toml.write_text(toml.read_text().replace('"rne-build-config.json"', '"native/rne-build-config.json"'))
    ran = app.world.run("install")
    assert ran.code == 2
    assert "the generated file `native/rne-build-config.json` goes through the symlink `native`" in ran.err
    assert list(outside.iterdir()) == []


def test_a_dry_run_writes_no_flags(app: App) -> None:
    app.choose({})
    app.install("--dry-run")
    assert not (app.library / "rne-build-config.json").exists()
    assert not app.lock.exists()


def test_json_stays_one_document(app: App) -> None:
    app.choose({"backends": ["coreml"]})
    ran = app.install("--json")
    assert json.loads(ran.out)["notices"] == [
        "ios, ios-simulator: locked, not installed: this host cannot build for them (`--platform all` does)",
        "`backend_coreml` has no effect on what is built here: android-arm64-v8a, android-x86_64",
    ]
