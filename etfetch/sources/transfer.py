"""One file from one address, whatever the network does.

Rules:

- Tries are counted since the last progress: a bad network that moves gets through, a dead one ends
  after `Network.retries` tries. Between two of them a random wait, longer each time, or what Retry-After
  says. No limit on the whole.
- What has arrived is not asked for again, if the server named a validator: `Range` with `If-Range`. An
  answer with the whole file, or about another version of it, starts over.
- A file of more than `MULTI_FROM` bytes with a strong ETag comes in up to `MAX_RANGES` ranges at once.
- A range that the server gets wrong ends all ranges for this file.
- Whether the bytes are the right ones is not known here: `Expectation` looks at what is announced, and
  who called hashes the whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import pairwise
from typing import NoReturn, Protocol

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_after_attempt,
    wait_random_exponential,
)

from etfetch.errors import NetworkError
from etfetch.partial import Partial, Piece
from etfetch.sources import gather
from etfetch.sources.web import Answer, StatusError, TransientError, Web

MULTI_FROM = 32 << 20
MAX_RANGES = 4
LONGEST_WAIT = 120.0
"""Seconds of Retry-After that are waited for; a server that asks for more has closed for today."""

_FIRST_PAUSE = 0.5
_MAX_PAUSE = 10.0
_CODED_SLACK = 64 << 10
_MAX_FAULTS = 2
"""After the first fault of a server's ranges a file comes in one piece, after the second in one go."""

_RANGE_NOT_SATISFIABLE = 416


class StoppedError(Exception):
    """Somebody else failed, or the user interrupted: this transfer gives up."""


class Expectation(Protocol):
    """What the caller knows of the file; `size` in bytes if it is known, never more than `limit`."""

    size: int | None
    limit: int

    def announced(self, answer: Answer) -> None:
        """Raise if a server announces something else than the file."""

    def wrong_length(self, where: str, found: str) -> NoReturn:
        """Raise because the file ended elsewhere than it should: after `found`."""


class Listener(Protocol):
    """Who hears of the transfer's progress."""

    def advance(self, count: int) -> None: ...

    def restart(self) -> None: ...


class _StartOverError(Exception):
    """What is here belongs to another version of the file, or ranges do not work."""


class Transfer:
    """One download into a `Partial`, which may hold a part of it from before.

    `address` is what the file is known by from one run to the next, if that is not the `url`. `where` is the
    final address for messages, `encoding` the content coding that the bytes came in.
    """

    def __init__(
        self,
        web: Web,
        url: str,
        partial: Partial,
        expected: Expectation,
        listener: Listener,
        stopped: threading.Event,
        *,
        address: str | None = None,
        accept: str = "*/*",
    ) -> None:
        self.where = url
        self.encoding = ""
        self._web = web
        self._url = url
        # Without the query: a signature in it changes, the file does not.
        self._address = (address or url).partition("?")[0]
        self._partial = partial
        self._expected = expected
        self._listener = listener
        self._stopped = stopped
        self._accept = accept
        self._faults = 0

    def run(self) -> None:
        """Bring the whole file.

        `StatusError` for an answer that stays a refusal, `NetworkError` when it cannot be done,
        `StoppedError` when it is stopped, and what the expectation raises.
        """
        self._listener.restart()
        self._listener.advance(self._received)
        while not self._partial.whole:
            try:
                self._bring()
            except _StartOverError:  # noqa: PERF203  # twice at most
                self._faults += 1
                self._forget()

    @property
    def _received(self) -> int:
        """Bytes that are here of this file at this address."""
        return self._partial.received if self._partial.address == self._address else 0

    def _bring(self) -> None:
        pieces = self._partial.pieces
        if not self._received or len(pieces) == 1:
            self._with_tries(self._next, lambda: self._received, self._stopped)
        else:
            self._together([piece for piece in pieces if not piece.whole], self._finish_piece)

    def _next(self) -> None:
        """One try at a file in one piece: the rest of it where that can be asked for, else all of it."""
        if self._received and self._partial.validator and self._faults < _MAX_FAULTS:
            self._continue(self._partial.pieces[0], self._stopped)
        else:
            self._begin()

    def _begin(self) -> None:
        """The first question: for the first of several ranges where that may pay, else for the file."""
        spans = self._spans()
        stop = spans[0][1] if len(spans) > 1 else None
        with self._web.ask(self._url, stop=stop, accept=self._accept) as answer:
            if answer.start != 0 or (stop is None and answer.partial):
                raise self._disordered(answer)
            self._start(answer, spans if answer.partial else spans[:0])

    def _start(self, answer: Answer, spans: Sequence[tuple[int, int | None]]) -> None:
        """Take an answer that begins at the file's first byte."""
        self.where = answer.where
        self._expected.announced(answer)
        in_ranges = bool(spans)
        if in_ranges and (answer.stop != spans[0][1] or not answer.etag or answer.encoding):
            # Nothing would hold the ranges together.
            raise _StartOverError
        if not in_ranges:
            spans = [(0, self._expected.size if self._expected.size is not None else answer.size)]
        self.encoding = answer.encoding
        if answer.encoding:
            # Under a coding the file has another length, and no part of it can be asked for again.
            spans = [(0, None)]
        if self._received:
            self._listener.restart()
        validator = "" if answer.encoding else answer.etag or answer.modified
        self._partial.begin(self._address, validator, spans)
        first = self._partial.pieces[0]
        if not in_ranges:
            self._receive(answer, first, self._stopped)
            return

        def bring(piece: Piece, halt: threading.Event) -> None:
            if piece is first:
                with suppress(TransientError):
                    self._receive(answer, piece, halt)
            if not piece.whole:
                self._finish_piece(piece, halt)

        self._together(self._partial.pieces, bring)

    def _spans(self) -> list[tuple[int, int | None]]:
        size = self._expected.size
        if size is None or size <= MULTI_FROM or self._faults:
            return [(0, size)]
        edges = [size * number // MAX_RANGES for number in range(MAX_RANGES + 1)]
        return list(pairwise(edges))

    def _together(self, pieces: Sequence[Piece], bring: Callable[[Piece, threading.Event], None]) -> None:
        """Bring several pieces at once; the first failure ends them all."""
        halt = threading.Event()
        with ThreadPoolExecutor(len(pieces), thread_name_prefix="fetch-range") as pool:
            running = [pool.submit(bring, piece, halt) for piece in pieces]
            failures = []
            for future in as_completed(running):
                failure = future.exception()
                if failure is not None:
                    halt.set()
                    failures.append(failure)
        # Waited for all of them: a late one may not write into what is begun anew.
        causes = [failure for failure in failures if not isinstance(failure, StoppedError)]
        for failure in causes or failures:
            raise failure

    def _finish_piece(self, piece: Piece, halt: threading.Event) -> None:
        self._with_tries(lambda: self._continue(piece, halt), lambda: piece.reached, halt)

    def _continue(self, piece: Piece, halt: threading.Event) -> None:
        """Ask for the rest of a piece."""
        try:
            question = self._web.ask(
                self._url,
                start=piece.reached,
                stop=piece.stop,
                validator=self._partial.validator,
                accept=self._accept,
            )
            with question as answer:
                self.where = answer.where
                if answer.partial:
                    self._check_part(answer, piece)
                    self._receive(answer, piece, halt)
                elif len(self._partial.pieces) == 1:
                    # The file has changed, or the server knows no ranges: this is all of it.
                    self._start(answer, [])
                else:
                    raise _StartOverError
        except StatusError as error:
            if error.status == _RANGE_NOT_SATISFIABLE:
                raise _StartOverError from error
            raise

    def _check_part(self, answer: Answer, piece: Piece) -> None:
        """Whether a 206 is the part that was asked for, of the file that was begun."""
        etag = self._partial.validator if self._partial.validator.startswith('"') else ""
        size = self._expected.size
        if (
            answer.start != piece.reached
            or (answer.stop is not None and piece.stop is not None and answer.stop > piece.stop)
            or (answer.size is not None and size is not None and answer.size != size)
            or (etag and answer.etag and answer.etag != etag)
            or answer.encoding
        ):
            raise _StartOverError

    def _receive(self, answer: Answer, piece: Piece, halt: threading.Event) -> None:
        limit = self._expected.limit
        if answer.encoding:
            limit += limit // 8 + _CODED_SLACK
        stop = limit if piece.stop is None else piece.stop
        with self._partial.writing(piece) as file:
            for chunk in answer.chunks:
                if halt.is_set() or self._stopped.is_set():
                    raise StoppedError
                if piece.reached + len(chunk) > stop:
                    if len(self._partial.pieces) > 1:
                        raise _StartOverError
                    self._expected.wrong_length(answer.where, f"more than {limit} bytes")
                self._partial.add(piece, file, chunk)
                self._listener.advance(len(chunk))
        self._ended(answer, piece)

    def _ended(self, answer: Answer, piece: Piece) -> None:
        """The body is at its end, and so is the piece, or the connection was cut where nobody could see."""
        if piece.stop is None:
            self._partial.finish(piece)
        elif not piece.whole:
            if answer.delimited and not answer.partial:
                self._expected.wrong_length(answer.where, f"{piece.reached} bytes")
            raise TransientError(
                f"the download of {answer.where} ended too early",
                data=[f"after {piece.reached} of {piece.stop} bytes"],
                hint="the server or a proxy before it has a fault: try again later",
            )

    def _forget(self) -> None:
        self._partial.forget()
        self._listener.restart()

    def _disordered(self, answer: Answer) -> Exception:
        if self._spans()[1:]:
            return _StartOverError()
        return NetworkError(
            f"{answer.where} answered with a part of the file that nobody asked for",
            hint="the server or a proxy before it has a fault: report it to whoever runs it",
        )

    def _with_tries(
        self, attempt: Callable[[], None], progress: Callable[[], int], halt: threading.Event
    ) -> None:
        """Try until it works, or until there was no progress for as many tries as there may be."""
        furthest = progress()

        def renew(state: RetryCallState) -> None:
            nonlocal furthest
            if progress() > furthest:
                furthest = progress()
                state.attempt_number = 1

        def unless_stopped() -> None:
            if halt.is_set() or self._stopped.is_set():
                raise StoppedError
            attempt()

        tries = self._web.network.retries
        retrying = Retrying(
            stop=stop_after_attempt(tries),
            wait=_pause,
            after=renew,
            retry=retry_if_exception(_may_pass),
            sleep=sleep_using_event(halt),
            reraise=True,
        )
        try:
            retrying(unless_stopped)
        except TransientError as error:
            raise self._gave_up(error, tries) from error

    def _gave_up(self, error: TransientError, tries: int) -> NetworkError:
        received, size = self._received, self._expected.size
        arrived = [f"{received} of {size or '?'} bytes arrived"] if received else []
        tried = [f"tried {tries} times without progress"] if tries > 1 else []
        again = (
            "run the command again: it goes on where it stopped" if self._partial.validator else error.hint
        )
        return NetworkError(error.message, data=[*error.data, *arrived, *tried], hint=again)


def read(web: Web, url: str, limit: int, accept: str = "*/*") -> tuple[bytes, str]:
    """A small file and the address it finally came from: at most `limit` bytes, with the same tries.

    `StatusError` for a refusal, `NetworkError` when it cannot be had or is longer.
    """

    def attempt() -> tuple[bytes, str]:
        with web.ask(url, accept=accept) as answer:
            return gather(answer.chunks, limit, answer.where), answer.where

    retrying = Retrying(
        stop=stop_after_attempt(web.network.retries),
        wait=_pause,
        retry=retry_if_exception(_may_pass),
        reraise=True,
    )
    return retrying(attempt)


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, StatusError):
        return error.may_pass and (error.wait or 0) <= LONGEST_WAIT
    return isinstance(error, TransientError)


_exponential = wait_random_exponential(multiplier=_FIRST_PAUSE, max=_MAX_PAUSE)


def _pause(state: RetryCallState) -> float:
    """Seconds to the next try: at random, longer each time, and as long as Retry-After says."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, StatusError) else None
    return max(asked or 0.0, _exponential(state))
