"""Every manifest in the repository: it parses, and it says what was measured on the published files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from etfetch import shelf
from etfetch.catalogue import Catalogue
from etfetch.errors import ManifestError
from etfetch.manifest import Artifact, Manifest
from etfetch.offers import available
from etfetch.platforms import PLATFORMS
from etfetch.request import Request
from etfetch.resolve import resolve

FACTS = Path(__file__).parent / "facts"
CATALOGUE = shelf.read_folder(shelf.carried_folder(), "manifests")
RELEASES = [(package, version) for package in CATALOGUE.packages for version in CATALOGUE.versions(package)]


def _facts(name: str) -> Any:  # noqa: ANN401  # whatever the facts are shaped like
    return json.loads((FACTS / f"{name}.json").read_text())


APPLE = _facts("apple-archives")["releases"]
PREBUILT = _facts("prebuilt")
OPERATORS = _facts("operators")


def _all() -> list[Manifest]:
    return [CATALOGUE.manifest(package, version) for package, version in RELEASES]


def _artifacts(release: Manifest) -> dict[str, Artifact]:
    return {artifact.name: artifact for artifact in release.artifacts}


@pytest.mark.parametrize(("package", "version"), RELEASES)
def test_it_parses_and_its_operator_sets_exist(package: str, version: str) -> None:
    release = CATALOGUE.manifest(package, version)
    for component in release.components:
        assert bool(CATALOGUE.operators(release, component)) == bool(component.operators)
        if component.kind == "backend":
            assert component.delegate == OPERATORS["backend_ids"][component.short]
    assert release.platforms
    assert release.component("backend_metal").unavailable


def test_there_are_all_releases() -> None:
    android = {entry["version"] for entry in PREBUILT["android_archives"]["executorch"]["archives"]}
    wheels = {entry["version"] for entry in PREBUILT["pypi"]["executorch"]["wheels"]}
    assert set(CATALOGUE.versions("executorch")) == {*APPLE, *android, *wheels}
    tarballs = {e["version"] for e in PREBUILT["npm"]["react-native-executorch"]["tarballs"]}
    assert set(CATALOGUE.versions("react-native-executorch")) == {*tarballs, "0.10.0"}


@pytest.mark.parametrize("version", APPLE)
def test_apple_archives(version: str) -> None:
    release, facts = CATALOGUE.manifest("executorch", version), APPLE[version]
    found = _artifacts(release)
    zips = {name for name in found if name.endswith(".zip")}
    expected = set()
    for name, entry in facts["archives"].items():
        for variant, suffix in (("release", ""), ("debug", "_debug")):
            file = f"{name}{suffix}-{version}.zip"
            expected.add(file)
            artifact = found[file]
            assert artifact.sha256 == entry[f"sha256{suffix}"]
            assert artifact.source == facts["base_url"] + file
            assert artifact.variant == variant
            [part] = artifact.parts
            assert part.component == name
            for link in part.links:
                assert set(link.frameworks) == set(entry.get("frameworks", []))
                assert set(link.libraries) == {*entry.get("libraries", []), "c++"}
        needed = {target for target in entry.get("targets", []) if target != "executorch"}
        assert set(release.component(name).requires) == needed
    assert zips == expected
    assert release.prerelease == (version.count(".") == 3)


def test_apple_slices() -> None:
    part = _artifacts(CATALOGUE.manifest("executorch", "1.4.1"))["backend_xnnpack-1.4.1.zip"].parts[0]
    root = "executorch/apple/backend_xnnpack.xcframework"
    assert {link.platforms: link.files for link in part.links} == {
        ("ios",): (f"{root}/ios-arm64/libbackend_xnnpack_ios.a",),
        ("ios-simulator",): (f"{root}/ios-arm64-simulator/libbackend_xnnpack_simulator.a",),
        ("macos-arm64",): (f"{root}/macos-arm64/libbackend_xnnpack_macos.a",),
    }


def test_0_4_0_has_no_macos() -> None:
    assert "macOS" not in APPLE["0.4.0"]["platforms"]
    assert CATALOGUE.manifest("executorch", "0.4.0").platforms == ("ios", "ios-simulator")


@pytest.mark.parametrize("entry", PREBUILT["pypi"]["executorch"]["wheels"], ids=lambda e: e["file"])
def test_wheels(entry: dict[str, Any]) -> None:
    release = CATALOGUE.manifest("executorch", entry["version"])
    artifact = _artifacts(release)[entry["file"]]
    assert (artifact.sha256, artifact.size) == (entry["sha256"], entry["size"])
    assert artifact.source == f"pypi:executorch=={entry['version']}/{entry['file']}"
    libraries = {
        file.rpartition("/")[2] for part in artifact.parts for link in part.links for file in link.files
    }
    known = PREBUILT["pypi"]["executorch"]["libraries"]
    listed = known["macos-arm64" if entry["platform"] == "macos-arm64" else "linux"]
    expected = set()
    for name, files in listed.items():
        if "x86_64 only" in name and entry["platform"] != "linux-x86_64":
            continue
        expected |= {files} if isinstance(files, str) else {files[0]}
    assert libraries == expected


def test_the_npm_tarballs() -> None:
    for entry in PREBUILT["npm"]["react-native-executorch"]["tarballs"]:
        release = CATALOGUE.manifest("react-native-executorch", entry["version"])
        [artifact] = release.artifacts
        assert (artifact.sha256, artifact.size) == (entry["sha256"], entry["size"])
        assert artifact.source == f"npm:react-native-executorch@{entry['version']}"


def test_the_release_archives_of_0_10_0() -> None:
    facts = PREBUILT["github_release"]["react-native-executorch"]
    release = CATALOGUE.manifest("react-native-executorch", "0.10.0")
    assert set(_artifacts(release)) == {f"{name}.tar.gz" for name in facts["archives"]}
    for artifact in release.artifacts:
        base, _, file = artifact.source.rpartition("/")
        assert base in facts["libs_0.10.0"]
        assert file == artifact.name
        assert (artifact.sha256, artifact.sidecar) == (None, f"{artifact.name}.sha256")
    assert len(release.features) == 19


def test_android_archives() -> None:
    facts = PREBUILT["android_archives"]["executorch"]
    for entry in facts["archives"]:
        release = CATALOGUE.manifest("executorch", entry["version"])
        [artifact] = [a for a in release.artifacts if a.source == facts["base_url"] + entry["path"]]
        assert artifact.sidecar == "executorch.aar.sha256sums"
        provided = {name for part in artifact.parts for name in part.provides if "backend" in name}
        assert provided == {f"backend_{name}" for name in entry["backends"]}
        assert (artifact.flavour is None) == (entry["version"] != "1.0.0")


# Which of the facts' families each kernels component registers, by version.
FAMILIES = {
    "kernels_portable": ["portable"],
    "kernels_quantized": ["quantized"],
    "kernels_custom": ["llm"],
    "kernels_llm": ["llm"],
}


@pytest.mark.parametrize("version", OPERATORS["operators"])
def test_operators(version: str) -> None:
    release, facts = CATALOGUE.manifest("executorch", version), OPERATORS["operators"][version]
    assert CATALOGUE.operators(release, release.runtime) == set(facts["prim"])
    for component in release.components:
        if component.name in FAMILIES:
            expected = {name for family in FAMILIES[component.name] for name in facts[family]}
            assert CATALOGUE.operators(release, component) == expected
        if component.name == "kernels_optimized":
            merged = tuple(map(int, version.split(".")[:2])) >= (0, 7)
            expected = {*facts["optimized"], *(facts["portable"] if merged else [])}
            assert CATALOGUE.operators(release, component) == expected
        if component.name == "kernels_torchao":
            assert CATALOGUE.operators(release, component) == set(OPERATORS["torchao_1.x"])


@pytest.mark.parametrize("version", ["1.5.0", "1.5.1"])
def test_operators_of_the_wheels(version: str) -> None:
    release = CATALOGUE.manifest("executorch", version)
    seen = OPERATORS["wheel_1.5.1"]["libraries"]["linux-x86_64"]
    count = {
        name: len(CATALOGUE.operators(release, release.component(name))) for name in _registering(release)
    }
    # Asked of the running registry on Linux (28, 212, 19) and read off the macOS library (28).
    assert count == {
        "executorch": 28,
        "kernels_optimized": 212,
        "kernels_quantized": 19,
        "kernels_torchao": 28,
    }
    optimized = CATALOGUE.operators(release, release.component("kernels_optimized"))
    assert set(seen["libexecutorch_kernels_optimized.so"]["operators"]) < optimized
    quantized = CATALOGUE.operators(release, release.component("kernels_quantized"))
    dead = set(seen["libexecutorch_kernels_quantized.so"]["operators"]) - quantized
    assert {name.partition(".")[0] for name in dead} == {"quantized_decomposed::embedding_xbit"}


def _registering(release: Manifest) -> list[str]:
    return [component.name for component in release.components if component.operators]


def test_operator_sets_are_stored_once() -> None:
    texts = list(CATALOGUE.operator_sets.values())
    assert len(set(texts)) == len(texts)
    used = {name for release in _all() for c in release.components for name in c.operators}
    assert used == set(CATALOGUE.operator_sets)
    for text in texts:
        assert text.splitlines() == sorted(set(text.split()))


@pytest.mark.parametrize(("package", "version"), RELEASES)
def test_every_platform_of_every_release_resolves(package: str, version: str) -> None:
    release = CATALOGUE.manifest(package, version)
    for platform in release.platforms:
        for component in release.components:
            if component.unavailable or not available(release, component.name, platform, "release"):
                continue
            request = Request(package, f"=={version}", (platform,), extras=(component.name,))
            resolution = resolve(request, CATALOGUE)
            assert component in [choice.component for choice in resolution.choices]


@pytest.mark.parametrize(("package", "version"), RELEASES)
def test_link_facts_point_at_files_of_their_part(package: str, version: str) -> None:
    for artifact in CATALOGUE.manifest(package, version).artifacts:
        for part in artifact.parts:
            for link in part.links:
                assert set(link.platforms) <= set(PLATFORMS)
                assert all(file.startswith(part.to) for file in link.files)


def test_a_text_of_a_wrong_version_is_refused() -> None:
    moved = Catalogue({"executorch": {"9.9": CATALOGUE.texts["executorch"]["1.5.1"]}})
    with pytest.raises(ManifestError, match="says it is executorch 1"):
        moved.manifest("executorch", "9.9")


FEATURES = [
    (package, version, feature.name)
    for package in CATALOGUE.packages
    for version in CATALOGUE.versions(package)
    for feature in CATALOGUE.manifest(package, version).features
]


@pytest.mark.parametrize(("package", "version", "feature"), FEATURES)
def test_every_feature_can_be_had_on_every_platform(package: str, version: str, feature: str) -> None:
    manifest = CATALOGUE.manifest(package, version)
    for platform in manifest.platforms:
        request = Request(package, f"=={version}", (platform,), features=(feature,))
        found = {choice.component.name for choice in resolve(request, CATALOGUE).choices}
        wanted = next(f.components for f in manifest.features if f.name == feature)
        there = {name for name in wanted if available(manifest, name, platform, "release")}
        assert there <= found
