"""The list of places: its grammar, its order, its addresses, and what an index may say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etfetch import mirrors
from etfetch.errors import ConfigError, ManifestError
from etfetch.mirrors import Index, Place, Wanted

A, B = "https://a.internal/et", "http://b:8080"
DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (A, [Place(A)]),
        (f"{A}/", [Place(A)]),
        (f" {A} , {B} ", [Place(A), Place(B)]),
        (f"{A}|{B}", [Place(A, lenient=True), Place(B)]),
        (f"{A},{B}|origin", [Place(A), Place(B, lenient=True), Place(None)]),
        ("origin", [Place(None)]),
        ("file:///srv/et", [Place("file:///srv/et")]),
    ],
)
def test_the_grammar(text: str, places: list[Place]) -> None:
    assert list(mirrors.parse(text, "`X`")) == places


@pytest.mark.parametrize("text", ["", ",", f"{A},", f"{A}||{B}", "ftp://x", "releases", "https://", "Origin"])
def test_what_is_no_mirror(text: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a mirror") as caught:
        mirrors.parse(text, "`ETFETCH_MIRRORS`")
    assert caught.value.message.startswith("`ETFETCH_MIRRORS`: ")


@pytest.mark.parametrize("text", ["me:secret@host/et", "https//me:secret@host", "https://me:secret"])
def test_a_login_in_the_wrong_place_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="a part of the list is not the address of a mirror") as caught:
        mirrors.parse(text, "`ETFETCH_MIRRORS`")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", [f"{A}?x=1", f"{A}#x", "https://a/b c"])
def test_an_address_without_ornaments(text: str) -> None:
    with pytest.raises(ConfigError, match="has no query, fragment or space"):
        mirrors.parse(text, "`X`")


def test_the_order() -> None:
    listed = mirrors.parse(f"{A},{B},{A}", "`X`")
    assert mirrors.order(listed, block_origin=False) == (Place(A), Place(B), Place(None))
    assert mirrors.order(listed, block_origin=True) == (Place(A), Place(B))
    assert mirrors.order((), block_origin=False) == (Place(None),)
    assert mirrors.order((), block_origin=True) == ()
    first = mirrors.parse(f"origin|{A}", "`X`")
    assert mirrors.order(first, block_origin=False) == (Place(None, lenient=True), Place(A))
    assert mirrors.order(first, block_origin=True) == (Place(A),)


def test_addresses() -> None:
    wanted = Wanted("executorch", "1.0+x", "a b.zip", "https://origin/a.zip")
    assert mirrors.address(A, wanted, indexed=True) == f"{A}/executorch/1.0%2Bx/a%20b.zip"
    assert mirrors.address(A, wanted, indexed=False) == f"{A}/a%20b.zip"


def _values(**changes: object) -> dict[str, object]:
    return {"schema": 1, "packages": {"demo": {"1.0": DIGEST}}, **changes}


def test_an_index() -> None:
    index = mirrors.parse_index(_values(operators={"demo-plain": DIGEST}), "x")
    assert index == Index({"demo": {"1.0": DIGEST}}, {"demo-plain": DIGEST})
    assert mirrors.parse_index(mirrors.index_values(index), "x") == index


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "x: expected an object"),
        ({}, "x: schema: is missing"),
        (_values(schema=2), "x: schema: this etfetch reads indexes of schema 1, not 2"),
        (_values(packages=[]), "x: packages: expected a table, not a list"),
        (_values(packages={"../up": {}}), 'x: packages."../up": not a name that can stand here'),
        (_values(packages={"a": {"../1": DIGEST}}), 'x: packages.a."../1": not a name that can stand here'),
        (_values(packages={"a": {"latest": DIGEST}}), "x: packages.a.latest: not a name that can stand here"),
        (_values(packages={"a": {"1.0": "ab"}}), 'x: packages.a."1.0": expected 64 hex digits'),
        (_values(packages={"a": {"1.0": 1}}), 'x: packages.a."1.0": expected a string, not an integer'),
        (_values(operators={"a/b": DIGEST}), 'x: operators."a/b": not a name that can stand here'),
    ],
)
def test_an_index_that_breaks_the_format(values: object, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        mirrors.parse_index(values, "x")
    assert caught.value.message == words


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_no_json_makes_it_fall_over(values: Any) -> None:  # noqa: ANN401  # anything at all
    shapes = (values, _values(packages=values), _values(packages={"a": values}), _values(operators=values))
    for shape in shapes:
        try:
            index = mirrors.parse_index(json.loads(json.dumps(shape)), "x")
        except ManifestError:
            continue
        assert mirrors.parse_index(mirrors.index_values(index), "x") == index
