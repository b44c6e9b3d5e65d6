"""What a project wants generated, and what the files say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from etfetch import generate
from etfetch.errors import ConfigError
from etfetch.generate import BuildConfig, GeneratedFile, Material, Outputs
from etfetch.lockfile import Lock, LockedComponent
from etfetch.request import Request
from etfetch.tables import Table

CONFIG = {"file": "rne-build-config.json", "flags": {"enableB": "backend_b", "enableA": "backend_a"}}
LOCK = Lock(
    Request("p", "==1", ("ios",)),
    "1",
    (LockedComponent("backend_a", "backend", ("ios",)), LockedComponent("core", "runtime", ("ios",))),
    (),
)


def _parse(**values: object) -> Outputs:
    return generate.parse(Table(values, "etfetch.toml", ConfigError))


def _render(
    outputs: Outputs, lock: Lock | None, passed: Mapping[str, object] | None = None
) -> tuple[GeneratedFile, ...]:
    return generate.render(Material(outputs, lock, passed or {}), outputs.names)


def test_nothing_is_generated_by_default() -> None:
    outputs = _parse(package="p")
    assert outputs == Outputs(name="p", destination="third-party")
    assert _render(outputs, LOCK) == ()


def test_what_is_asked_for_in_one_order() -> None:
    outputs = _parse(
        **{"consumer-key": "rne", "build-config": {**CONFIG, "pass": ["opencvPod"]}},
        generate=["podspec-guard", "build-config"],
        destination="native/libs/",
    )
    assert outputs == Outputs(
        ("build-config", "podspec-guard"),
        BuildConfig(
            "rne-build-config.json", (("enableB", "backend_b"), ("enableA", "backend_a")), ("opencvPod",)
        ),
        "rne",
        "native/libs",
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"generate": ["build-confg"]},
            (
                "etfetch.toml: generate[0]: `build-confg` is not one of `build-config`, `gradle-guard`, "
                "`podspec-guard`, `cmake`, `registration-check`, `xcconfig`, `cocoapods`, `swiftpm`, "
                "`gradle`; did you mean `build-config`?"
            ),
        ),
        (
            {"generate": ["build-config"]},
            "etfetch.toml: generate: `build-config` needs a table `[build-config]` that says what it holds",
        ),
        (
            {"build-config": {**CONFIG, "file": "package.json"}},
            "etfetch.toml: build-config.file: `package.json`: it does not end in `-config.json`",
        ),
        (
            {"build-config": {**CONFIG, "file": "../x-config.json"}},
            "etfetch.toml: build-config.file: `../x-config.json`: `..` is not allowed in a path",
        ),
        (
            {"build-config": {**CONFIG, "flag": {}}},
            "etfetch.toml: build-config.flag: unknown key; did you mean `flags`?",
        ),
    ],
)
def test_wrong_wishes(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _parse(**values)
    assert caught.value.message == message


def test_the_build_configuration_says_what_is_locked() -> None:
    outputs = _parse(generate=["build-config"], **{"build-config": CONFIG})
    [file] = _render(outputs, LOCK, {"opencvPod": "Größe"})
    assert (file.path, file.generator) == ("rne-build-config.json", "build-config")
    assert file.text == '{\n  "enableB": false,\n  "enableA": true,\n  "opencvPod": "Größe"\n}\n'
    both = (*LOCK.components, LockedComponent("backend_b", "backend", ("android-x86_64",)))
    [other] = _render(outputs, replace(LOCK, components=both))
    assert json.loads(other.text) == {"enableB": True, "enableA": True}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("podspec-guard", "end.call(__dir__, 'it\\'s ${x} #{y}', 'third \"party')\n"),
        ("gradle-guard", "guard(buildscript.sourceFile.parentFile, 'it\\'s ${x} #{y}', 'third \"party')\n"),
    ],
)
def test_names_stay_text_in_other_languages(name: str, line: str) -> None:
    outputs = Outputs((name,), None, "it's ${x} #{y}", 'third "party')
    [file] = _render(outputs, None)
    assert file.text.endswith(line)
    assert "\r" not in file.text
