"""What a library's project file says, and what an app's block means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from etfetch import library
from etfetch.errors import ConfigError
from etfetch.library import Choices, Library, StandIn
from etfetch.tables import Table

PLATFORMS = {"platforms": ["ios"]}
RNE = Library("rne", "etfetch.lock", ("opencvPod",), ())


def _parse(**values: object) -> Library | None:
    return library.parse(Table(values, "etfetch.toml", ConfigError), "etfetch.lock", ("opencvPod",))


def _choices(block: Mapping[str, Any]) -> Choices:
    return library.choices(RNE, Table(block, "package.json", ConfigError))


def _with(**names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {key: names.get(key, ()) for key in ("backends", "kernels", "libraries", "extras", "features")}


def test_a_project_without_a_consumer_key_is_no_library() -> None:
    assert _parse(platforms=["ios"]) is None


def test_a_library() -> None:
    found = _parse(
        **PLATFORMS,
        **{"consumer-key": "rne", "lock": "rne.lock"},
        environment={"RNE_NO_X86": "ETFETCH_EXCLUDE_PLATFORMS=android-x86_64", "RNE_URL": "ETFETCH_BASE_URL"},
    )
    assert found == Library(
        "rne",
        "rne.lock",
        ("opencvPod",),
        (
            StandIn("RNE_NO_X86", "ETFETCH_EXCLUDE_PLATFORMS", "android-x86_64"),
            StandIn("RNE_URL", "ETFETCH_BASE_URL"),
        ),
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"consumer-key": "rne"}, "etfetch.toml: platforms: is missing: a library says what it is built for"),
        ({"consumer-key": "", **PLATFORMS}, "etfetch.toml: consumer-key: is not a key of a `package.json`"),
        (
            {"consumer-key": "a\nb", **PLATFORMS},
            "etfetch.toml: consumer-key: is not a key of a `package.json`",
        ),
        ({"lock": "x.lock"}, "etfetch.toml: lock: belongs to a library, which has a `consumer-key`"),
        (
            {"environment": {"A": "B"}},
            "etfetch.toml: environment: belongs to a library, which has a `consumer-key`",
        ),
        (
            {"consumer-key": "rne", "lock": "../x.lock", **PLATFORMS},
            "etfetch.toml: lock: `../x.lock` is not a lock's name: it holds a slash",
        ),
        (
            {"consumer-key": "rne", "lock": "package.json", **PLATFORMS},
            "etfetch.toml: lock: `package.json` is not a lock's name: it does not end in `.lock`",
        ),
        (
            {"consumer-key": "rne", "environment": {"MINE": "ETFETCH_TOKEN"}, **PLATFORMS},
            (
                "etfetch.toml: environment.MINE: `ETFETCH_TOKEN` is not one of ETFETCH_BASE_URL, "
                "ETFETCH_CACHE_DIR, ETFETCH_EXCLUDE_PLATFORMS, ETFETCH_HEADERS_ONLY, ETFETCH_OFFLINE, "
                "ETFETCH_PLATFORMS, ETFETCH_SKIP_DOWNLOAD"
            ),
        ),
    ],
)
def test_wrong_libraries(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _parse(**values)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {}),
        ({"OLD": "a"}, {"ETFETCH_BASE_URL": "a"}),
        ({"OLD": "a", "ETFETCH_BASE_URL": "b"}, {"ETFETCH_BASE_URL": "b"}),
        ({"OLD": "a", "ETFETCH_BASE_URL": ""}, {"ETFETCH_BASE_URL": "a"}),
        ({"NO_X86": "1"}, {"ETFETCH_EXCLUDE_PLATFORMS": "android-x86_64"}),
        ({"NO_X86": "0"}, {}),
    ],
)
def test_older_variables_stand_for_etfetchs_own(
    environment: dict[str, str], expected: dict[str, str]
) -> None:
    old = StandIn("OLD", "ETFETCH_BASE_URL")
    without = StandIn("NO_X86", "ETFETCH_EXCLUDE_PLATFORMS", "android-x86_64")
    found = Library("rne", "etfetch.lock", (), (old, without)).variables(environment)
    assert {name: value for name, value in found.items() if name.startswith("ETFETCH_") and value} == expected


@pytest.mark.parametrize(
    ("block", "names", "passed"),
    [
        ({}, _with(), {}),
        ({"backends": [], "libs": None}, _with(), {}),
        (
            {"extras": ["opencv", "phonemizer", "coreml"]},
            _with(extras=("coreml", "opencv", "phonemizer")),
            {},
        ),
        (
            {"backends": ["b", "a", "b"], "libs": ["l"], "features": ["f"]},
            _with(backends=("a", "b"), libraries=("l",), features=("f",)),
            {},
        ),
        ({"opencvPod": "other"}, _with(), {"opencvPod": "other"}),
        ({"opencvPod": None}, _with(), {"opencvPod": None}),
    ],
)
def test_blocks(block: dict[str, Any], names: dict[str, tuple[str, ...]], passed: dict[str, Any]) -> None:
    assert _choices(block) == Choices(names, passed)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"backend": []}, "package.json: backend: unknown key; did you mean `backends`?"),
        ({"libs": "opencv"}, "package.json: libs: expected a list of strings, not a string"),
        ({"libs": [1]}, "package.json: libs[0]: expected a string, not an integer"),
    ],
)
def test_wrong_blocks(block: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _choices(block)
    assert caught.value.message == message


def test_apps_that_share_a_copy_get_what_any_of_them_asks_for() -> None:
    one = _choices({"backends": ["xnnpack"], "opencvPod": "a"})
    other = _choices({"backends": ["vulkan", "xnnpack"], "libs": ["opencv"]})
    names = _with(backends=("vulkan", "xnnpack"), libraries=("opencv",))
    assert library.together([one, other]) == (Choices(names, {"opencvPod": "a"}), None)
    third = _choices({"opencvPod": "b"})
    assert library.together([one, other, third])[1] == "opencvPod"
