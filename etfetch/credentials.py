"""Who is shown which credential: the first entry that fits a URL's host, and nobody else.

Scope: looking one up, and keeping them out of texts. In what order they are taken (config, netrc,
`ETFETCH_TOKEN`, `GITHUB_TOKEN`) is the order of the entries, which `netconfig` makes.

- A host is compared exactly: no suffixes, no wildcards. `example.com` is not `www.example.com`.
- An entry may be bound to a scheme and a port; one that is not fits any.
- A header's value never stands in a `repr`, a message or a lock.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

_IN_URL = re.compile(r"(://)[^/@\s]+@")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credential:
    """The `Authorization` header for one host; `scheme` "" and `port` None fit any."""

    host: str
    header: str = field(repr=False)
    scheme: str = ""
    port: int | None = None

    def fits(self, url: str) -> bool:
        """Whether the server that a URL names may see it."""
        scheme, host, port = origin(url)
        return host == self.host and self.scheme in {"", scheme} and self.port in {None, port}


@dataclass(frozen=True, slots=True)
class Credentials:
    """All credentials of one run, the most specific source first."""

    entries: tuple[Credential, ...] = ()

    def for_url(self, url: str) -> str | None:
        """The `Authorization` header for a URL, or None."""
        return next((entry.header for entry in self.entries if entry.fits(url)), None)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host in lower case, and effective port of a URL: what a redirect may not change."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), _port(parts)


def basic(user: str, password: str) -> str:
    """The header of HTTP's Basic scheme (RFC 7617), in UTF-8."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def bearer(token: str) -> str:
    """The header of a bearer token (RFC 6750)."""
    return f"Bearer {token}"


def for_origin_of(urls: Iterable[str], header: str) -> tuple[Credential, ...]:
    """An entry for exactly the scheme, host and port of each URL."""
    return tuple(Credential(host, header, scheme, port) for scheme, host, port in map(origin, urls))


def split(url: str) -> tuple[str, str | None]:
    """A URL without its user and password, and the header that these make, if there are any."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    userinfo, _, host = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    return parts._replace(netloc=host).geturl(), basic(unquote(user), unquote(password))


def without_credentials(text: str) -> str:
    """The text with the user and password of every URL left out."""
    return _IN_URL.sub(r"\1", text)


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
