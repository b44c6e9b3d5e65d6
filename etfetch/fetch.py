"""Bringing artifacts into the cache: verified before anyone else reads a byte.

A source only delivers bytes (`sources`), a list of servers says where to ask (`servers`). Everything that
makes the bytes safe is here, once: a file of their own, the size bound while they arrive, the digest, the
sync, and the final name. Each artifact is downloaded under its own lock, so that processes that need
the same one wait for the first. What an interrupted download has stays for the next one.
Who listens to the progress, and where the cache is, is given; nothing is read from the environment.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn, Protocol

from etfetch.digest import CHUNK, is_sha256
from etfetch.errors import EtfetchError, IntegrityError, NetworkError
from etfetch.lockfile import LockedArtifact
from etfetch.mirrors import Wanted
from etfetch.partial import Partial
from etfetch.progress import Progress
from etfetch.servers import Servers
from etfetch.sources import Stream, github, is_web, opener
from etfetch.sources.transfer import StoppedError, Transfer
from etfetch.sources.web import Answer, StatusError

MAX_ARTIFACT = 4 << 30
"""Bytes; the bound for an artifact whose size nobody published."""

_MAX_SIDECAR = 64 << 10
_HEAD = 64
_WEB_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|head)", re.IGNORECASE)
_CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Content codings that can be undone, with zlib's window bits for them."""


class Store(Protocol):
    """What fetching needs of the cache."""

    def has_blob(self, sha256: str, size: int | None = None) -> bool: ...

    def keep_blob(self, verified: Path, sha256: str) -> None: ...

    def partial(self, sha256: str) -> AbstractContextManager[Partial]: ...

    def lock(self, name: str) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Release:
    """The release that artifacts are of, by which mirrors file them."""

    package: str
    version: str

    def wanted(self, artifact: LockedArtifact) -> Wanted:
        return Wanted(self.package, self.version, artifact.name, artifact.source)


@dataclass(frozen=True, slots=True)
class Fetched:
    """An artifact that is in the store; `origin` is "network", or "cache" if another process was faster."""

    artifact: LockedArtifact
    origin: str


@contextmanager
def fetching(
    artifacts: Sequence[LockedArtifact],
    release: Release,
    store: Store,
    servers: Servers,
    progress: Progress,
    jobs: int,
) -> Iterator[Iterator[Fetched]]:
    """Bring every artifact into the store, largest first, `jobs` at a time; gives each as it arrives.

    While the caller works on one, the others go on arriving. The first failure is raised where the caller
    takes the next one; it, and whatever else ends the block early, stops them all.
    """
    batch = _Batch(release, store, servers, progress)
    ordered = sorted(artifacts, key=lambda a: -(a.size or 0))
    pool = ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="fetch")
    running = [pool.submit(batch.fetch, artifact) for artifact in ordered]
    try:
        yield (future.result() for future in as_completed(running))
    except BaseException:
        # Not waited for: a server that hangs would hold up the error, or the user's Ctrl-C.
        batch.stop()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def fetch_sidecar(artifact: Wanted, sidecar: str, servers: Servers) -> str:
    """The digest that stands in a file beside an artifact.

    Either 64 hex digits alone, or a line of `sha256sum`: digits, two spaces, the file's name.
    `IntegrityError` when it holds no digest for this artifact.
    """

    def attempt(address: str) -> str:
        text, where = servers.read(address, _MAX_SIDECAR, private=True)
        for file in (artifact.name, artifact.source.rpartition("/")[2]):
            found = sidecar_digest(text.decode("utf-8", "replace"), file)
            if found is not None:
                return found
        raise IntegrityError(
            f"`{where}` holds no sha256 of the archive beside it",
            data=_first_words(text),
            hint="the release may not be complete yet; report it to whoever publishes it",
        )

    source = f"{artifact.source.rpartition('/')[0]}/{sidecar}"
    return servers.search(Wanted(artifact.package, artifact.version, sidecar, source), attempt)


def sidecar_digest(text: str, file: str) -> str | None:
    """The digest for `file` in the text of a sidecar, or None."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    for word, *name in lines:
        if name and name[0].strip().lstrip("*").rpartition("/")[2] == file:
            return _lower_digest(word)
    alone = len(lines) == 1 and len(lines[0]) == 1
    return _lower_digest(lines[0][0]) if alone else None


def _lower_digest(word: str) -> str | None:
    return word.lower() if is_sha256(word.lower()) else None


@dataclass(frozen=True, slots=True)
class _Arrived:
    """Where the bytes in a partial file came from, and the content coding that is still on them."""

    where: str
    encoding: str = ""


class _Batch:
    """The downloads of one `fetching`, in several threads, and the way to stop them all."""

    def __init__(self, release: Release, store: Store, servers: Servers, progress: Progress) -> None:
        self._release = release
        self._store = store
        self._servers = servers
        self._progress = progress
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Have every download end at its next chunk; what has arrived stays for the next time."""
        self._stopped.set()

    def fetch(self, artifact: LockedArtifact) -> Fetched:
        """Bring one artifact into the store."""
        with self._store.lock(artifact.sha256):
            # Looked at again under the lock: whoever held it before may have brought it.
            if self._store.has_blob(artifact.sha256, artifact.size):
                return Fetched(artifact, "cache")
            if self._stopped.is_set():
                raise StoppedError
            self._progress.begin(artifact.name, artifact.size)
            with self._store.partial(artifact.sha256) as partial:
                self._servers.search(
                    self._release.wanted(artifact), lambda url: self._from(url, artifact, partial)
                )
            self._progress.end(artifact.name)
        return Fetched(artifact, "network")

    def _from(self, address: str, artifact: LockedArtifact, partial: Partial) -> None:
        """Bring an artifact from one address, and give it its final name if it is the right one."""
        resumed = bool(partial.received)
        arrived = self._receive(address, artifact, partial)
        try:
            self._keep(artifact, partial, arrived)
        except IntegrityError:
            partial.forget()
            if not resumed:
                raise
        else:
            return
        # Pieces of two versions of a file, or of a disk that lost some: once more, from its first byte.
        self._progress.restart(artifact.name)
        self._keep(artifact, partial, self._receive(address, artifact, partial))

    def _receive(self, address: str, artifact: LockedArtifact, partial: Partial) -> _Arrived:
        if not is_web(address):
            return self._copy(address, artifact, partial)
        try:
            return self._transfer(address, artifact, partial)
        except StatusError as error:
            private = github.find(self._servers.web, address) if error.missing else None
            if private is None:
                raise
        return self._transfer(private, artifact, partial, address=address, accept=github.ACCEPT)

    def _transfer(
        self,
        url: str,
        artifact: LockedArtifact,
        partial: Partial,
        *,
        address: str | None = None,
        accept: str = "*/*",
    ) -> _Arrived:
        transfer = Transfer(
            self._servers.web,
            url,
            partial,
            _Expected(artifact),
            _Listener(artifact.name, self._progress),
            self._stopped,
            address=address,
            accept=accept,
        )
        transfer.run()
        return _Arrived(transfer.where, transfer.encoding)

    def _copy(self, source: str, artifact: LockedArtifact, partial: Partial) -> _Arrived:
        """From a source that is no web server: a file, or a package client."""
        expected = _Expected(artifact)
        # Another place may have delivered a part of it before.
        self._progress.restart(artifact.name)
        partial.begin(source, "", [(0, None)])
        [piece] = partial.pieces
        with opener(source)(source, self._servers.web.network) as stream, partial.writing(piece) as file:
            expected.stream(stream)
            for chunk in stream.chunks:
                if self._stopped.is_set():
                    raise StoppedError
                if piece.reached + len(chunk) > expected.limit:
                    expected.wrong_length(stream.where, f"more than {expected.limit} bytes")
                partial.add(piece, file, chunk)
                self._progress.advance(artifact.name, len(chunk))
            partial.finish(piece)
            return _Arrived(stream.where)

    def _keep(self, artifact: LockedArtifact, partial: Partial, arrived: _Arrived) -> None:
        """Check size and digest, and only then give the bytes their final name."""
        found = partial.sha256()
        if found != artifact.sha256 and arrived.encoding:
            # Only now: some servers call an archive's own compression a coding.
            self._decode(artifact, partial, arrived)
            found = partial.sha256()
        if artifact.size is not None and partial.received != artifact.size:
            raise _wrong(artifact, arrived.where, "size", f"{partial.received} bytes", partial.head(_HEAD))
        if found != artifact.sha256:
            raise _wrong(artifact, arrived.where, "sha256", found, partial.head(_HEAD))
        partial.sync()
        self._store.keep_blob(partial.path, artifact.sha256)

    def _decode(self, artifact: LockedArtifact, partial: Partial, arrived: _Arrived) -> None:
        """Undo a content coding that a proxy applied unasked."""
        if arrived.encoding not in _CODINGS:
            raise NetworkError(
                f"{arrived.where} came in the content coding `{arrived.encoding}`, which nobody asked for",
                hint="a proxy on the way has a fault: report it to whoever runs it",
            )
        expected = _Expected(artifact)
        with partial.recoding() as (coded, piece, file):
            try:
                for chunk in _decoded(coded, _CODINGS[arrived.encoding]):
                    if piece.reached + len(chunk) > expected.limit:
                        expected.wrong_length(arrived.where, f"more than {expected.limit} bytes")
                    partial.add(piece, file, chunk)
            except zlib.error as error:
                raise NetworkError(
                    f"{arrived.where} came in a broken content coding (`{arrived.encoding}`)",
                    data=[str(error)],
                    hint="a proxy on the way has a fault: report it to whoever runs it",
                ) from error


@dataclass
class _Expected:
    """What is known of an artifact before it comes; an `Expectation` of `transfer`."""

    artifact: LockedArtifact
    size: int | None = field(init=False)
    limit: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = self.artifact.size
        self.limit = MAX_ARTIFACT if self.size is None else self.size

    def announced(self, answer: Answer) -> None:
        """Said before the transfer, so a wrong file of a gigabyte costs nothing."""
        if not answer.encoding:
            self.stream(Stream(answer.chunks, answer.size, answer.where))

    def stream(self, stream: Stream) -> None:
        if (
            stream.size is None
            or stream.size == self.size
            or (self.size is None and stream.size <= self.limit)
        ):
            return
        head = next(stream.chunks, b"")[:_HEAD]
        raise _wrong(self.artifact, stream.where, "size", f"{stream.size} bytes", head)

    def wrong_length(self, where: str, found: str) -> NoReturn:
        raise _wrong(self.artifact, where, "size", found, b"")


@dataclass(frozen=True, slots=True)
class _Listener:
    """The progress of one artifact."""

    name: str
    progress: Progress

    def advance(self, count: int) -> None:
        self.progress.advance(self.name, count)

    def restart(self) -> None:
        self.progress.restart(self.name)


def _decoded(coded: IO[bytes], window: int) -> Iterator[bytes]:
    """The bytes under a coding, in bounded chunks whatever they decompress to."""
    decoder = zlib.decompressobj(window)
    while not decoder.eof:
        data = decoder.unconsumed_tail or coded.read(CHUNK)
        if not data:
            raise zlib.error("it ends too early")
        yield decoder.decompress(data, CHUNK)


def _wrong(artifact: LockedArtifact, where: str, what: str, found: str, head: bytes) -> EtfetchError:
    if _WEB_PAGE.match(head):
        return NetworkError(
            f"a web page came instead of `{artifact.name}`",
            data=[f"from {where}"],
            hint="a login page, a proxy or a moved file: open the address in a browser",
        )
    expected = artifact.sha256
    if what == "size":
        expected = f"{artifact.size if artifact.size is not None else f'at most {MAX_ARTIFACT}'} bytes"
    return IntegrityError(
        f"`{artifact.name}` is not the archive that is locked",
        data=[f"from {where}", f"expected {what} {expected}", f"found    {what} {found}"],
        hint="the file was replaced or damaged on its way: do not use it; tell whoever publishes it",
    )


def _first_words(text: bytes) -> list[str]:
    line = text[:80].decode("utf-8", "replace").splitlines()[:1]
    return [f"it begins with `{line[0]}`"] if line else ["it is empty"]
