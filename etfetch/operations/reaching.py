"""`etfetch doctor --network`: which hosts an allow-list needs, and which of them answer.

Asked for are one file of every mirror, of every server that the lock names (or the request, where there is
no lock), and of every package index, since their files often lie elsewhere. Each address on the way
counts: a redirect's target has to be allowed as well.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from etfetch import config, mirrors
from etfetch.config import Options
from etfetch.errors import EtfetchError, NetworkError, OfflineError
from etfetch.operations import locking
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.servers import Servers
from etfetch.sources import is_web, npm, pypi
from etfetch.sources.web import StatusError

_MAX_PAGE = 64 << 20
_FORBIDDEN = frozenset({401, 403, 407})
_TARBALL = re.compile(r'"tarball":\s*"(https?://[^"]+)"')
_LINK = re.compile(r'href="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Reached:
    """A host (with its port, if it is not the usual one), what it is for, and what it answered."""

    host: str
    purpose: str
    answer: str
    ok: bool


def hosts(options: Options) -> list[Reached]:
    """Every host that this project's artifacts come from, each once, in the order they were met.

    `OfflineError` where no host may be asked.
    """
    with open_workspace(options) as workspace:
        if not workspace.may_ask:
            raise OfflineError(
                "`--network` asks servers, and the network may not be used",
                hint="unset `ETFETCH_OFFLINE` and `ETFETCH_SKIP_DOWNLOAD` for this command",
            )
        servers = workspace.servers()
        found: dict[str, Reached] = {}
        for purpose, url, may_miss in _addresses(workspace, servers):
            for reached in _ask(servers, purpose, url, may_miss=may_miss):
                known = found.get(reached.host)
                if known is None or (known.ok and not reached.ok):
                    found[reached.host] = reached
    return list(found.values())


def _addresses(workspace: Workspace, servers: Servers) -> Iterator[tuple[str, str, bool]]:
    """What to ask: a purpose, an address, and whether a missing file there is fine."""
    for place in servers.places:
        if place.base and is_web(place.base):
            yield "mirror", f"{place.base}/{mirrors.INDEX}", True
    if any(place.base is None for place in servers.places):
        seen = set()
        for source in _sources(workspace):
            key = source.partition(":")[0] if not is_web(source) else urlsplit(source).netloc
            if key not in seen:
                seen.add(key)
                yield from _of_source(workspace, servers, source)


def _sources(workspace: Workspace) -> list[str]:
    lock = workspace.read_lock()
    if lock is None:
        request = config.request_of(workspace.project, workspace.options, None)
        try:
            models = locking.models_of(workspace, request, None)
            resolution = locking.resolution_of(workspace, request, models, None)
        except NetworkError:
            # A mirror that does not answer, which its own line says.
            return []
        return [chosen.artifact.source for chosen in resolution.artifacts]
    return [artifact.source for artifact in lock.artifacts]


def _of_source(workspace: Workspace, servers: Servers, source: str) -> Iterator[tuple[str, str, bool]]:
    if is_web(source):
        yield "archives", source, False
    client = {"pypi": pypi, "npm": npm}.get(source.partition(":")[0])
    if client is None:
        return
    name = "pip" if client is pypi else "npm"
    page = client.index_of(source, workspace.project.folder)
    if not page:
        return
    yield f"{name}: index", page, False
    file = _file_on(servers, page)
    if file:
        yield f"{name}: archives", file, False


def _file_on(servers: Servers, page: str) -> str:
    """The address of any file that a package's page names, or ""."""
    try:
        data, where = servers.read(page, _MAX_PAGE)
    except EtfetchError:
        # That the page cannot be read is told by the question for the page itself.
        return ""
    text = data.decode("utf-8", "replace")
    found = _TARBALL.findall(text) or _LINK.findall(text)
    return urljoin(where, found[-1]).partition("#")[0] if found else ""


def _ask(servers: Servers, purpose: str, url: str, *, may_miss: bool) -> list[Reached]:
    begin = time.monotonic()
    trace = servers.web.trace(url)
    took = f"{1000 * (time.monotonic() - begin):.0f} ms"
    *passed, last = trace.addresses
    rows = [Reached(_host(address), purpose, "redirects", ok=True) for address in passed]
    answer, ok = _judged(trace.error, may_miss=may_miss)
    return [*rows, Reached(_host(last), purpose, f"{answer} ({took})", ok)]


def _judged(error: NetworkError | None, *, may_miss: bool) -> tuple[str, bool]:
    if error is None:
        return "answers", True
    if isinstance(error, StatusError):
        if error.missing and may_miss:
            return "answers, without an index", True
        wants = ", it wants a login" if error.status in _FORBIDDEN else ""
        return f"answers {error.status}{wants}", False
    return "; ".join(error.data) or error.message, False


def _host(address: str) -> str:
    return urlsplit(address).netloc
