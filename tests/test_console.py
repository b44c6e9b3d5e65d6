"""What people see: tables, progress, and nothing that moves the cursor."""

from __future__ import annotations

import io

import pytest

from etfetch import console
from etfetch.console import Console
from etfetch.errors import EtfetchError


def test_counted() -> None:
    assert console.counted(1, "file") == "1 file"
    assert console.counted(0, "file") == "0 files"
    assert console.counted(2, "entry", "entries") == "2 entries"


def test_an_error_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Console().fail(EtfetchError("it broke", data=["a: 1", "b: \x1b[2J"], hint="mend it"))
    assert capsys.readouterr().err == "error: it broke\n  a: 1\n  b: \\x1b[2J\nhint: mend it\n"


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colour_on_a_terminal_only_and_never_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    Console().fail(EtfetchError("it broke", hint="mend it"))
    assert screen.getvalue() == "\x1b[1;31merror:\x1b[0m it broke\n\x1b[1;36mhint:\x1b[0m mend it\n"
    screen.truncate(0)
    screen.seek(0)
    Console(color=False).fail(EtfetchError("it broke"))
    assert screen.getvalue() == "error: it broke\n"


def test_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    Console(color=False).table(("name", "size"), [("runtime", "1 MB")])
    assert "runtime" in screen.getvalue()
    assert "─" in screen.getvalue()


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Console(color=False).progress() as progress:
        for name in ("one", "two"):
            progress.begin(name, 100)
            progress.advance(name, 60)
        progress.restart("one")
        progress.advance("one", 100)
        progress.end("one")
        progress.end("two")
    assert "one" in screen.getvalue()
    assert "in total" in screen.getvalue()


def test_lines_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Console().progress() as progress:
        progress.begin("a.zip", None)
        progress.advance("a.zip", 500)
        progress.restart("a.zip")
        progress.advance("a.zip", 1500)
        assert capsys.readouterr().err == ""
        progress.end("a.zip")
    assert capsys.readouterr().err.startswith("fetched a.zip (1.5 kB in 0.")


@pytest.mark.parametrize("speaker", [Console(verbosity=-1), Console(as_json=True)])
def test_silence(speaker: Console, capsys: pytest.CaptureFixture[str]) -> None:
    with speaker.progress() as progress:
        progress.begin("a", 1)
        progress.advance("a", 1)
        progress.restart("a")
        progress.end("a")
    assert capsys.readouterr().err == ""


def test_a_terminal_that_cannot_show_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stderr", screen)
    Console().say("ünï")
    screen.seek(0)
    assert screen.read() == "\\xfcn\\xef\n"
