"""Bringing artifacts into the cache: verified before anyone else reads a byte.

A source only yields chunks (`sources`). Everything that makes them safe is here, once: a temporary
file, the size bound while they arrive, the digest, the sync, and the final name. Each artifact is
downloaded under its own lock, so that processes that need the same one wait for the first.
Who listens to the progress, and where the cache is, is given; nothing is read from the environment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from etfetch import durable
from etfetch.digest import is_sha256
from etfetch.errors import IntegrityError, NetworkError
from etfetch.lockfile import LockedArtifact
from etfetch.progress import Progress
from etfetch.sources import Network, Stream, opener

MAX_ARTIFACT = 16 << 30
"""Bytes; the bound for an artifact whose size nobody published."""

_MAX_SIDECAR = 64 << 10
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
    found: dict[str, str] = {}
    ordered = sorted(artifacts, key=lambda a: -(a.size or 0))
    with ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="fetch") as pool:
        running = {pool.submit(_fetch, a, store, network, progress): a for a in ordered}
        try:
            for future in as_completed(running):
                found[running[future].sha256] = future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
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


def _fetch(artifact: LockedArtifact, store: Store, network: Network, progress: Progress) -> str:
    with store.lock(artifact.sha256):
        # Looked at again under the lock: whoever held it before may have brought it.
        if store.has_blob(artifact.sha256, artifact.size):
            return "cache"
        progress.begin(artifact.name, artifact.size)
        _with_retries(lambda: _download(artifact, store, network, progress), network, artifact, progress)
        progress.end(artifact.name)
    return "network"


def _with_retries(
    download: Callable[[], None], network: Network, artifact: LockedArtifact, progress: Progress
) -> None:
    if not artifact.source.startswith("http"):
        download()
        return
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    from etfetch.sources.https import InterruptedStreamError, wait_between

    retrying = Retrying(
        stop=stop_after_attempt(network.retries),
        wait=wait_between(),
        retry=retry_if_exception_type(InterruptedStreamError),
        before_sleep=lambda _: progress.restart(artifact.name),
        reraise=True,
    )
    retrying(download)


def _download(artifact: LockedArtifact, store: Store, network: Network, progress: Progress) -> None:
    with store.partial_file() as path:
        with opener(artifact.source)(artifact.source, network) as stream, path.open("wb") as file:
            _check_announced(artifact, stream)
            hasher, count = hashlib.sha256(), 0
            limit = artifact.size if artifact.size is not None else MAX_ARTIFACT
            head = b""
            for chunk in stream.chunks:
                count += len(chunk)
                head = head or chunk[:64]
                if count > limit:
                    raise _wrong(artifact, stream, "size", f"more than {limit} bytes", head)
                hasher.update(chunk)
                file.write(chunk)
                progress.advance(artifact.name, len(chunk))
            file.flush()
            durable.fsync(file.fileno())
        if artifact.size is not None and count != artifact.size:
            raise _wrong(artifact, stream, "size", f"{count} bytes", head)
        if hasher.hexdigest() != artifact.sha256:
            raise _wrong(artifact, stream, "sha256", hasher.hexdigest(), head)
        store.keep_blob(path, artifact.sha256)


def _check_announced(artifact: LockedArtifact, stream: Stream) -> None:
    if artifact.size is not None and stream.size not in (None, artifact.size):
        # Said before the transfer, so a wrong file of a gigabyte costs nothing.
        head = next(stream.chunks, b"")[:64]
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
