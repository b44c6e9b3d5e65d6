"""Resolving: rules over values, without disk or network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from etfetch import shelf
from etfetch.catalogue import Catalogue, ManifestText, choose_release
from etfetch.errors import ConfigError, ManifestError, ResolutionError
from etfetch.needs import ModelNeeds
from etfetch.request import Origin, Request
from etfetch.resolve import Resolution, resolve

CARRIED = shelf.read_folder(shelf.carried_folder(), "manifests")
IOS = Request("executorch", "==1.4.1", ("ios",))
LINUX = Request("executorch", "==1.5.1", ("linux-x86_64",))
ANDROID = Request("executorch", "==1.0.0", ("android-arm64-v8a",))
RNE = Request("react-native-executorch", "==0.9.2", ("android-arm64-v8a", "ios"))
RNE10 = replace(RNE, version="==0.10.0")

WHOLE = "each archive of executorch 1.0.0 is a whole runtime with one backend built in"


def _names(resolution: Resolution) -> list[str]:
    return [choice.component.name for choice in resolution.choices]


def _archives(resolution: Resolution) -> list[str]:
    return [chosen.artifact.name for chosen in resolution.artifacts]


def _fails(request: Request, origin: Origin | None = None) -> ResolutionError:
    with pytest.raises(ResolutionError) as caught:
        resolve(request, CARRIED, origin)
    assert caught.value.code == 7
    assert caught.value.hint
    return caught.value


# What is in


def test_the_runtime_alone() -> None:
    assert _names(resolve(LINUX, CARRIED)) == ["executorch"]


def test_requirements_come_along() -> None:
    resolution = resolve(replace(LINUX, backends=("xnnpack",), kernels=("optimized",)), CARRIED)
    assert _names(resolution) == ["backend_xnnpack", "executorch", "kernels_optimized", "threadpool"]
    reasons = {choice.component.name: choice.reasons for choice in resolution.choices}
    assert reasons["threadpool"] == ("required by `backend_xnnpack`", "required by `kernels_optimized`")
    assert reasons["backend_xnnpack"] == ("asked for by `backends` on the command line",)


def test_one_archive_with_many_parts() -> None:
    [artifact] = resolve(replace(LINUX, kernels=("quantized",)), CARRIED).artifacts
    assert [part.component for part in artifact.parts] == ["executorch", "kernels_quantized", "threadpool"]


@pytest.mark.parametrize("word", ["xnnpack", "backend_xnnpack", "Backend-XNNPACK"])
def test_spellings(word: str) -> None:
    assert "backend_xnnpack" in _names(resolve(replace(LINUX, extras=(word,)), CARRIED))


def test_variants_choose_the_archive() -> None:
    assert _archives(resolve(IOS, CARRIED)) == ["executorch-1.4.1.zip"]
    assert _archives(resolve(replace(IOS, variant="debug"), CARRIED)) == ["executorch_debug-1.4.1.zip"]


def test_a_debug_request_for_the_only_build_is_a_notice() -> None:
    resolution = resolve(replace(LINUX, variant="debug"), CARRIED)
    assert resolution.notices == ("linux-x86_64: there is one build only, without debug logs",)


def test_all_requested_platforms_are_locked() -> None:
    request = replace(IOS, platforms=("ios", "ios-simulator", "macos-arm64"), backends=("coreml",))
    for artifact in resolve(request, CARRIED).artifacts:
        assert artifact.parts[0].platforms == ("ios", "ios-simulator", "macos-arm64")
        assert len(artifact.parts[0].links) == 3


def test_a_feature() -> None:
    resolution = resolve(replace(RNE10, features=("textToSpeech",)), CARRIED)
    assert {"backend_mlx", "backend_vulkan", "backend_xnnpack", "phonemis"} <= set(_names(resolution))


def test_a_feature_gives_what_each_platform_has_of_it() -> None:
    request = replace(RNE10, platforms=("android-arm64-v8a",), features=("textToSpeech",))
    resolution = resolve(request, CARRIED)
    assert "backend_vulkan" in _names(resolution)
    assert "backend_mlx" not in _names(resolution)
    assert "`mlx` does not exist on android-arm64-v8a and has no effect there" in resolution.absences
    error = _fails(replace(request, backends=("mlx",)))
    assert "android-arm64-v8a: no `mlx`; it exists on ios" in error.data


def test_elsewhere_is_available_without_files() -> None:
    resolution = resolve(replace(RNE10, platforms=("ios",), libraries=("opencv",)), CARRIED)
    assert "opencv" in _names(resolution)
    assert not any("opencv" in name for name in _archives(resolution))
    assert "ios: OpenCV comes from CocoaPods (`opencv-rne`) on iOS" in resolution.notices


def test_an_alias() -> None:
    assert "phonemis" in _names(resolve(replace(RNE10, extras=("phonemizer",)), CARRIED))


def test_built_in_is_a_notice() -> None:
    resolution = resolve(replace(RNE, backends=("vulkan",)), CARRIED)
    assert _archives(resolution) == ["react-native-executorch-0.9.2.tgz"]
    assert resolution.absences == ("`vulkan` does not exist on ios and has no effect there",)
    assert resolution.notices == (
        "android-arm64-v8a: `vulkan`, `xnnpack` built into `core`",
        "ios: `coreml`, `mlx`, `mps`, `xnnpack` built into `core`",
    )


def test_the_simulator_has_no_mlx_built_in() -> None:
    error = _fails(replace(RNE, platforms=("ios-simulator",), backends=("mlx",)))
    assert "ios-simulator: no `mlx`; it exists on ios" in error.data


# Flavours


@pytest.mark.parametrize("backend", ["xnnpack", "vulkan", "qnn"])
def test_the_flavour_that_gives_what_is_asked_for(backend: str) -> None:
    resolution = resolve(replace(ANDROID, backends=(backend,)), CARRIED)
    assert _archives(resolution) == [f"executorch-1.0.0-{backend}.aar"]
    assert len(resolution.rejected) >= 2


def test_the_first_flavour_when_none_is_asked_for() -> None:
    assert _archives(resolve(ANDROID, CARRIED)) == ["executorch-1.0.0-xnnpack.aar"]


def test_two_flavours_cannot_stand_together() -> None:
    error = _fails(replace(ANDROID, backends=("vulkan", "xnnpack")))
    assert error.data[:5] == (
        f"android-arm64-v8a: `xnnpack` and `vulkan` cannot be installed together: {WHOLE}",
        "`executorch-1.0.0-xnnpack.aar` gives `xnnpack`",
        "`executorch-1.0.0-vulkan.aar` gives `vulkan`",
        "`executorch-1.0.0-qnn.aar` gives `qnn`",
        "react-native-executorch 0.10.0 (android-arm64-v8a) has them apart",
    )
    assert error.hint == "ask for one of them, or use the release that has them apart"


def test_kernels_are_in_every_flavour() -> None:
    resolve(replace(ANDROID, backends=("vulkan",), kernels=("optimized", "quantized")), CARRIED)


# Conflicts


@pytest.mark.parametrize("version", ["0.4.0", "0.5.0", "0.6.0"])
def test_optimized_and_portable_register_the_same_operators(version: str) -> None:
    error = _fails(replace(IOS, version=f"=={version}", kernels=("optimized", "portable")))
    assert "both register" in error.data[0]
    assert "RegistrationAlreadyRegistered (0x16)" in error.data[0]
    assert error.hint == "ask for `optimized` or `portable`, not both"


def test_what_is_built_into_one_library_does_not_conflict() -> None:
    request = replace(ANDROID, version="==0.6.0", kernels=("optimized", "portable"))
    assert _archives(resolve(request, CARRIED)) == ["executorch-0.6.0.aar"]


def test_declared_conflicts() -> None:
    text = CARRIED.texts["executorch"]["1.4.1"]
    changed = text.text.replace('short = "mps"\n', 'short = "mps"\nconflicts = ["backend_coreml"]\n')
    catalogue = Catalogue({"executorch": {"1.4.1": ManifestText(changed, "x")}}, CARRIED.operator_sets)
    with pytest.raises(ResolutionError) as caught:
        resolve(replace(IOS, backends=("coreml", "mps")), catalogue)
    assert "ios: `coreml` and `mps` conflict" in caught.value.data


# What cannot be


def test_metal_says_exactly_why() -> None:
    error = _fails(replace(IOS, backends=("metal",)))
    assert error.data[0] == (
        "the command line: `metal` (experimental): no release of ExecuTorch publishes prebuilt Metal "
        "libraries for any platform"
    )
    assert error.hint is not None
    assert "EXECUTORCH_BUILD_METAL=ON" in error.hint


def test_a_slip_of_the_keyboard() -> None:
    origin = Origin("etfetch.toml", 'version = "1.5.1"\nbackends = [\n  "xnpack",\n]\n')
    error = _fails(replace(LINUX, backends=("xnpack",)), origin)
    assert error.data[0] == "etfetch.toml:3: backends: no backend `xnpack`; did you mean `xnnpack`?"
    assert error.data[-1] == (
        "linux-x86_64 has backends openvino, qnn, xnnpack; kernels optimized, quantized; "
        "libraries etdump, threadpool"
    )


def test_a_name_of_another_kind() -> None:
    error = _fails(replace(LINUX, backends=("optimized",)))
    assert error.data[0] == "the command line: `optimized` is no backend but of kind `kernels`"


def test_a_name_that_other_releases_have() -> None:
    error = _fails(replace(LINUX, backends=("vulkan",)))
    assert "`vulkan` is in executorch 1.0.0 (android-arm64-v8a, android-x86_64)" in error.data


def test_an_extra_that_two_kinds_share() -> None:
    error = _fails(replace(IOS, extras=("llm",)))
    assert error.data[0] == (
        "the command line: `llm` may mean `executorch_llm` (library) or `kernels_llm` (kernels); "
        "write the full name"
    )
    assert "kernels_llm" in _names(resolve(replace(IOS, kernels=("llm",)), CARRIED))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    error = _fails(replace(LINUX, backends=("metal", "nope"), kernels=("portabel",), features=("x",)))
    assert len([line for line in error.data if line.startswith("the command line")]) == 4
    assert "features: all, portable, xnnpack, torchao" in error.data


def test_a_platform_without_a_runtime() -> None:
    error = _fails(replace(LINUX, platforms=("ios",)))
    assert error.data == (
        "ios: executorch 1.5.1 has no runtime for it",
        "the newest release for ios is executorch 1.4.1",
        "executorch 1.5.1 is there for linux-x86_64, linux-aarch64, macos-arm64",
    )


def test_an_unknown_feature_names_all() -> None:
    error = _fails(replace(RNE10, features=("texttospeech",)))
    assert error.data[0] == ("the command line: no feature `texttospeech`; did you mean `textToSpeech`?")
    assert error.data[1].startswith("features: all, llm, multimodalLLM")


# Versions


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("", "1.5.1"),
        ("~=1.5.0", "1.5.1"),
        ("<1.5.1", "1.5.0"),
        ("==1.5.0", "1.5.0"),
        ("==1.5.0.20260820", "1.5.0.20260820"),
        (">=1.5.0.20260818,<1.5.1", "1.5.0.20260822"),
        ("~=1.3.0", "1.3.1"),
        ("==1.3.*", "1.3.1"),
    ],
)
def test_choose_release(specifier: str, expected: str) -> None:
    assert choose_release(CARRIED, "executorch", specifier)[0].version == expected


def test_rejections_keep_their_reason() -> None:
    _, rejected = choose_release(CARRIED, "executorch", "<1.5.1")
    reasons = {rejection.name: rejection.reason for rejection in rejected}
    assert reasons["1.5.1"] == "`<1.5.1` does not admit it"
    assert reasons["1.5.0.20260822"] == "a pre-release, which the specifier does not name"


def test_nothing_satisfies() -> None:
    with pytest.raises(ResolutionError) as caught:
        choose_release(CARRIED, "executorch", ">2")
    assert caught.value.message == "no release of `executorch` satisfies `>2`"
    assert caught.value.data[0].startswith("known versions: 1.5.1, 1.5.0.20260822")


def test_an_unknown_package() -> None:
    error = _fails_without_hint(replace(LINUX, package="executorh"))
    assert error.message == "no package `executorh`; did you mean `executorch`?"


def _fails_without_hint(request: Request) -> ResolutionError:
    with pytest.raises(ResolutionError) as caught:
        resolve(request, CARRIED)
    return caught.value


def test_an_unknown_operator_set_names_file_and_key() -> None:
    entry = CARRIED.texts["executorch"]["1.5.1"]
    changed = ManifestText(entry.text.replace('"optimized-1.5.0"', '"optimised-1.5.0"'), "mine/1.5.1.toml")
    catalogue = Catalogue({"executorch": {"1.5.1": changed}}, CARRIED.operator_sets)
    with pytest.raises(ManifestError) as caught:
        resolve(replace(LINUX, kernels=("optimized", "quantized")), catalogue)
    assert caught.value.message == (
        "mine/1.5.1.toml: components.kernels_optimized.operators: no operator set `optimised-1.5.0`; "
        "did you mean `optimized-1.5.0`?"
    )


def test_two_catalogues_that_disagree() -> None:
    own = Catalogue({"executorch": {"1.5.1": ManifestText("schema = 1", "mine/executorch/1.5.1.toml")}})
    with pytest.raises(ConfigError) as caught:
        CARRIED.merged(own)
    assert caught.value.data == ("manifests/executorch/1.5.1.toml", "mine/executorch/1.5.1.toml")


def test_two_catalogues_that_agree() -> None:
    assert CARRIED.merged(CARRIED).texts == CARRIED.texts


# What models need


def _needs(
    path: str = "a.pte", delegates: tuple[str, ...] = (), operators: tuple[str, ...] = ()
) -> ModelNeeds:
    return ModelNeeds(path, "0" * 64, delegates, operators)


def _unmet(request: Request, *models: ModelNeeds) -> ResolutionError:
    with pytest.raises(ResolutionError) as caught:
        resolve(request, CARRIED, models=models)
    assert caught.value.code == 7
    return caught.value


def test_models_bring_backends_and_kernels() -> None:
    model = _needs(delegates=("XnnpackBackend",), operators=("aten::add.out",))
    resolution = resolve(LINUX, CARRIED, models=[model])
    assert _names(resolution) == ["backend_xnnpack", "executorch", "kernels_optimized", "threadpool"]
    reasons = {choice.component.name: choice.reasons for choice in resolution.choices}
    assert reasons["kernels_optimized"] == ("needed by `a.pte`",)
    assert resolution.models == (model,)


def test_operators_of_the_runtime_bring_nothing() -> None:
    [prim] = [c for c in CARRIED.manifest("executorch", "1.5.1").components if c.kind == "runtime"]
    operators = tuple(CARRIED.operators(CARRIED.manifest("executorch", "1.5.1"), prim))
    assert _names(resolve(LINUX, CARRIED, models=[_needs(operators=operators)])) == ["executorch"]


def test_what_is_asked_for_already_gets_one_more_reason() -> None:
    request = replace(LINUX, kernels=("optimized",))
    resolution = resolve(request, CARRIED, models=[_needs(operators=("aten::add.out",))])
    reasons = {choice.component.name: choice.reasons for choice in resolution.choices}
    assert reasons["kernels_optimized"] == (
        "asked for by `kernels` on the command line",
        "needed by `a.pte`",
    )


def test_the_preferred_kernels_unless_they_do_not_suffice() -> None:
    ios = replace(IOS, version="==0.5.0")
    few, many = _needs(operators=("aten::add.out",)), _needs("b.pte", operators=("aten::cumsum.out",))
    assert "kernels_optimized" in _names(resolve(ios, CARRIED, models=[few]))
    both = _names(resolve(ios, CARRIED, models=[few, many]))
    assert "kernels_portable" in both
    assert "kernels_optimized" not in both


def test_models_that_cannot_be_in_one_app() -> None:
    ios = replace(IOS, version="==0.5.0")
    error = _unmet(ios, _needs(operators=("aten::linear.out",)), _needs("b.pte", (), ("aten::cumsum.out",)))
    assert error.data[0].startswith(
        "ios: the models' operators come from kernels that cannot be in one app: "
    )
    assert error.data[0].endswith("it would abort at start with RegistrationAlreadyRegistered (0x16)")
    assert error.data[1:3] == (
        "  only `optimized` has aten::linear.out, for `a.pte`",
        "  only `portable` has aten::cumsum.out, for `b.pte`",
    )


def test_a_backend_that_can_never_be_had() -> None:
    error = _unmet(LINUX, _needs(delegates=("MetalBackend",)))
    assert error.data[0] == (
        "`a.pte` needs `MetalBackend`, not to be had on linux-x86_64; no release of ExecuTorch publishes "
        "prebuilt Metal libraries for any platform"
    )


def test_every_model_that_cannot_load_is_told() -> None:
    first = _needs(delegates=("VulkanBackend",), operators=("myco::relu.out", "aten::add.out"))
    second = _needs("b.pte", operators=("llama::custom_sdpa.out", "llama::update_cache.out"))
    error = _unmet(LINUX, first, second)
    on = "not to be had on linux-x86_64; "
    vulkan = "`backend_vulkan` of executorch 1.0.0 gives it on android-arm64-v8a, android-x86_64"
    llm = "`kernels_llm` of executorch 1.4.1 gives it on macos-arm64, ios, ios-simulator"
    assert error.data[:3] == (
        f"`a.pte` needs `VulkanBackend`, {on}{vulkan}",
        f"`a.pte` needs `myco::relu.out`, {on}no known release has it",
        f"`b.pte` needs `llama::custom_sdpa.out`, `llama::update_cache.out`, {on}{llm}",
    )
    assert error.hint == (
        "what the app registers itself stands in `provided-operators` or `provided-delegates`; else change "
        "platforms or version"
    )


def test_delegates_mean_what_the_manifest_says() -> None:
    # One archive for each backend on Android: the model's decides.
    resolution = resolve(ANDROID, CARRIED, models=[_needs(delegates=("VulkanBackend",))])
    assert _archives(resolution) == ["executorch-1.0.0-vulkan.aar"]
    both = replace(RNE, version="==0.9.2")
    coreml = resolve(both, CARRIED, models=[_needs(delegates=("CoreMLBackend",))])
    [choice] = [c for c in coreml.choices if c.component.short == "coreml"]
    assert choice.platforms == ("ios",)
    assert "android-arm64-v8a: `a.pte` cannot load there: nothing gives `CoreMLBackend`" in coreml.notices


def test_a_model_brings_nothing_where_it_cannot_load() -> None:
    request = replace(IOS, version="==1.5.1", platforms=("linux-x86_64", "macos-arm64"))
    model = _needs(delegates=("CoreMLBackend",), operators=("aten::add.out",))
    on = {
        choice.component.name: choice.platforms
        for choice in resolve(request, CARRIED, models=[model]).choices
    }
    assert on["kernels_optimized"] == on["backend_coreml"] == ("macos-arm64",)
    assert on["executorch"] == ("linux-x86_64", "macos-arm64")


def test_operators_that_nobody_listed_are_not_asked_for() -> None:
    resolution = resolve(RNE, CARRIED, models=[_needs(operators=("aten::add.out",))])
    assert resolution.notices[-1] == (
        "nobody has listed the operators of react-native-executorch 0.9.2: only backends were chosen for the "
        "models"
    )
