"""`npm:NAME@VERSION` sources: a package's tarball, by `npm pack` with the user's own settings."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from etfetch.errors import ManifestError, NetworkError
from etfetch.sources import Network, Stream
from etfetch.sources.client import NAME, downloaded, told

_PACKAGE = re.compile(r"(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*")


@contextmanager
def open_stream(source: str, network: Network) -> Iterator[Stream]:
    """Download one tarball; `NetworkError` when npm is missing or cannot."""
    npm = shutil.which("npm")
    if not npm:
        raise NetworkError(
            "npm is needed to download from a Node package registry, and it is not there",
            hint="install Node.js, which brings npm, or put it on PATH",
        )
    command = [npm, "pack", *arguments(source)]
    with downloaded(source, command, "--pack-destination", "*.tgz", network) as stream:
        yield stream


def index_of(source: str, folder: Path) -> str:
    """The page of a source's package on the registry that this user's npm asks; "" if npm does not say."""
    npm = shutil.which("npm")
    registry = told([npm, "config", "get", "registry"], folder).strip() if npm else ""
    name = source.removeprefix("npm:").rpartition("@")[0]
    return f"{registry.rstrip('/')}/{quote(name, safe='@')}" if registry.startswith("http") else ""


def arguments(source: str) -> list[str]:
    """npm's arguments for the tarball that a source names; `ManifestError` for a bad source."""
    name, _, version = source.removeprefix("npm:").rpartition("@")
    if not (_PACKAGE.fullmatch(name) and NAME.fullmatch(version)):
        raise ManifestError(f"`{source}` is not of the form `npm:NAME@VERSION`")
    # Only exact versions arrive here, so npm fetches a tarball and never packs a folder.
    return ["--ignore-scripts", "--silent", f"{name}@{version}"]
