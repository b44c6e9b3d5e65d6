"""One question to a server over HTTP, and its answer. The only user of httpx.

What every question gets: our own redirects (credentials end where the origin changes, encryption is
never given up), the system's certificates, the standard proxies, timeouts by phase, no content
decoding. What went wrong comes as one of three: `StatusError`, `TransientError` (worth another try), or a
plain `NetworkError` (it would go wrong again). Asking again is `transfer`'s.
"""

from __future__ import annotations

import email.utils
import re
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx

from etfetch import __version__
from etfetch.credentials import origin, without_credentials
from etfetch.errors import ConfigError, NetworkError
from etfetch.sources import Network

_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 20
_MISSING = frozenset({404, 410})
_PARTIAL_CONTENT = 206
_SUCCESS = frozenset({200, _PARTIAL_CONTENT})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
# RFC 9110 also allows bytes above ASCII, which could not be sent back in every client's headers.
_STRONG_ETAG = re.compile(r'"[\x21\x23-\x7e]*"')


class StatusError(NetworkError):
    """A server answered with something else than the file. `wait` is its Retry-After, in seconds."""

    def __init__(self, answer: httpx.Response) -> None:
        self.status = answer.status_code
        self.wait = _retry_after(answer)
        super().__init__(
            f"{shown(answer.url)} answered {answer.status_code} {answer.reason_phrase}".rstrip(),
            data=[f"it asks to wait {self.wait:.0f} s (Retry-After)"] if self.wait else [],
            hint=_status_hint(answer.status_code),
        )

    @property
    def missing(self) -> bool:
        """Whether the file is not there, as opposed to not given."""
        return self.status in _MISSING

    @property
    def may_pass(self) -> bool:
        return self.status in _RETRIED_STATUS


class TransientError(NetworkError):
    """The connection failed or broke: the same question may be answered next time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer with a body.

    `partial` says that it is a part (206) and not the whole file: from the offset `start` to before `stop`
    (None: not announced) of `size` bytes. `delimited` says that the body's end can be told from a cut
    connection. `etag` is a strong validator (RFC 9110, 8.8), `modified` the Last-Modified text; "" for none.
    `encoding` is a content coding that nobody asked for. `where` is the final URL, for messages; `chunks`
    raises `TransientError` when the connection breaks.
    """

    partial: bool
    start: int
    stop: int | None
    size: int | None
    delimited: bool
    etag: str
    modified: str
    encoding: str
    where: str
    chunks: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Trace:
    """The addresses that a question went to, for messages, and what went wrong at the last one."""

    addresses: tuple[str, ...]
    error: NetworkError | None


class Web:
    """The connections of one command. Threads may share it; `close` ends all of them."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._lock = threading.Lock()
        self._opened: dict[bool, httpx.Client] = {}

    def close(self) -> None:
        with self._lock:
            for client in self._opened.values():
                client.close()
            self._opened.clear()

    @contextmanager
    def ask(
        self,
        url: str,
        *,
        start: int = 0,
        stop: int | None = None,
        validator: str = "",
        accept: str = "*/*",
    ) -> Iterator[Answer]:
        """GET a URL, or the bytes from `start` to before `stop` of it if `validator` still holds.

        The answer may be the whole file all the same; `Answer.start` says so.
        """
        # `identity`, because a digest is of the archive and not of some encoding of it.
        headers = {"accept-encoding": "identity", "accept": accept}
        if start or stop is not None:
            headers["range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
            if validator:
                headers["if-range"] = validator
        response = self._follow(url, headers, [])
        try:
            yield _answer(response)
        finally:
            _close(response)

    def trace(self, url: str, accept: str = "*/*") -> Trace:
        """Ask once for a file's first byte; tells each address on the way, and how it ended."""
        passed: list[str] = []
        try:
            response = self._follow(url, {"range": "bytes=0-0", "accept": accept}, passed)
        except NetworkError as error:
            return Trace(tuple(passed), error)
        _close(response)
        return Trace(tuple(passed), None)

    def has_credentials(self, url: str) -> bool:
        return self.network.credentials.for_url(url) is not None

    def _follow(self, url: str, headers: dict[str, str], passed: list[str]) -> httpx.Response:
        """Send, and follow redirects; each address on the way is added to `passed`."""
        credential = self.network.credentials.for_url(url)
        home = origin(url)
        here = url
        for _ in range(_MAX_REDIRECTS + 1):
            if origin(here) != home:
                # For good: a server elsewhere may send us back, and be answered in our name.
                credential = None
            sent = {**headers, "authorization": credential} if credential else headers
            passed.append(_shown_text(here))
            response = self._send(here, sent)
            if response.status_code not in _REDIRECTS or "location" not in response.headers:
                return _checked(response)
            there = _target(response)
            _close(response)
            if httpx.URL(here).scheme == "https" and there.scheme != "https":
                raise NetworkError(
                    f"{shown(httpx.URL(here))} redirects to an address without encryption",
                    data=[shown(there)],
                    hint="this is a fault or an attack on the server's side: do not go on",
                )
            here = str(there)
        raise NetworkError(
            f"{shown(httpx.URL(url))} redirects without end",
            data=[f"followed {_MAX_REDIRECTS} redirects, the last one to {shown(httpx.URL(here))}"],
            hint="the server has a fault: report it to whoever runs it",
        )

    def _send(self, url: str, headers: dict[str, str]) -> httpx.Response:
        try:
            client = self._client(url)
            return client.send(client.build_request("GET", url, headers=headers), stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _failure(f"cannot download {_shown_text(url)}", error) from error

    def _client(self, url: str) -> httpx.Client:
        # Reading the certificates takes 50 ms, which a plain server on the same machine need not cost.
        plain = url.startswith("http:") and not self.network.proxies.any
        with self._lock:
            if plain not in self._opened:
                try:
                    self._opened[plain] = _client(self.network, plain=plain)
                except (ValueError, ImportError, httpx.InvalidURL) as error:
                    raise _bad_proxy(error) from None
            return self._opened[plain]


def shown(url: httpx.URL) -> str:
    """A URL for messages: without credentials and without the query, where signatures stand."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def _shown_text(url: str) -> str:
    try:
        return shown(httpx.URL(url))
    except httpx.InvalidURL:
        return without_credentials(url)


def _client(network: Network, *, plain: bool) -> httpx.Client:
    # Trusting nobody is right for a client that never speaks TLS.
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else _certificates(network)
    proxies = network.proxies
    mounts: dict[str, httpx.BaseTransport | None] = {}
    for scheme, proxy in (("http", proxies.http), ("https", proxies.https)):
        if proxy:
            mounts[f"{scheme}://"] = httpx.HTTPTransport(proxy=httpx.Proxy(proxy), verify=verify)
    if mounts:
        for host in proxies.without:
            mounts |= {f"all://{host.lstrip('.*')}": None, f"all://*.{host.lstrip('.*')}": None}
    return httpx.Client(
        verify=verify,
        mounts=mounts,
        timeout=httpx.Timeout(
            network.read_timeout, connect=network.connect_timeout, pool=network.connect_timeout
        ),
        # As many as there are downloads times ranges: a pool that waits would look like a dead server.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        headers={"user-agent": f"etfetch/{__version__}"},
        trust_env=True,
    )


def _bad_proxy(error: Exception) -> ConfigError:
    """What is wrong with a proxy's address, without the address: it may hold a password."""
    what = (
        "SOCKS, which needs the Python package `socksio`" if isinstance(error, ImportError) else "no address"
    )
    return ConfigError(
        f"a proxy's address cannot be used: it is {what}",
        hint="check `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, and npm's `proxy`",
    )


def _certificates(network: Network) -> ssl.SSLContext:
    """The system's trust store; `SSL_CERT_FILE` and `SSL_CERT_DIR` stand instead of it."""
    chosen = network.certificates
    place = chosen.file or chosen.folder or chosen.extra
    try:
        if chosen.file or chosen.folder:
            context = ssl.create_default_context(cafile=chosen.file, capath=chosen.folder)
        else:
            import truststore

            context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if chosen.extra:
            context.load_verify_locations(cafile=chosen.extra)
    except OSError as error:
        raise ConfigError(
            f"cannot read the certificates in `{place}`: {error.strerror or error}",
            hint="check `SSL_CERT_FILE`, or npm's `cafile`",
        ) from error
    return context


def _checked(response: httpx.Response) -> httpx.Response:
    if response.status_code in _SUCCESS:
        return response
    _close(response)
    raise StatusError(response)


def _target(response: httpx.Response) -> httpx.URL:
    there: httpx.URL | None = None
    with suppress(httpx.InvalidURL):
        there = response.url.join(response.headers["location"])
    if there is None or there.scheme not in {"http", "https"} or not there.host:
        raise NetworkError(
            f"{shown(response.url)} redirects to an address that is none",
            hint="the server has a fault: report it to whoever runs it",
        )
    return there


def _answer(response: httpx.Response) -> Answer:
    headers = response.headers
    length = headers.get("content-length", "")
    size = int(length) if length.isdigit() else None
    start, stop = 0, size
    partial = response.status_code == _PARTIAL_CONTENT
    if partial:
        start, stop, size = _span(response)
    etag = headers.get("etag", "")
    modified = headers.get("last-modified", "")
    encoding = headers.get("content-encoding", "").strip().lower()
    return Answer(
        partial=partial,
        start=start,
        stop=stop,
        size=size,
        delimited=bool(length) or "transfer-encoding" in headers,
        etag=etag if _STRONG_ETAG.fullmatch(etag) else "",
        modified=modified if modified.isascii() and modified.isprintable() else "",
        encoding="" if encoding == "identity" else encoding,
        where=shown(response.url),
        chunks=_chunks(response),
    )


def _span(response: httpx.Response) -> tuple[int, int | None, int | None]:
    """What a 206 says it is part of; a text that says nothing usable is a start that nobody asked for."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if not found:
        return -1, None, None
    total = None if found[3] == "*" else int(found[3])
    return int(found[1]), int(found[2]) + 1, total


def _chunks(response: httpx.Response) -> Iterator[bytes]:
    try:
        # As they come: a chunk size of our own would hold back bytes, and lose them with the connection.
        yield from response.iter_raw()
    except httpx.HTTPError as error:
        raise _failure(f"the download of {shown(response.url)} broke off", error) from error


def _close(response: httpx.Response) -> None:
    # The other end may be gone already; whatever was wrong was told before.
    with suppress(httpx.HTTPError):
        response.close()


def _failure(what: str, error: Exception) -> NetworkError:
    """httpx's failure as one of ours, by whether another try can help."""
    told = without_credentials(str(error)) or type(error).__name__
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)):
        return NetworkError(
            what,
            data=[f"its certificate is not trusted: {told}"],
            hint="if your company signs its own, name its certificate: `SSL_CERT_FILE=/path/ca.pem`",
        )
    if isinstance(error, httpx.ProxyError):
        return NetworkError(
            what,
            data=[f"the proxy refused: {told}"],
            hint="check `HTTPS_PROXY`, and `NO_PROXY` for hosts that are reached without it",
        )
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol):
        return TransientError(
            what,
            data=[told],
            hint="check the network and a proxy (`HTTPS_PROXY`), then run the command again",
        )
    return NetworkError(what, data=[told], hint="check the URL")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, from a number or an HTTP date (RFC 9110, 10.2.3); None without one that makes sense."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _status_hint(status: int) -> str:
    if status in {401, 403}:
        return (
            "the server wants to know who asks: put a login for it into `~/.netrc` or etfetch's "
            "configuration, or set `ETFETCH_TOKEN`"
        )
    if status in _MISSING:
        return "the file is not there: the release may have been withdrawn, or want a login"
    return "the server has a fault: try again later"
