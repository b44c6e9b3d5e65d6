"""Where archives come from: one small module a scheme.

`file`, `pypi` and `npm` have one function, `open_stream(source, network)`, a context manager that
yields a `Stream`. `http:` and `https:` have more to them: `web` asks a server one question, `transfer`
brings a file over whatever the network does, `github` finds the assets of private releases. What is common to
all (verification, mirrors, the cache, progress) is `fetch`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from etfetch.credentials import Credentials
from etfetch.errors import ManifestError, NetworkError


@dataclass(frozen=True, slots=True)
class Stream:
    """The bytes of an artifact as they arrive. `size` in bytes if the source knows it beforehand.

    `where` is the final place for messages: a URL after redirects, without credentials.
    """

    chunks: Iterator[bytes]
    size: int | None
    where: str


@dataclass(frozen=True, slots=True)
class Proxies:
    """Proxies on top of those in the standard variables, which are httpx's business.

    URLs by scheme (None: none), and the hosts or domains that are reached without. `any` says that there
    is one, in the standard variables or here.
    """

    any: bool = False
    http: str | None = field(default=None, repr=False)
    https: str | None = field(default=None, repr=False)
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificates:
    """Whom TLS trusts: `file` and `folder` instead of the system's store, `extra` on top of it."""

    file: str | None = None
    folder: str | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """How sources reach out. Timeouts in seconds; `folder` is where clients are run.

    `scratch` is a folder for a client's own downloads, on the file system of the cache. `retries` is the
    number of tries without progress after which a transfer is given up.
    """

    connect_timeout: float
    read_timeout: float
    retries: int
    folder: Path
    scratch: Path
    credentials: Credentials = field(default_factory=Credentials)
    proxies: Proxies = field(default_factory=Proxies)
    certificates: Certificates = field(default_factory=Certificates)


Opener = Callable[[str, Network], AbstractContextManager[Stream]]


def gather(chunks: Iterable[bytes], limit: int, where: str) -> bytes:
    """All bytes of something small; `NetworkError` when it has more than `limit`."""
    data = b""
    for chunk in chunks:
        data += chunk
        if len(data) > limit:
            raise NetworkError(f"{where} is longer than {limit} bytes, and should be small")
    return data


def is_web(source: str) -> bool:
    """Whether a source is asked for over HTTP."""
    return source.startswith(("https:", "http:"))


def opener(source: str) -> Opener:
    """The function that opens a source which is not on the web; `ManifestError` for an unknown scheme."""
    scheme = source.partition(":")[0]
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
