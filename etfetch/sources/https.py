"""`https:` and `http:` sources, streamed with httpx.

Plain by intent: redirects, timeouts, and retries while no byte has been handed on. Mirrors,
resuming and credentials have their place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from etfetch.digest import CHUNK
from etfetch.errors import NetworkError
from etfetch.sources import Network, Stream
from etfetch.sources.client import without_credentials

_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_WAIT = 10.0


class InterruptedStreamError(NetworkError):
    """The connection broke while the bytes were arriving: the artifact may be asked for again."""


@contextmanager
def open_stream(source: str, network: Network) -> Iterator[Stream]:
    """Request a URL and stream its body as it is on the wire, without content decoding.

    `NetworkError` for an answer that is not a success, after the retries for those that may pass.
    """
    timeout = httpx.Timeout(
        network.read_timeout, connect=network.connect_timeout, pool=network.connect_timeout
    )
    guard = {"request": [_refuse_downgrade(source)]}
    with httpx.Client(follow_redirects=True, timeout=timeout, event_hooks=guard, trust_env=True) as client:
        response = _request(client, source, network.retries)
        try:
            length = response.headers.get("content-length", "")
            size = int(length) if length.isdigit() else None
            yield Stream(_chunks(response), size, shown(response.url))
        finally:
            response.close()


def shown(url: httpx.URL) -> str:
    """A URL for messages: without credentials and without the query, where signatures stand."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def wait_between() -> wait_random_exponential:
    """How long to wait between two tries, in seconds: at random, up to half a second, doubled each time."""
    return wait_random_exponential(multiplier=0.5, max=_MAX_WAIT)


def _request(client: httpx.Client, source: str, retries: int) -> httpx.Response:
    retrying = Retrying(
        stop=stop_after_attempt(retries),
        wait=wait_between(),
        retry=retry_if_exception(_may_pass),
        reraise=True,
    )
    try:
        return retrying(_once, client, source)
    except httpx.HTTPStatusError as error:
        answer = error.response
        raise NetworkError(
            f"{shown(answer.url)} answered {answer.status_code} {answer.reason_phrase}",
            hint=_status_hint(answer.status_code),
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NetworkError(
            f"cannot download {shown(httpx.URL(source))}",
            data=[_told(error)],
            hint="check the network, a proxy (`HTTPS_PROXY`) or the URL in the manifest",
        ) from error


def _once(client: httpx.Client, source: str) -> httpx.Response:
    # `identity`, because a digest is of the archive and not of some encoding of it.
    request = client.build_request("GET", source, headers={"accept-encoding": "identity"})
    response = client.send(request, stream=True)
    try:
        response.raise_for_status()
    except BaseException:
        response.close()
        raise
    return response


def _chunks(response: httpx.Response) -> Iterator[bytes]:
    try:
        yield from response.iter_raw(CHUNK)
    except httpx.HTTPError as error:
        raise InterruptedStreamError(
            f"the download of {shown(response.url)} broke off",
            data=[_told(error)],
            hint="check the network and run the command again",
        ) from error


def _told(error: Exception) -> str:
    """What httpx says, which may name a proxy with its password."""
    return without_credentials(str(error)) or type(error).__name__


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED_STATUS
    return isinstance(error, httpx.TransportError) and not isinstance(
        error, (httpx.UnsupportedProtocol, httpx.ProxyError, httpx.TooManyRedirects)
    )


def _refuse_downgrade(source: str) -> Callable[[httpx.Request], None]:
    def check(request: httpx.Request) -> None:
        if source.startswith("https:") and request.url.scheme != "https":
            raise NetworkError(
                f"{shown(httpx.URL(source))} redirects to an address without encryption",
                data=[shown(request.url)],
                hint="this is a fault or an attack on the server's side: do not go on",
            )

    return check


def _status_hint(status: int) -> str:
    if status in {401, 403}:
        return "the server wants to know who asks, or does not let you in"
    if status in {404, 410}:
        return "the file is not there: the release may have been withdrawn"
    return "the server has a fault: try again later"
