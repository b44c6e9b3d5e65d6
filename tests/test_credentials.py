"""Who is shown a credential, and that nobody else ever reads it."""

from __future__ import annotations

import base64

import pytest

from etfetch import credentials
from etfetch.credentials import Credential, Credentials, basic, bearer, for_origin_of, without_credentials


def test_the_host_is_exact() -> None:
    entry = Credential("example.com", "x")
    assert entry.fits("https://example.com/a")
    assert entry.fits("http://EXAMPLE.com:81/a")
    for url in (
        "https://www.example.com/",
        "https://example.com.evil.net/",
        "https://example.comm/",
        "https://evil.net/example.com",
        "https://example.com@evil.net/",
    ):
        assert not entry.fits(url)


def test_scheme_and_port_bind() -> None:
    [entry] = for_origin_of(["https://example.com/et"], "x")
    assert entry.fits("https://example.com:443/other")
    assert not entry.fits("http://example.com/")
    assert not entry.fits("https://example.com:8443/")


def test_the_first_that_fits() -> None:
    both = Credentials((Credential("a", "first", port=1), Credential("a", "second")))
    assert both.for_url("http://a:1/") == "first"
    assert both.for_url("http://a:2/") == "second"
    assert both.for_url("http://b/") is None


def test_nothing_shows_a_secret() -> None:
    entry = Credential("a", bearer("secret"))
    assert "secret" not in repr(entry)
    assert "secret" not in repr(Credentials((entry,)))


def test_headers() -> None:
    assert bearer("t") == "Bearer t"
    assert basic("ü", "p:w") == "Basic " + base64.b64encode("ü:p:w".encode()).decode()


@pytest.mark.parametrize(
    ("url", "bare", "header"),
    [
        ("https://h/x", "https://h/x", None),
        ("https://me:p%40w@h:1/x", "https://h:1/x", basic("me", "p@w")),
        ("https://me@h/x", "https://h/x", basic("me", "")),
        ("file:///x", "file:///x", None),
    ],
)
def test_split(url: str, bare: str, header: str | None) -> None:
    assert credentials.split(url) == (bare, header)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://u:p@h/x", "https://h/x"),
        ("two https://u@h and http://a:b@c/", "two https://h and http://c/"),
        ("mail a@b and https://h/x@y", "mail a@b and https://h/x@y"),
    ],
)
def test_without_credentials(text: str, clean: str) -> None:
    assert without_credentials(text) == clean
