"""Mirrors, credentials, proxies and certificates, from flags, the environment and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from etfetch import config, netconfig
from etfetch.config import Options
from etfetch.credentials import basic, bearer
from etfetch.errors import ConfigError
from etfetch.mirrors import Place
from etfetch.netconfig import Access
from etfetch.sources import Certificates, Proxies

A, B, C = "https://a.internal/et", "https://b.internal/et", "https://c.internal/et"


class Folder:
    """A project, a home and an environment to set."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch

    def env(self, **variables: str) -> Folder:
        for name, value in variables.items():
            self.monkeypatch.setenv(name, value)
        return self

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.write_text(text, encoding="utf-8")
        return path

    def access(self, **options: str) -> Access:
        chosen = Options(project=str(self.root), **options)  # type: ignore[arg-type]
        return netconfig.access_of(config.find_project(chosen), chosen)

    def fails(self, **options: str) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.access(**options)
        return caught.value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    for name in ("GITHUB_TOKEN", "NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR", "npm_config_user_agent"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MIRRORS", "BASE_URL", "TOKEN", "CONFIG", "BLOCK_ORIGIN"):
        monkeypatch.delenv(f"ETFETCH_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    return Folder(tmp_path, monkeypatch)


def _bases(access: Access) -> list[str | None]:
    return [place.base for place in access.places]


# Mirrors


def test_without_a_word_there_is_the_origin(folder: Folder) -> None:
    assert folder.access() == Access((Place(None),), folder.access().credentials, Proxies(), Certificates())
    assert folder.access().credentials.entries == ()


def test_who_names_mirrors(folder: Folder) -> None:
    folder.write("user.toml", f'[mirror]\nurls = ["{C}"]\n')
    folder.env(ETFETCH_CONFIG=str(folder.root / "user.toml"))
    assert _bases(folder.access()) == [C, None]
    folder.write("etfetch.toml", f'[mirror]\nurls = ["{B}", "origin"]\n')
    assert _bases(folder.access()) == [B, None]
    folder.env(ETFETCH_MIRRORS=f"{A}|{C}")
    assert folder.access().places == (Place(A, lenient=True), Place(C), Place(None))
    folder.env(ETFETCH_BASE_URL=B)
    assert _bases(folder.access()) == [B, A, C, None]
    assert _bases(folder.access(base_url=C)) == [C, A, None]


@pytest.mark.parametrize("name", ["pyproject.toml", "package.json"])
def test_mirrors_in_the_other_project_files(folder: Folder, name: str) -> None:
    text = f'[tool.etfetch.mirror]\nurls = ["{A}"]\n'
    if name == "package.json":
        text = f'{{"etfetch": {{"mirror": {{"urls": ["{A}"]}}}}}}'
    folder.write(name, text)
    assert _bases(folder.access()) == [A, None]


def test_the_origin_can_be_blocked(folder: Folder) -> None:
    folder.env(ETFETCH_BLOCK_ORIGIN="1", ETFETCH_MIRRORS=f"{A},origin")
    assert _bases(folder.access()) == [A]


def test_the_user_can_block_it_for_all_projects(folder: Folder) -> None:
    folder.env(ETFETCH_CONFIG=str(folder.write("c.toml", "[mirror]\nblock-origin = true\n")))
    assert _bases(folder.access()) == []


def test_the_configuration_in_its_usual_place(folder: Folder) -> None:
    (folder.root / ".config/etfetch").mkdir(parents=True)
    folder.write(".config/etfetch/config.toml", f'[mirror]\nurls = ["{A}"]\n')
    assert _bases(folder.access()) == [A, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mirror]\nurl = 1\n", "unknown key; did you mean `urls`?"),
        ("[mirrors]\n", "unknown key; did you mean `mirror`?"),
        ("x = \n", "not valid TOML"),
        ('[credentials."h"]\n', "needs either `token`, or `username` and `password`"),
        ('[credentials."h"]\ntoken = "t"\nusername = "u"\n', "needs either `token`, or `username`"),
        ('[credentials."https://h"]\ntoken = "t"\n', "is not a host"),
        ('[credentials."h:x"]\ntoken = "t"\n', "is not a host"),
        ('[credentials."h"]\ntoken = "a\\nb"\n', "holds a character that cannot be sent"),
        ('[mirror]\nurls = ["ftp://x"]\n', "`ftp://x` is not the address of a mirror"),
    ],
)
def test_a_wrong_configuration(folder: Folder, text: str, message: str) -> None:
    path = folder.write("c.toml", text)
    error = folder.env(ETFETCH_CONFIG=str(path)).fails()
    assert message in error.message
    assert str(path) in error.message
    assert error.code == 2


def test_a_configuration_that_is_not_there(folder: Folder) -> None:
    error = folder.env(ETFETCH_CONFIG="/no/such/file").fails()
    assert error.message == "`ETFETCH_CONFIG` names `/no/such/file`, which is not there"


def test_a_project_file_may_hold_no_login(folder: Folder) -> None:
    folder.write("etfetch.toml", '[mirror]\nurls = ["https://me:secret@a.internal/et"]\n')
    error = folder.fails()
    assert error.message == "etfetch.toml: mirror.urls: a mirror's address may not hold a login"
    assert error.data == ("https://a.internal/et",)
    assert "secret" not in str(error)


def test_an_address_that_is_none(folder: Folder) -> None:
    folder.write("etfetch.toml", '[mirror]\nurls = ["https://[broken"]\n')
    error = folder.fails()
    assert error.message == "etfetch.toml: mirror.urls: `https://[broken` is not the address of a mirror"


# Credentials


def test_a_login_in_the_address(folder: Folder) -> None:
    access = folder.env(ETFETCH_MIRRORS=f"https://me:secret@a.internal/et,{B}").access()
    assert _bases(access) == [A, B, None]
    assert access.credentials.for_url(f"{A}/x") == basic("me", "secret")
    assert access.credentials.for_url(f"{B}/x") is None
    assert access.credentials.for_url("http://a.internal/et/x") is None
    assert "secret" not in repr(access)


def test_the_order_of_credentials(folder: Folder) -> None:
    folder.write(".netrc", "machine a.internal login netrc password pw\n")
    folder.env(ETFETCH_BASE_URL=A, ETFETCH_TOKEN="token")
    assert folder.access().credentials.for_url(A) == basic("netrc", "pw")
    path = folder.write("c.toml", '[credentials."a.internal"]\ntoken = "config"\n')
    folder.env(ETFETCH_CONFIG=str(path))
    assert folder.access().credentials.for_url(A) == bearer("config")
    (folder.root / ".netrc").unlink()
    path.write_text('[credentials."b.internal:8443"]\nusername = "u"\npassword = "p"\n')
    assert folder.access().credentials.for_url(A) == bearer("token")
    assert folder.access().credentials.for_url("https://b.internal:8443/x") == basic("u", "p")
    assert folder.access().credentials.for_url("https://b.internal/x") is None


def test_the_token_is_for_one_host_that_the_user_named(folder: Folder) -> None:
    folder.write("etfetch.toml", f'[mirror]\nurls = ["{C}"]\n')
    folder.env(ETFETCH_TOKEN="token")
    assert folder.access().credentials.for_url(C) is None
    folder.env(ETFETCH_MIRRORS=f"{A},{B}")
    assert folder.access().credentials.for_url(f"{A}/x") == bearer("token")
    assert folder.access().credentials.for_url(f"{B}/x") is None
    assert folder.access(base_url=B).credentials.for_url(f"{B}/x") == bearer("token")
    assert folder.access(base_url=B).credentials.for_url(f"{A}/x") is None


def test_githubs_token_is_for_github(folder: Folder) -> None:
    found = folder.env(GITHUB_TOKEN="gh").access().credentials
    assert found.for_url("https://github.com/o/r") == bearer("gh")
    assert found.for_url("https://api.github.com/repos") == bearer("gh")
    for url in ("http://github.com/", "https://gist.github.com/", "https://github.com.evil.net/", A):
        assert found.for_url(url) is None


def test_a_token_that_cannot_be_sent(folder: Folder) -> None:
    error = folder.env(ETFETCH_BASE_URL=A, ETFETCH_TOKEN="two\nlines").fails()
    assert error.message == "`ETFETCH_TOKEN` holds a character that cannot be sent"


def test_another_netrc(folder: Folder) -> None:
    path = folder.write("logins", "machine A.internal login u password p\ndefault login x password y\n")
    found = folder.env(NETRC=str(path)).access().credentials
    assert found.for_url(A) == basic("u", "p")
    assert found.for_url(B) is None


def test_a_broken_netrc_is_named_and_not_quoted(folder: Folder) -> None:
    folder.write(".netrc", "machine a.internal login u password\nsecret secret\n")
    error = folder.fails()
    assert ".netrc` is not a netrc file" in error.message
    assert "secret" not in str(error)


# Proxies and certificates


def test_proxies_of_npm(folder: Folder) -> None:
    for name in ("https_proxy", "http_proxy", "all_proxy"):
        folder.monkeypatch.delenv(name, raising=False)
        folder.monkeypatch.delenv(name.upper(), raising=False)
    folder.env(npm_config_proxy="http://p:1")
    assert folder.access().proxies == Proxies()
    folder.env(npm_config_user_agent="npm/11", npm_config_noproxy="localhost, .internal")
    without = ("localhost", ".internal")
    assert folder.access().proxies == Proxies(
        any=True, http="http://p:1", https="http://p:1", without=without
    )
    folder.env(npm_config_https_proxy="http://me:secret@s:2")
    assert folder.access().proxies.https == "http://me:secret@s:2"
    assert "secret" not in repr(folder.access())
    folder.env(HTTPS_PROXY="http://standard:3")
    assert folder.access().proxies == Proxies(any=True)


def test_certificates(folder: Folder) -> None:
    folder.env(npm_config_user_agent="npm/11", npm_config_cafile="/npm.pem")
    assert folder.access().certificates == Certificates(extra="/npm.pem")
    folder.env(SSL_CERT_FILE="/mine.pem", SSL_CERT_DIR="/certs")
    assert folder.access().certificates == Certificates("/mine.pem", "/certs", "/npm.pem")
