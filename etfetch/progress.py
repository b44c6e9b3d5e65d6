"""What long work reports, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A listener of one batch of transfers. Called from several threads at once."""

    def begin(self, name: str, size: int | None) -> None:
        """A transfer of `size` bytes (None: unknown) starts."""

    def advance(self, name: str, count: int) -> None:
        """`count` more bytes of it arrived."""

    def restart(self, name: str) -> None:
        """The transfer starts over; what arrived so far does not count."""

    def end(self, name: str) -> None:
        """All of it arrived and was verified."""


class Silent:
    """A listener that says nothing."""

    def begin(self, name: str, size: int | None) -> None: ...

    def advance(self, name: str, count: int) -> None: ...

    def restart(self, name: str) -> None: ...

    def end(self, name: str) -> None: ...
