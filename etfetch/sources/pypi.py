"""`pypi:NAME==VERSION/FILE` sources: a wheel, by `pip download` with the user's own settings."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from etfetch.errors import ManifestError, NetworkError
from etfetch.sources import Network, Stream
from etfetch.sources.client import NAME, downloaded, told


@contextmanager
def open_stream(source: str, network: Network) -> Iterator[Stream]:
    """Download one wheel, also for another platform than this; `NetworkError` when pip cannot."""
    command = [*_pip(), "download", *arguments(source)]
    file = source.rpartition("/")[2]
    with downloaded(source, command, "--dest", file, network) as stream:
        yield stream


def index_of(source: str, folder: Path) -> str:
    """The page of a source's package on the index that this user's pip asks; "" if pip does not say.

    pip's help names the index that its settings and its environment choose.
    """
    words = " ".join(told([*_pip(), "download", "--help"], folder).split())
    found = re.search(r"\(default:? (https?://\S+?)\)", words)
    name = source.removeprefix("pypi:").partition("==")[0]
    return f"{found[1].rstrip('/')}/{canonicalize_name(name)}/" if found else ""


def arguments(source: str) -> list[str]:
    """pip's arguments for exactly the wheel that a source names; `ManifestError` for a bad source.

    The tags of the file name (PEP 425) become pip's `--platform`, `--python-version` and `--abi`.
    """
    requirement, _, file = source.removeprefix("pypi:").partition("/")
    name, _, version = requirement.partition("==")
    if not (NAME.fullmatch(name) and NAME.fullmatch(version) and file.endswith(".whl")):
        raise ManifestError(f"`{source}` is not of the form `pypi:NAME==VERSION/FILE.whl`")
    try:
        wheel_name, wheel_version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename as error:
        raise ManifestError(f"`{source}`: {error}") from error
    if wheel_name != canonicalize_name(name) or str(wheel_version) != version:
        raise ManifestError(f"`{source}` names a file of another package or version")
    tag = min(tags, key=str)
    words = ["--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--progress-bar=off"]
    words += ["--disable-pip-version-check", "--implementation", tag.interpreter[:2]]
    words += ["--python-version", tag.interpreter[2:], "--abi", tag.abi]
    for platform in sorted({one.platform for one in tags}):
        words += ["--platform", platform]
    return [*words, f"{name}=={version}"]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if not found:
        raise NetworkError(
            "pip is needed to download from a Python package index, and it is not there",
            hint="install pip (`python3 -m ensurepip`), or put one on PATH",
        )
    return [found]
