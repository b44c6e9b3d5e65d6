"""The manifest's format: what is refused, and in which words."""

from __future__ import annotations

import pytest

from etfetch import manifest
from etfetch.errors import ManifestError

GOOD = """\
schema = 1
package = "demo"
version = "1.0"

[components.runtime]
kind = "runtime"

[[artifacts]]
name = "a.tar.gz"
source = "https://host/a.tar.gz"
sha256 = "{digest}"
size = 3

[[artifacts.parts]]
component = "runtime"
platforms = ["ios"]
members = ["**"]
to = "demo"
""".format(digest="0" * 64)


def _error(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        manifest.parse(text, "demo/1.0.toml")
    assert caught.value.code == 2
    return caught.value.message


def test_a_good_one() -> None:
    parsed = manifest.parse(GOOD, "demo/1.0.toml")
    assert parsed.artifacts[0].format == "tar.gz"
    assert parsed.artifacts[0].parts[0].to == "demo"
    assert parsed.runtime.short == "runtime"
    assert parsed.platforms == ("ios",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0" * 64, "0" * 63, "artifacts[0].sha256: expected 64 hex digits"),
        ("0" * 64, "G" * 64, "artifacts[0].sha256: expected 64 hex digits"),
        ("schema = 1", "schema = 2", "schema: this etfetch reads manifests of schema 1, not 2"),
        (
            'kind = "runtime"',
            'kind = "runtim"',
            "components.runtime.kind: `runtim` is not one of `runtime`, `backend`, `kernels`, ",
        ),
        ('["ios"]', '["iso"]', "artifacts[0].parts[0].platforms[0]: `iso` is not one of"),
        ('["ios"]', "[]", "artifacts[0].parts[0].platforms: names no platform"),
        ('["ios"]', '"ios"', "artifacts[0].parts[0].platforms: expected a list of strings, not a string"),
        ('["**"]', "[1]", "artifacts[0].parts[0].members[0]: expected a string, not an integer"),
        ('["**"]', "[]", "artifacts[0].parts[0].members: names no member"),
        ('to = "demo"', 'to = "../x"', "artifacts[0].parts[0].to: `../x`: `..` is not allowed in a path"),
        ('to = "demo"', 'to = "/etc"', "artifacts[0].parts[0].to: `/etc`: the path is absolute"),
        ('to = "demo"', 'to = ".etfetch/x"', "artifacts[0].parts[0].to: `.etfetch` is etfetch's own folder"),
        ('to = "demo"', "strip = -1", "artifacts[0].parts[0].strip: expected a number that is not negative"),
        (
            'to = "demo"',
            "strip = true",
            "artifacts[0].parts[0].strip: expected an integer, not true or false",
        ),
        ("size = 3", "sise = 3", "artifacts[0].sise: unknown key; did you mean `size`?"),
        ("size = 3", 'checksum = "sidecar"', 'artifacts[0].sha256: stands beside `checksum = "sidecar"`'),
        (
            'component = "runtime"',
            'component = "runtme"',
            "artifacts[0].parts[0].component: no component `runtme`; did you mean `runtime`?",
        ),
        ('a.tar.gz"\nsource', '../a.tar.gz"\nsource', "artifacts[0].name: `../a.tar.gz` is not a file name"),
        (
            "https://host",
            "gopher://host",
            "artifacts[0].source: `gopher://host/a.tar.gz` starts with none of",
        ),
        ("https://host", "https://me:pw@host", "artifacts[0].source: a source may not hold credentials"),
        (
            "https://host/a",
            "https://host/ a",
            "artifacts[0].source: a space or control character in a source",
        ),
        ('name = "a.tar.gz"', 'name = "a.rar"', "artifacts[0].format: is missing, and the name's ending"),
        ('version = "1.0"', "version = 1.0", "version: expected a string, not a number"),
        ('version = "1.0"', "", "version: is missing"),
        ('package = "demo"', 'package = "-demo"', "package: `-demo` is not a name"),
        ("[components.runtime]", "[components.other]", "artifacts[0].parts[0].component: no component"),
        ('kind = "runtime"', 'kind = "library"', "components: expected one of kind `runtime`, found 0"),
        (
            'kind = "runtime"',
            'kind = "runtime"\nrequires = ["x"]',
            "components.runtime.requires: no component `x`",
        ),
        ("schema = 1", "schema = ", "not valid TOML: Invalid value (at line 1, column 10)"),
        ("[[artifacts]]", "[artifacts]", "artifacts: expected a list of tables"),
    ],
)
def test_errors_know_their_address(old: str, new: str, message: str) -> None:
    assert old in GOOD
    found = _error(GOOD.replace(old, new, 1))
    assert found.startswith(f"demo/1.0.toml: {message}")


def test_two_artifacts_of_one_name() -> None:
    again = GOOD + GOOD[GOOD.index("[[artifacts]]") :]
    assert _error(again) == "demo/1.0.toml: artifacts[1].name: `a.tar.gz` stands twice"


def test_a_newer_schema_says_to_upgrade() -> None:
    with pytest.raises(ManifestError) as caught:
        manifest.parse("schema = 99", "x")
    assert caught.value.hint == "upgrade etfetch"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.tgz", "tar.gz"), ("A.WHL", "zip"), ("a.aar", "zip"), ("a.tar.zst", "tar.zst"), ("a.7z", None)],
)
def test_format_of(name: str, expected: str | None) -> None:
    assert manifest.format_of(name) == expected


def test_a_sidecar_has_a_default_name() -> None:
    text = GOOD.replace(f'sha256 = "{"0" * 64}"', 'checksum = "sidecar"')
    assert manifest.parse(text, "x").artifacts[0].sidecar == "a.tar.gz.sha256"
