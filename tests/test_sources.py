"""Sources: what is asked of clients and servers, and how their failures are told."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from etfetch import fetch
from etfetch.errors import ManifestError, NetworkError
from etfetch.sources import Network, npm, opener, pypi

WHEEL = "executorch-1.5.1-cp311-cp311-manylinux_2_28_x86_64.whl"
PYPI = f"pypi:executorch==1.5.1/{WHEEL}"
NPM = "npm:react-native-executorch@0.9.2"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Network(2.0, 2.0, 2, tmp_path, scratch)


def _read(source: str, network: Network) -> bytes:
    with opener(source)(source, network) as stream:
        return b"".join(stream.chunks)


def _fake(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of our own making, first on PATH."""
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


def test_file(tmp_path: Path, network: Network) -> None:
    archive = tmp_path / "with space.tar"
    archive.write_bytes(b"bytes")
    assert _read(archive.as_uri(), network) == b"bytes"


@pytest.mark.parametrize("source", ["file:relative", "file://other/host", "file:///no/such/file"])
def test_bad_file(source: str, network: Network) -> None:
    with pytest.raises(NetworkError):
        _read(source, network)


def test_an_unknown_scheme() -> None:
    with pytest.raises(ManifestError):
        opener("ftp://host/x")


def test_what_pip_is_asked(tmp_path: Path) -> None:
    assert pypi.arguments(PYPI) == [
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--quiet",
        "--progress-bar=off",
        "--disable-pip-version-check",
        "--implementation",
        "cp",
        "--python-version",
        "311",
        "--abi",
        "cp311",
        "--platform",
        "manylinux_2_28_x86_64",
        "executorch==1.5.1",
    ]


def test_a_wheel_of_several_platforms() -> None:
    words = pypi.arguments("pypi:x==1/x-1-py3-none-macosx_10_9_x86_64.macosx_11_0_arm64.whl")
    assert words[-5:] == ["--platform", "macosx_10_9_x86_64", "--platform", "macosx_11_0_arm64", "x==1"]


@pytest.mark.parametrize(
    "source",
    [
        "pypi:executorch==1.5.1",
        "pypi:--index-url==1/x-1-py3-none-any.whl",
        "pypi:x==$(id)/x-1-py3-none-any.whl",
        "pypi:x==1/x-2-py3-none-any.whl",
        "pypi:y==1/x-1-py3-none-any.whl",
        "pypi:x==1/x.whl",
    ],
)
def test_bad_pypi_sources(source: str) -> None:
    with pytest.raises(ManifestError):
        pypi.arguments(source)


def test_what_npm_is_asked() -> None:
    assert npm.arguments(NPM) == ["--ignore-scripts", "--silent", "react-native-executorch@0.9.2"]
    assert npm.arguments("npm:@scope/x@1.0.0")[-1] == "@scope/x@1.0.0"


@pytest.mark.parametrize(
    "source", ["npm:x", "npm:--x@1", "npm:x@;id", "npm:../x@1", "npm:X@1", "npm:x@file:/y"]
)
def test_bad_npm_sources(source: str) -> None:
    with pytest.raises(ManifestError):
        npm.arguments(source)


def test_a_client_runs_without_a_shell(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake(tmp_path, "npm", 'printf "%s\\n" "$@" > asked; printf tarball > "$6/x.tgz"', monkeypatch)
    assert _read(NPM, network) == b"tarball"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:4] == ["pack", "--ignore-scripts", "--silent", "react-native-executorch@0.9.2"]
    assert list(network.scratch.iterdir()) == []


def test_a_client_that_fails_says_why_without_passwords(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "echo 'Looking in https://me:secret@index.internal/simple' >&2; echo 'ERROR: none' >&2; exit 3"
    _fake(tmp_path, "pip3", script, monkeypatch)
    with pytest.raises(NetworkError) as caught:
        _read(PYPI, network)
    assert caught.value.message == f"`pip3` could not download `{PYPI}` (it exited with 3)"
    assert caught.value.data == ("Looking in https://index.internal/simple", "ERROR: none")
    assert "secret" not in str(caught.value)


def test_a_client_that_brings_something_else(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake(tmp_path, "pip3", 'for last; do :; done; touch "$last/other.whl"', monkeypatch)
    with pytest.raises(NetworkError) as caught:
        _read(PYPI, network)
    assert caught.value.data == ("other.whl",)


@pytest.mark.parametrize(("source", "client"), [(PYPI, "pip"), (NPM, "npm")])
def test_a_missing_client(
    source: str, client: str, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NetworkError) as caught:
        _read(source, network)
    assert caught.value.message.startswith(f"{client} is needed to download from a ")
    assert caught.value.hint
    assert caught.value.code == 5


# sidecars

HEX = "ab" * 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEX}\n", HEX),
        (HEX.upper(), HEX),
        (f"{HEX}  a.tar.gz\n", HEX),
        (f"{HEX} *a.tar.gz\n", HEX),
        (f"{HEX}  ./dist/a.tar.gz\n", HEX),
        (f"{'0' * 64}  b.tar.gz\n{HEX}  a.tar.gz\n", HEX),
        (f"{HEX}  b.tar.gz\n", None),
        (f"{HEX}\n{HEX}\n", None),
        ("<html>", None),
        ("", None),
        ("ab", None),
    ],
)
def test_sidecar_digest(text: str, expected: str | None) -> None:
    assert fetch.sidecar_digest(text, "a.tar.gz") == expected
