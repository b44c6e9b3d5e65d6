"""The release servers of one command: where a file is asked for, and what mirrors publish.

The one place that goes through the list of places (`mirrors` has its rules). A mirror's `index.json` is asked
for once: it says whether archives stand in folders or flat beside each other, and which releases there are.
Its manifests are new releases without a new etfetch; they are kept in the cache by their digests.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from etfetch import digest, mirrors
from etfetch.errors import (
    EtfetchError,
    IntegrityError,
    ManifestError,
    MissingError,
    NetworkError,
    OfflineError,
)
from etfetch.mirrors import Index, Place, Wanted
from etfetch.sources import Network, gather, github, is_web, opener, transfer
from etfetch.sources.web import StatusError, Web

if TYPE_CHECKING:
    from etfetch.catalogue import Catalogue

T = TypeVar("T")

_MAX_INDEX = 16 << 20
_MAX_TEXT = 4 << 20
_FORBIDDEN = 403


class TextStore(Protocol):
    """What is needed of the cache: small files by their digests."""

    def text(self, sha256: str) -> bytes | None: ...

    def keep_text(self, sha256: str, data: bytes) -> None: ...


class Servers:
    """All places to ask, in order, and what is known of them."""

    def __init__(self, places: Sequence[Place], network: Network, store: TextStore) -> None:
        self.places = tuple(places)
        self.web = Web(network)
        self._store = store
        self._lock = threading.Lock()
        self._indexes: dict[str, Index | EtfetchError | None] = {}

    def close(self) -> None:
        """End all connections."""
        self.web.close()

    def search(self, wanted: Wanted, attempt: Callable[[str], T]) -> T:
        """Try `attempt` with one address after the other, as the rules of the list say.

        Raises what the last place raised; with several, one error that has them all: `MissingError` if none
        has the file, and `OfflineError` if the origin might have had it but is blocked.
        """
        failures: list[EtfetchError] = []
        for place in self.places:
            try:
                return attempt(self.address(place, wanted))
            except (NetworkError, IntegrityError) as error:  # noqa: PERF203  # failing is what the list is for
                if not (place.lenient or is_missing(error)):
                    raise
                failures.append(error)
        raise self._nowhere(wanted, failures)

    def addresses(self, wanted: Wanted) -> list[str]:
        """Every address that a file may be had from; a mirror that cannot be asked has none."""
        return [self.address(place, wanted) for place in self._answering()]

    def address(self, place: Place, wanted: Wanted) -> str:
        """Where a place has a file; asks a mirror for its index."""
        if place.base is None:
            return wanted.source
        return mirrors.address(place.base, wanted, indexed=self.index(place.base) is not None)

    def index(self, base: str) -> Index | None:
        """What a mirror says it has, or None for a flat one. Asked for once, also if it fails."""
        with self._lock:
            if base not in self._indexes:
                try:
                    self._indexes[base] = self._ask_index(f"{base}/{mirrors.INDEX}")
                except EtfetchError as error:
                    self._indexes[base] = error
            found = self._indexes[base]
        if isinstance(found, EtfetchError):
            raise found
        return found

    def catalogue(self, package: str, known: Catalogue) -> Catalogue:
        """`known`, joined by every release of a package that a mirror has.

        `ConfigError` when a mirror describes a known release differently, or two mirrors do.
        """
        for place in self._answering():
            index = self.index(place.base) if place.base else None
            if place.base and index is not None:
                known = self._joined(known, package, place.base, index)
        return known

    def _answering(self) -> Iterator[Place]:
        """Every place but those whose index cannot be had, as far as the list forgives that."""
        for place in self.places:
            try:
                if place.base is not None:
                    self.index(place.base)
            except NetworkError:
                if not place.lenient:
                    raise
                continue
            yield place

    def _joined(self, known: Catalogue, package: str, base: str, index: Index) -> Catalogue:
        from etfetch.catalogue import Catalogue, ManifestText, disagreement

        texts = {name: dict(versions) for name, versions in known.texts.items()}
        mine = texts.get(package, {})
        fresh = {}
        for version, sha256 in index.packages.get(package, {}).items():
            wanted = Wanted(package, version, mirrors.MANIFEST, "")
            file = mirrors.address(base, wanted, indexed=True)
            if version not in mine:
                fresh[version] = ManifestText(self._text(file, sha256), file)
            elif digest.of_bytes(mine[version].text.encode()) != sha256:
                raise disagreement(package, version, mine[version].file, file)
        if not fresh:
            return known
        texts[package] = {**mine, **fresh}
        return Catalogue(texts, {**known.operator_sets, **self._operators(known, base, index)})

    def _operators(self, known: Catalogue, base: str, index: Index) -> dict[str, str]:
        from etfetch.catalogue import operators_disagreement

        found = {}
        for name, sha256 in index.operators.items():
            if name not in known.operator_sets:
                found[name] = self._text(f"{base}/{mirrors.OPERATORS}/{name}.txt", sha256)
            elif digest.of_bytes(known.operator_sets[name].encode()) != sha256:
                raise operators_disagreement(name)
        return found

    def _text(self, url: str, sha256: str) -> str:
        """A small file whose digest an index names, from the cache or the server."""
        data = self._store.text(sha256)
        if data is None:
            data, where = self.read(url, _MAX_TEXT)
            found = digest.of_bytes(data)
            if found != sha256:
                raise IntegrityError(
                    f"`{where}` is not what the mirror's index says",
                    data=[f"expected sha256 {sha256}", f"found    sha256 {found}"],
                    hint="the mirror is being changed, or damaged: run `etfetch mirror verify` there",
                )
            self._store.keep_text(sha256, data)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ManifestError(f"{url}: not UTF-8 at byte {error.start}") from error

    def read(self, url: str, limit: int, *, private: bool = False) -> tuple[bytes, str]:
        """A small file and where it came from; `NetworkError` when it is longer than `limit` bytes.

        With `private` a file that is not there is looked for among the assets of a private release.
        """
        if is_web(url):
            try:
                return transfer.read(self.web, url, limit)
            except StatusError as error:
                asset = github.find(self.web, url) if private and error.missing else None
                if asset is None:
                    raise
            return transfer.read(self.web, asset, limit, github.ACCEPT)
        with opener(url)(url, self.web.network) as stream:
            return gather(stream.chunks, limit, stream.where), stream.where

    def _ask_index(self, url: str) -> Index | None:
        try:
            text, where = self.read(url, _MAX_INDEX)
        except (MissingError, StatusError) as error:
            # Buckets that may not be listed answer 403 for what is not there; if the archives are forbidden
            # too, they will say so themselves.
            if is_missing(error) or (isinstance(error, StatusError) and error.status == _FORBIDDEN):
                return None
            raise
        try:
            return mirrors.parse_index(json.loads(text), where)
        except (ValueError, RecursionError) as error:
            raise NetworkError(
                f"{where} is not the index of a release server",
                data=[f"not JSON: {error}"],
                hint="a login page, a proxy or another kind of server: open the address in a browser",
            ) from error

    def _nowhere(self, wanted: Wanted, failures: Sequence[EtfetchError]) -> EtfetchError:
        origin_asked = any(place.base is None for place in self.places)
        grave = [failure for failure in failures if not is_missing(failure)]
        if not grave and not origin_asked:
            return OfflineError(
                f"`{wanted.name}` is on no mirror, and its origin is blocked",
                data=[failure.message for failure in failures] or ["no mirror is named"],
                hint="add it to a mirror (`etfetch mirror create`), or unset `ETFETCH_BLOCK_ORIGIN`",
            )
        if len(failures) == 1:
            return failures[0]
        lines = [line for failure in failures for line in (failure.message, *failure.data)]
        kind: type[EtfetchError] = MissingError if not grave else NetworkError
        if any(isinstance(failure, IntegrityError) for failure in grave):
            kind = IntegrityError
        return kind(
            f"`{wanted.name}` could not be had from any of {len(failures)} places",
            data=lines,
            hint=(grave or failures)[-1].hint,
        )


def is_missing(error: EtfetchError) -> bool:
    """Whether a server answered that it does not have a file."""
    return isinstance(error, MissingError) or (isinstance(error, StatusError) and error.missing)
