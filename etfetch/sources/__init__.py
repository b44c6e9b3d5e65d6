"""Where archives come from: one small module a scheme.

Each has one function, `open_stream(source, network)`, a context manager that yields a `Stream`. What
is common to all (verification, retries of a whole artifact, the cache, progress) is `fetch`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from etfetch.errors import ManifestError


@dataclass(frozen=True, slots=True)
class Stream:
    """The bytes of an artifact as they arrive. `size` in bytes if the source knows it beforehand.

    `where` is the final place for messages: a URL after redirects, without credentials.
    """

    chunks: Iterator[bytes]
    size: int | None
    where: str


@dataclass(frozen=True, slots=True)
class Network:
    """How sources reach out. Timeouts in seconds; `folder` is where clients are run.

    `scratch` is a folder for a client's own downloads, on the file system of the cache.
    """

    connect_timeout: float
    read_timeout: float
    retries: int
    folder: Path
    scratch: Path


Opener = Callable[[str, Network], AbstractContextManager[Stream]]


def opener(source: str) -> Opener:
    """The function that opens a source, by its scheme; `ManifestError` for an unknown one."""
    scheme = source.partition(":")[0]
    if scheme in {"http", "https"}:
        from etfetch.sources import https

        return https.open_stream
    if scheme == "file":
        from etfetch.sources import file

        return file.open_stream
    if scheme == "pypi":
        from etfetch.sources import pypi

        return pypi.open_stream
    if scheme == "npm":
        from etfetch.sources import npm

        return npm.open_stream
    raise ManifestError(f"`{source}` has a scheme that etfetch does not know")
