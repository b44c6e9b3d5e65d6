"""What people see: words on stderr, data on stdout. The only user of rich.

rich is imported when there is a terminal to use it on; without one, everything is plain lines, which is
what logs and screen readers want. Colour never says anything that words don't.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from etfetch.errors import EtfetchError
from etfetch.progress import Progress, Silent
from etfetch.sizes import size

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {singular}" if number == 1 else f"{number} {plural or f'{singular}s'}"


def printable(text: str) -> str:
    """Text without control characters: names from archives and servers may try to move the cursor."""
    return _UNSAFE.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


@dataclass(frozen=True, slots=True)
class Console:
    """Where a command speaks. `verbosity` is -1 (quiet), 0 or 1 (`-v`)."""

    verbosity: int = 0
    color: bool = True
    as_json: bool = False

    def say(self, text: str) -> None:
        """A sentence on stderr, unless quiet."""
        if self.verbosity >= 0:
            self._write(text)

    def detail(self, text: str) -> None:
        """A sentence on stderr for `-v`."""
        if self.verbosity > 0:
            self._write(text)

    def warn(self, text: str) -> None:
        """A sentence on stderr that also quiet commands say."""
        self._write(f"warning: {text}")

    def data(self, text: str) -> None:
        """A line on stdout: what the command was asked for."""
        print(text)

    def json(self, value: object) -> None:
        """The one JSON document of a `--json` command."""
        print(json.dumps(value, indent=2, ensure_ascii=False))

    def fail(self, error: EtfetchError) -> None:
        """An error: as JSON on stdout, or as a sentence, its data and a hint on stderr."""
        if self.as_json:
            self.json(
                {
                    "error": {
                        "code": error.code,
                        "kind": error.kind,
                        "message": "\n".join((error.message, *error.data)),
                        "hint": error.hint,
                    }
                }
            )
            return
        self._write(f"{self._styled('error:', '1;31')} {error.message}")
        for line in error.data:
            self._write(f"  {line}")
        if error.hint:
            self._write(f"{self._styled('hint:', '1;36')} {error.hint}")

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table on stdout: drawn on a terminal, plain aligned columns elsewhere."""
        if not sys.stdout.isatty():
            self._plain_table(headings, rows)
            return
        from rich import box
        from rich.console import Console as RichConsole
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*map(printable, row))
        RichConsole(no_color=not self.color, highlight=False, markup=False).print(table)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A listener for downloads: bars on a terminal, a line per artifact elsewhere."""
        if self.verbosity < 0 or self.as_json:
            yield Silent()
        elif sys.stderr.isatty():
            with _bars(self.color) as bars:
                yield _Bars(bars)
        else:
            yield _Lines(self)

    def _plain_table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        lines = [tuple(headings), *(tuple(map(printable, row)) for row in rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self.data("  ".join(cells).rstrip())

    def _write(self, text: str) -> None:
        shown = "\n".join(_keep_colour(line) for line in text.split("\n"))
        # A terminal that cannot show a character gets an escape of it, never a traceback.
        encoding = sys.stderr.encoding or "utf-8"
        # In one piece: `print` writes the line's end apart, and several threads speak here.
        sys.stderr.write(shown.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    def _styled(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and sys.stderr.isatty() else text


def _keep_colour(line: str) -> str:
    """A line without control characters, but for the styles that `_styled` put at its beginning."""
    match = re.match(r"\x1b\[[0-9;]+m[a-z]+:\x1b\[0m", line)
    head = match.group() if match else ""
    return head + printable(line[len(head) :])


@contextmanager
def _bars(color: bool) -> Iterator[Bars]:
    from rich.console import Console as RichConsole
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as RichProgress

    console = RichConsole(stderr=True, no_color=not color, highlight=False)
    with RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as bars:
        yield bars


class _Bars:
    """A bar for each transfer and one for all."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._sizes: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._total: TaskID | None = None
        self._lock = threading.Lock()

    def begin(self, name: str, size: int | None) -> None:
        with self._lock:
            self._tasks[name] = self._bars.add_task(printable(name), total=size)
            self._sizes[name] = size or 0
            self._done[name] = 0
            if self._total is None and len(self._tasks) > 1:
                self._total = self._bars.add_task("in total", total=0)
            self._update_total()

    def advance(self, name: str, count: int) -> None:
        with self._lock:
            self._done[name] += count
            self._bars.update(self._tasks[name], advance=count)
            self._update_total()

    def restart(self, name: str) -> None:
        with self._lock:
            self._done[name] = 0
            self._bars.update(self._tasks[name], completed=0)
            self._update_total()

    def end(self, name: str) -> None:
        with self._lock:
            self._sizes[name] = self._done[name]
            self._bars.update(self._tasks[name], total=self._done[name])
            self._update_total()

    def _update_total(self) -> None:
        if self._total is not None:
            known = sum(max(self._sizes[n], self._done[n]) for n in self._sizes)
            self._bars.update(self._total, total=known, completed=sum(self._done.values()))


@dataclass
class _Lines:
    """One line for each transfer, when it has ended."""

    console: Console
    _begun: dict[str, float] = field(default_factory=dict)
    _done: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str, size: int | None) -> None:  # noqa: ARG002  # the listener's signature
        self._begun[name] = time.monotonic()
        self._done[name] = 0

    def advance(self, name: str, count: int) -> None:
        # A file that comes in ranges is told of by several threads.
        with self._lock:
            self._done[name] += count

    def restart(self, name: str) -> None:
        with self._lock:
            self._done[name] = 0

    def end(self, name: str) -> None:
        seconds = time.monotonic() - self._begun[name]
        self.console.say(f"fetched {name} ({size(self._done[name])} in {seconds:.1f} s)")
