"""Bringing artifacts into the cache: verified before anyone else reads a byte.

A source only yields chunks (`sources`). Everything that makes them safe is here, once: a temporary
file, the size bound while they arrive, the digest, the sync, and the final name. Each artifact is
downloaded under its own lock, so that processes that need the same one wait for the first.
Who listens to the progress, and where the cache is, is given; nothing is read from the environment.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from etfetch import durable
from etfetch.digest import is_sha256
from etfetch.errors import IntegrityError, NetworkError
from etfetch.lockfile import LockedArtifact
from etfetch.progress import Progress
from etfetch.sources import Network, Stream, opener

MAX_ARTIFACT = 16 << 30
"""Bytes; the bound for an artifact whose size nobody published."""

_MAX_SIDECAR = 64 << 10
_HEAD = 64
_WEB_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|head)", re.IGNORECASE)


class Store(Protocol):
    """What fetching needs of the cache."""

    def has_blob(self, sha256: str, size: int | None = None) -> bool: ...

    def keep_blob(self, verified: Path, sha256: str) -> None: ...

    def partial_file(self) -> AbstractContextManager[Path]: ...

    def lock(self, name: str) -> AbstractContextManager[None]: ...


def fetch_all(
    artifacts: Sequence[LockedArtifact],
    store: Store,
    network: Network,
    progress: Progress,
    jobs: int,
) -> dict[str, str]:
    """Bring every artifact into the store, largest first, `jobs` at a time.

    Gives, by digest, where each came from: "network" or "cache" (another process was faster).
    The first failure stops what has not begun and is raised.
    """
    batch = _Batch(store, network, progress)
    found: dict[str, str] = {}
    ordered = sorted(artifacts, key=lambda a: -(a.size or 0))
    pool = ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="fetch")
    running = {pool.submit(batch.fetch, artifact): artifact for artifact in ordered}
    try:
        for future in as_completed(running):
            found[running[future].sha256] = future.result()
    except BaseException:
        # Not waited for: a server that hangs would hold up the error, or the user's Ctrl-C.
        batch.stop()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return found


def fetch_sidecar(source: str, sidecar: str, network: Network) -> str:
    """The digest that stands in a file beside an artifact.

    Either 64 hex digits alone, or a line of `sha256sum`: digits, two spaces, the file's name.
    `IntegrityError` when it holds no digest for this artifact.
    """
    address = f"{source.rpartition('/')[0]}/{sidecar}"
    with opener(address)(address, network) as stream:
        text = b""
        for chunk in stream.chunks:
            text += chunk
            if len(text) > _MAX_SIDECAR:
                break
    found = sidecar_digest(text[:_MAX_SIDECAR].decode("utf-8", "replace"), source.rpartition("/")[2])
    if found is None:
        raise IntegrityError(
            f"`{stream.where}` holds no sha256 of the archive beside it",
            data=_first_words(text),
            hint="the release may not be complete yet; report it to whoever publishes it",
        )
    return found


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


class _StoppedError(Exception):
    """Another download failed, or the user interrupted: this one gives up."""


@dataclass(frozen=True, slots=True)
class _Received:
    """What arrived of an artifact: bytes, digest, and the first bytes to tell what it is."""

    count: int
    sha256: str
    head: bytes


class _Batch:
    """The downloads of one `fetch_all`, in several threads, and the way to stop them all."""

    def __init__(self, store: Store, network: Network, progress: Progress) -> None:
        self._store = store
        self._network = network
        self._progress = progress
        self._stopped = threading.Event()
        self._partial: set[Path] = set()

    def stop(self) -> None:
        """Have every download end at its next chunk, and take away what they have written."""
        self._stopped.set()
        for path in list(self._partial):
            path.unlink(missing_ok=True)

    def fetch(self, artifact: LockedArtifact) -> str:
        """Bring one artifact into the store; "network", or "cache" if another process just did."""
        with self._store.lock(artifact.sha256):
            # Looked at again under the lock: whoever held it before may have brought it.
            if self._store.has_blob(artifact.sha256, artifact.size):
                return "cache"
            self._progress.begin(artifact.name, artifact.size)
            self._with_retries(artifact)
            self._progress.end(artifact.name)
        return "network"

    def _with_retries(self, artifact: LockedArtifact) -> None:
        if not artifact.source.startswith("http"):
            self._download(artifact)
            return
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        from etfetch.sources.https import InterruptedStreamError, wait_between

        retrying = Retrying(
            stop=stop_after_attempt(self._network.retries),
            wait=wait_between(),
            retry=retry_if_exception_type(InterruptedStreamError),
            before_sleep=lambda _: self._progress.restart(artifact.name),
            reraise=True,
        )
        retrying(self._download, artifact)

    def _download(self, artifact: LockedArtifact) -> None:
        with self._store.partial_file() as path:
            self._partial.add(path)
            source = opener(artifact.source)(artifact.source, self._network)
            with source as stream, path.open("wb") as file:
                _check_announced(artifact, stream)
                received = self._receive(artifact, stream, file)
                file.flush()
                durable.fsync(file.fileno())
            if artifact.size is not None and received.count != artifact.size:
                raise _wrong(artifact, stream, "size", f"{received.count} bytes", received.head)
            if received.sha256 != artifact.sha256:
                raise _wrong(artifact, stream, "sha256", received.sha256, received.head)
            self._store.keep_blob(path, artifact.sha256)
            self._partial.discard(path)

    def _receive(self, artifact: LockedArtifact, stream: Stream, file: IO[bytes]) -> _Received:
        hasher, count, head = hashlib.sha256(), 0, b""
        limit = artifact.size if artifact.size is not None else MAX_ARTIFACT
        for chunk in stream.chunks:
            if self._stopped.is_set():
                raise _StoppedError
            count += len(chunk)
            head = head or chunk[:_HEAD]
            if count > limit:
                raise _wrong(artifact, stream, "size", f"more than {limit} bytes", head)
            hasher.update(chunk)
            file.write(chunk)
            self._progress.advance(artifact.name, len(chunk))
        return _Received(count, hasher.hexdigest(), head)


def _check_announced(artifact: LockedArtifact, stream: Stream) -> None:
    if artifact.size is not None and stream.size not in (None, artifact.size):
        # Said before the transfer, so a wrong file of a gigabyte costs nothing.
        head = next(stream.chunks, b"")[:_HEAD]
        raise _wrong(artifact, stream, "size", f"{stream.size} bytes", head)


def _wrong(
    artifact: LockedArtifact, stream: Stream, what: str, found: str, head: bytes
) -> IntegrityError | NetworkError:
    if _WEB_PAGE.match(head):
        return NetworkError(
            f"a web page came instead of `{artifact.name}`",
            data=[f"from {stream.where}"],
            hint="a login page, a proxy or a moved file: open the address in a browser",
        )
    expected = f"{artifact.size} bytes" if what == "size" else artifact.sha256
    return IntegrityError(
        f"`{artifact.name}` is not the archive that is locked",
        data=[f"from {stream.where}", f"expected {what} {expected}", f"found    {what} {found}"],
        hint="the file was replaced or damaged on its way: do not use it; tell whoever publishes it",
    )


def _first_words(text: bytes) -> list[str]:
    line = text[:80].decode("utf-8", "replace").splitlines()[:1]
    return [f"it begins with `{line[0]}`"] if line else ["it is empty"]
