"""What gives operators and delegates: one provider each, the preferred one, nothing that conflicts."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from etfetch import alternatives, offers, shelf
from etfetch.catalogue import Catalogue
from etfetch.manifest import Component
from etfetch.offers import Offer

CARRIED: Catalogue = shelf.read_folder(shelf.carried_folder(), "manifests")
LETTERS = "abcdef"


def _offer(sets: dict[str, str], built_in: str = "") -> Offer:
    components = tuple(Component(name, "kernels", name) for name in sets)
    operators = {name: frozenset(letters) for name, letters in sets.items()}
    return Offer(components, operators, frozenset(name for name in sets if name not in built_in))


def _carried(version: str, platform: str) -> Offer:
    return offers.offer(CARRIED, CARRIED.manifest("executorch", version), platform, "release")


def _names(components: tuple[Component, ...] | None) -> list[str] | None:
    return None if components is None else [component.short for component in components]


SETS = st.dictionaries(
    st.sampled_from("123456"), st.text(LETTERS, min_size=1, max_size=4).map(str), max_size=5
)


@settings(max_examples=500, deadline=None)
@given(SETS, st.sets(st.sampled_from(LETTERS)), st.sets(st.sampled_from("123456"), max_size=2))
def test_every_operator_has_exactly_one_provider(
    sets: dict[str, str], wanted: set[str], present: set[str]
) -> None:
    offer = _offer(sets)
    there = {one.name for one in offer.named(present)}
    if any(offer.conflict(a, b) for a, b in combinations(offer.named(there), 2)):
        return
    chosen = offer.kernels(there, wanted)
    free = [c.name for c in offer.components if c.name not in there]
    possible = [
        group
        for number in range(len(free) + 1)
        for group in combinations(free, number)
        if wanted <= {letter for name in (*group, *there) for letter in sets[name]}
        and not any(set(sets[a]) & set(sets[b]) for a, b in combinations((*group, *there), 2))
    ]
    if chosen is None:
        assert not possible
        return
    names = [component.name for component in chosen]
    together = [*names, *there]
    assert all(sum(letter in sets[name] for name in together) == 1 for letter in wanted)
    assert all(set(sets[name]) & wanted for name in names), "something nobody needs"
    assert any(set(group) == set(names) for group in possible)


def test_the_first_of_several_is_taken() -> None:
    assert _names(_offer({"fast": "ab", "plain": "abc"}).kernels((), "a")) == ["fast"]
    assert _names(_offer({"plain": "abc", "fast": "ab"}).kernels((), "a")) == ["plain"]


def test_the_preferred_one_gives_way_where_it_cannot_give_all() -> None:
    assert _names(_offer({"fast": "ab", "plain": "abc"}).kernels((), "ac")) == ["plain"]


def test_no_choice_without_a_conflict() -> None:
    assert _offer({"fast": "ab", "plain": "ac"}).kernels((), "bc") is None


def test_what_is_built_into_one_library_does_not_conflict() -> None:
    assert _names(_offer({"fast": "ab", "plain": "ac"}, "fastplain").kernels((), "bc")) == ["fast", "plain"]


def test_what_is_there_is_not_added_again() -> None:
    assert _offer({"fast": "ab", "more": "c"}).kernels(("fast",), "a") == ()
    assert _names(_offer({"fast": "ab", "more": "c"}).kernels(("fast",), "ac")) == ["more"]


def test_what_conflicts_with_what_is_there_cannot_be_had() -> None:
    offer = _offer({"fast": "ab", "plain": "abc"})
    assert offer.unmet(("fast",), (), "abc") == ("c",)
    assert offer.unmet((), (), "abcx") == ("x",)


def test_preference_is_the_manifests() -> None:
    # Both register aten::add.out; only the portable ones know aten::cumsum.out.
    ios = _carried("0.5.0", "ios")
    assert _names(ios.kernels((), ["aten::add.out"])) == ["optimized"]
    assert _names(ios.kernels((), ["aten::add.out", "aten::cumsum.out"])) == ["portable"]
    assert ios.kernels((), ["aten::linear.out", "aten::cumsum.out"]) is None


def test_android_of_0_5_0_holds_both_in_one_library() -> None:
    android = _carried("0.5.0", "android-arm64-v8a")
    operators = ["aten::linear.out", "aten::cumsum.out"]
    assert _names(android.kernels((), operators)) == ["portable", "optimized"]


def test_delegates() -> None:
    ios = _carried("1.4.1", "ios")
    assert _names(ios.backends((), ["XnnpackBackend", "CoreMLBackend", "VulkanBackend"])) == [
        "xnnpack",
        "coreml",
    ]
    assert ios.backends(("backend_xnnpack",), ["XnnpackBackend"]) == ()
    assert ios.unmet((), ["VulkanBackend", "CoreMLBackend"], ()) == ("VulkanBackend",)
    android = _carried("1.0.0", "android-arm64-v8a")
    assert _names(android.backends((), ["VulkanBackend"])) == ["vulkan"]


def test_where_else() -> None:
    release = CARRIED.manifest("executorch", "1.5.1")
    said = alternatives.giving(CARRIED, release, "release", "llama::custom_sdpa.out")
    assert said == "`kernels_llm` of executorch 1.4.1 gives it on macos-arm64, ios, ios-simulator"
    assert alternatives.giving(CARRIED, release, "release", "myco::relu.out") is None


def test_every_carried_release_gives_all_its_operators_one_provider() -> None:
    for package in CARRIED.packages:
        for version in CARRIED.versions(package):
            release = CARRIED.manifest(package, version)
            for platform in release.platforms:
                offer = offers.offer(CARRIED, release, platform, "release")
                for component in offer.components:
                    chosen = offer.kernels((release.runtime.name,), offer.operators[component.name])
                    assert chosen is not None, (version, platform, component.name)
