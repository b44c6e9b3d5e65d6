"""A download that is not finished: its bytes so far, and beside them what has arrived.

Two files in the cache's `partial/`: `<digest>.<unique>.part` with the bytes, each where it belongs, and
`<digest>.<unique>.json` with the address, the validator, and for each piece how far it came. The
second is written after every chunk, so a process that is killed loses nothing; whoever comes next goes
on from a *copy* (shared where the file system can). Going on in the same file would be wrong where file
locks lie: its first owner may still be writing, also after the digest was checked.

Nothing here is trusted: what was pieced together is hashed as a whole before it gets its final name.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from etfetch import copying, digest, durable

BYTES = ".part"
STATE = ".json"
CODED = ".coded"


@dataclass(slots=True)
class Piece:
    """A range of the file: `start`, how far it has come, and where it ends (None: not known yet)."""

    start: int
    reached: int
    stop: int | None

    @property
    def whole(self) -> bool:
        return self.reached == self.stop


class Partial:
    """One file being downloaded by one process, in one or several pieces at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = ""
        self.validator = ""
        self.pieces: list[Piece] = []
        self._state: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._hasher: hashlib._Hash | None = None
        self._hashed = 0
        self._length = 0

    @property
    def received(self) -> int:
        """Bytes that are here."""
        return _count(self.pieces)

    @property
    def whole(self) -> bool:
        return bool(self.pieces) and all(piece.whole for piece in self.pieces)

    def adopt(self, other: Path) -> bool:
        """Go on where an abandoned download stopped, whose bytes are at `other`; False if that cannot be."""
        known = _read_state(other)
        if known is None:
            return False
        try:
            if not copying.clone(other, self.path):
                copying.copy(other, self.path)
            if self.path.stat().st_size < _furthest(known.pieces):
                return False
        except OSError:
            return False
        self.address, self.validator, self.pieces = known.address, known.validator, known.pieces
        self._open_state()
        self._save()
        return True

    def begin(self, address: str, validator: str, spans: Sequence[tuple[int, int | None]]) -> None:
        """Forget what is here, and expect these spans of the file at `address`."""
        self.path.write_bytes(b"")
        self.address, self.validator = address, validator
        self.pieces = [Piece(start, start, stop) for start, stop in spans]
        self._hasher, self._hashed = hashlib.sha256(), 0
        if validator:
            self._open_state()
            self._save()
        else:
            # Nobody can go on from here without one.
            self._drop_state()

    def forget(self) -> None:
        """Have nothing of it."""
        self.begin("", "", [])

    @contextmanager
    def writing(self, piece: Piece) -> Iterator[IO[bytes]]:
        """The file, open where the piece goes on; what is written is told with `add`."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(piece.reached)
            yield file

    def add(self, piece: Piece, file: IO[bytes], chunk: bytes) -> None:
        """Write the next bytes of a piece."""
        rest = memoryview(chunk)
        while rest:
            # Unbuffered, so that what is told is on its way to the disk; it may take less than all.
            rest = rest[file.write(rest) :]
        with self._lock:
            if self._hasher is not None:
                # Only from the front to the end in one go: anything else is hashed when it is whole.
                if piece.reached == self._hashed and len(self.pieces) == 1:
                    self._hasher.update(chunk)
                    self._hashed += len(chunk)
                else:
                    self._hasher = None
            piece.reached += len(chunk)
            self._save()

    def finish(self, piece: Piece) -> None:
        """Say that a piece of unknown length has ended."""
        with self._lock:
            piece.stop = piece.reached
            self._save()

    @contextmanager
    def recoding(self) -> Iterator[tuple[IO[bytes], Piece, IO[bytes]]]:
        """What is here, to be read while it is written anew: the old bytes, the new piece, and its file."""
        coded = self.path.with_suffix(CODED)
        durable.replace(self.path, coded)
        try:
            with coded.open("rb") as reader:
                self.begin(self.address, "", [(0, None)])
                [piece] = self.pieces
                with self.writing(piece) as file:
                    yield reader, piece, file
                self.finish(piece)
        finally:
            coded.unlink()

    def sync(self) -> None:
        """Force the bytes to the disk."""
        with self.path.open("rb+") as file:
            durable.fsync(file.fileno())

    def sha256(self) -> str:
        """The digest of all bytes that are here."""
        if self._hasher is not None and self._hashed == self.received:
            return self._hasher.hexdigest()
        return digest.of_file(self.path)

    def head(self, count: int) -> bytes:
        """The first bytes, to tell what came."""
        try:
            with self.path.open("rb") as file:
                return file.read(count)
        except FileNotFoundError:
            return b""

    def close(self) -> None:
        """Stop writing; what is here stays for whoever comes next."""
        if self._state is not None:
            self._state.close()
            self._state = None

    def discard(self) -> None:
        """Remove it, bytes and state; fine if its bytes have got another name."""
        self.close()
        discard(self.path)

    def _save(self) -> None:
        if self._state is None:
            return
        pieces = [(piece.start, piece.reached, piece.stop) for piece in self.pieces]
        state = {"address": self.address, "validator": self.validator, "pieces": pieces}
        # Over itself in one write, which a kill cannot tear, and never shorter than before: JSON minds no
        # spaces. What a crash of the machine leaves is found by the digest.
        text = json.dumps(state).encode()
        self._length = max(self._length, len(text))
        self._state.seek(0)
        self._state.write(text.ljust(self._length))

    def _open_state(self) -> None:
        self.close()
        self._length = 0
        self._state = self.path.with_suffix(STATE).open("wb", buffering=0)

    def _drop_state(self) -> None:
        self.close()
        self.path.with_suffix(STATE).unlink(missing_ok=True)


def discard(path: Path) -> None:
    """Remove an abandoned download, given the path of its bytes."""
    path.unlink(missing_ok=True)
    path.with_suffix(STATE).unlink(missing_ok=True)


def received(path: Path) -> int:
    """How many bytes of an abandoned download can be gone on from, for choosing the best."""
    known = _read_state(path)
    return _count(known.pieces) if known else 0


@dataclass(frozen=True, slots=True)
class _State:
    """What stands beside the bytes."""

    address: str
    validator: str
    pieces: list[Piece]


def _read_state(path: Path) -> _State | None:
    """The state of the download whose bytes are at `path`, or None if nobody can go on from it."""
    try:
        known = json.loads(path.with_suffix(STATE).read_bytes())
        pieces = [Piece(*_numbers(piece)) for piece in known["pieces"]]
        state = _State(str(known["address"]), str(known["validator"]), pieces)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_sendable = state.validator.isascii() and state.validator.isprintable()
    return state if pieces and state.validator and is_sendable else None


def _count(pieces: Sequence[Piece]) -> int:
    return sum(piece.reached - piece.start for piece in pieces)


def _numbers(piece: Sequence[object]) -> tuple[int, int, int | None]:
    start, reached, stop = piece
    if not (isinstance(start, int) and isinstance(reached, int) and isinstance(stop, int | None)):
        raise TypeError(piece)
    if not 0 <= start <= reached or (stop is not None and reached > stop):
        raise ValueError(piece)
    return start, reached, stop


def _furthest(pieces: Sequence[Piece]) -> int:
    return max((piece.reached for piece in pieces if piece.reached > piece.start), default=0)
