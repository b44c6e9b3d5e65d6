"""Names from outside: what is safe on every platform, what falls together, what a pattern takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etfetch.paths import NameSet, Pattern, fold, parents, unsafe_reason


@pytest.mark.parametrize("path", ["a", "a/b.c", "lib/libx_ios.a", "Ünïcode/☃", "con2", "a b", "..a", "a..b"])
def test_safe(path: str) -> None:
    assert unsafe_reason(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/..",
        "a\\b",
        "C:",
        "a\0",
        "a\n",
        "nul",
        "COM1.txt",
        "x ",
        "x.",
    ],
)
def test_unsafe(path: str) -> None:
    assert unsafe_reason(path)


@given(st.text(max_size=60))
def test_a_safe_path_stays_below_its_root(path: str) -> None:
    if unsafe_reason(path) is None:
        components = path.split("/")
        assert ".." not in components
        assert "" not in components
        assert not path.startswith("/")


def test_parents() -> None:
    assert parents("a/b/c") == ["a", "a/b"]
    assert parents("a") == []


def test_fold() -> None:
    assert fold("Straße") == fold("STRASSE")
    assert fold("cafe\u0301") == fold("CAFÉ")


def test_name_set() -> None:
    names = NameSet()
    assert names.add_folder("dir") is None
    assert names.add_folder("dir") is None
    assert names.add_file("dir/a") is None
    assert names.add_file("dir/A") == "dir/a"
    assert names.add_file("dir") == "dir"
    assert names.add_folder("dir/a") == "dir/a"
    assert names.add_folder("Dir") == "dir"
    assert names.add_file("dir/a/b") == "dir/a"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**", "a/b", True),
        ("a/**", "a/b/c", True),
        ("a/**", "ab/c", False),
        ("a/*.so", "a/x.so", True),
        ("a/*.so", "a/b/x.so", False),
        ("**/*.h", "x.h", True),
        ("**/*.h", "a/b/x.h", True),
        ("a.b", "axb", False),
        ("a/b", "a/b", True),
        ("a+(b)", "a+(b)", True),
    ],
)
def test_pattern(pattern: str, path: str, *, matches: bool) -> None:
    assert Pattern(pattern).matches(path) == matches
