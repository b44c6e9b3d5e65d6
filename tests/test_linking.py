"""The files for build systems: what they say (golden files), and that they name exactly what is locked.

`python -m tests.test_linking` writes the golden files again; read the difference before committing it.
"""

from __future__ import annotations

import re
import shutil
from itertools import combinations
from pathlib import Path

import pytest

from etfetch import generate, lockfile, shelf
from etfetch.generate import BuildConfig, GeneratedFile, Material, Outputs, cmake, linking
from etfetch.lockfile import Lock
from etfetch.request import EVERYTHING, Request
from etfetch.resolve import resolve

GOLDEN = Path(__file__).parent / "golden/generate"
CARRIED = shelf.load()
NATIVE = ("cmake", "registration-check", "xcconfig", "cocoapods", "swiftpm")
FLAGS = (("enableOpencv", "opencv"), ("enableXnnpack", "backend_xnnpack"), ("enableVulkan", "backend_vulkan"))
OUTPUTS = Outputs(
    generate.GENERATORS,
    BuildConfig("rne-build-config.json", FLAGS, cmake_prefix="RNE_"),
    "app",
    "third-party",
)

APPLE = ("ios", "ios-simulator", "macos-arm64")
ANDROID = ("android-arm64-v8a", "android-x86_64")
LINUX = ("linux-aarch64", "linux-x86_64")
_MOBILE: dict[str, object] = {
    "package": "react-native-executorch",
    "version": "==0.10.0",
    "features": (EVERYTHING,),
}
_APPLE: dict[str, object] = {
    "package": "executorch",
    "version": "==1.3.1",
    "platforms": APPLE,
    "backends": ("coreml", "mps", "xnnpack"),
    "kernels": ("llm", "optimized", "quantized", "torchao"),
    "libraries": ("executorch_llm",),
}
CASES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "apple-release": (_APPLE, NATIVE),
    "apple-debug": ({**_APPLE, "variant": "debug"}, ("xcconfig", "swiftpm")),
    "apple-portable": (
        {**_APPLE, "version": "==0.6.0", "kernels": ("portable",), "libraries": ()},
        ("cmake", "xcconfig"),
    ),
    "wheels": (
        {
            "package": "executorch",
            "version": "==1.5.1",
            "platforms": (*LINUX, "macos-arm64"),
            "backends": ("xnnpack",),
            "kernels": ("optimized", "quantized"),
            "libraries": ("etdump",),
        },
        ("cmake", "registration-check", "xcconfig"),
    ),
    "react-native": (
        {**_MOBILE, "platforms": (*ANDROID, "ios", "ios-simulator")},
        ("build-config", "cmake", "xcconfig", "cocoapods", "gradle"),
    ),
    "react-native-android": (
        {**_MOBILE, "platforms": ANDROID, "features": (), "backends": ("xnnpack",)},
        ("build-config", "cmake", "gradle"),
    ),
}


def _lock(**wanted: object) -> Lock:
    resolution = resolve(Request(**wanted), CARRIED)  # type: ignore[arg-type]
    sidecars = {c.artifact.source: "0" * 64 for c in resolution.artifacts if c.artifact.sidecar}
    return lockfile.build(resolution, sidecars)


def _render(lock: Lock, names: tuple[str, ...], *, remote: bool = False) -> tuple[GeneratedFile, ...]:
    operators = {name: frozenset(text.split()) for name, text in CARRIED.operator_sets.items()}
    return generate.render(Material(OUTPUTS, lock, {}, operators, remote=remote), names)


def _files(case: str) -> dict[str, str]:
    wanted, names = CASES[case]
    lock = _lock(**wanted)
    files = {file.path: file.text for file in _render(lock, names)}
    if case != "wheels":
        # It is the same for every lock.
        files.pop(f"third-party/share/cmake/executorch/{cmake.FUNCTIONS}", None)
    if "swiftpm" in names:
        remote = _render(lock, ("swiftpm",), remote=True)
        files["Package.swift"] = next(file.text for file in remote if file.path == "Package.swift")
    return files


@pytest.mark.parametrize("case", CASES)
def test_golden_files(case: str) -> None:
    folder = GOLDEN / case
    expected = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert _files(case) == expected


@pytest.mark.parametrize("case", CASES)
def test_every_path_is_relative_and_every_file_says_who_wrote_it(case: str) -> None:
    for name, text in _files(case).items():
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert text.endswith("\n")
        assert "\r" not in text
        if not name.endswith(".json"):
            assert "Written by etfetch" in text[:200], name
        for path in re.findall(r"""["' ](/[A-Za-z][^"'\s$]*)""", text):
            # Options of Microsoft's linker and words in comments begin with a slash, too.
            assert path.startswith("/WHOLEARCHIVE"), (name, path)


SUBSETS = [
    (backends, kernels, libraries)
    for backends in [(), ("xnnpack",)]
    for kernels in [(), ("optimized",), ("quantized",), ("optimized", "quantized")]
    for libraries in [(), ("etdump",)]
]


@pytest.mark.parametrize(("backends", "kernels", "libraries"), SUBSETS)
def test_linux_names_exactly_what_is_locked(
    backends: tuple[str, ...], kernels: tuple[str, ...], libraries: tuple[str, ...]
) -> None:
    lock = _lock(
        package="executorch",
        version="==1.5.1",
        platforms=LINUX,
        backends=backends,
        kernels=kernels,
        libraries=libraries,
    )
    [config] = [f.text for f in _render(lock, ("cmake",)) if f.path.endswith("executorch-config.cmake")]
    for platform in LINUX:
        locked = [f for c in linking.linked(lock, platform) for link in c.links for f in link.files]
        assert locked
        assert sorted(re.findall(rf'"(executorch/{platform}/lib/[^"]+)"', config)) == sorted(locked)
    names = [f"executorch::backend_{name}" for name in backends]
    names += [f"executorch::kernels_{name}" for name in kernels]
    for name in names:
        assert config.count(f"_etfetch_shared({name} ") == len(LINUX)
    if "xnnpack" not in backends:
        assert config.count("_etfetch_not_locked(xnnpack_backend xnnpack)") == len(LINUX)


OPTIONAL = ("backend_coreml", "backend_mps", "backend_xnnpack", "kernels_optimized", "kernels_quantized")


@pytest.mark.parametrize("chosen", [c for n in range(6) for c in combinations(OPTIONAL, n)])
def test_apple_names_exactly_what_is_locked(chosen: tuple[str, ...]) -> None:
    lock = _lock(package="executorch", version="==1.3.1", platforms=APPLE, extras=chosen)
    files = {file.path: file.text for file in _render(lock, NATIVE)}
    for platform in APPLE:
        locked = [f for c in linking.linked(lock, platform) for link in c.links for f in link.files]
        config = files["third-party/share/cmake/executorch/executorch-config.cmake"]
        for file in locked:
            assert config.count(f'"{file}"') == 1
            assert files["etfetch.xcconfig"].count(f'"$(ETFETCH_ROOT)/{file}"') == 1
            assert files["etfetch.rb"].count(f"'{file}'") == 1
    archives = re.findall(r"/([a-z_]+)\.xcframework/ios-arm64/", files["etfetch.xcconfig"])
    assert set(chosen) <= set(archives)
    assert not (set(OPTIONAL) - set(chosen)) & set(archives)
    for name in archives:
        assert files["third-party/Package.swift"].count(f'.binaryTarget(name: "{name}"') == 1


def test_what_needs_comes_after_what_is_needed() -> None:
    wanted, _ = CASES["wheels"]
    names = [component.name for component in linking.linked(_lock(**wanted), "linux-x86_64")]
    assert names.index("executorch") < names.index("threadpool") < names.index("backend_xnnpack")


def test_built_in_components_are_their_holders() -> None:
    lock = _lock(
        package="react-native-executorch",
        version="==0.9.2",
        platforms=("android-arm64-v8a",),
        backends=("vulkan",),
    )
    found = {c.name: c for c in linking.linked(lock, "android-arm64-v8a")}
    assert found["backend_vulkan"].within == "core"
    [config] = [f.text for f in _render(lock, ("cmake",)) if f.path.endswith("executorch-config.cmake")]
    assert "_etfetch_interface(executorch::backend_vulkan)" in config
    assert "_etfetch_alias(vulkan_backend executorch::backend_vulkan)" in config


def test_swiftpm_downloads_what_the_lock_says() -> None:
    wanted, _ = CASES["apple-release"]
    lock = _lock(**wanted)
    [text] = [f.text for f in _render(lock, ("swiftpm",), remote=True) if f.path == "Package.swift"]
    for artifact in lock.artifacts:
        assert text.count(f'url: "{artifact.source}", checksum: "{artifact.sha256}"') == 1


def test_a_lock_without_apple_has_an_empty_configuration() -> None:
    lock = _lock(package="executorch", version="==1.5.1", platforms=("linux-x86_64",))
    [file] = _render(lock, ("xcconfig",))
    assert file.text.endswith("\n// etfetch.lock holds nothing for Apple's platforms.\n")


if __name__ == "__main__":
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for one in CASES:
        for path, content in _files(one).items():
            target = GOLDEN / one / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
