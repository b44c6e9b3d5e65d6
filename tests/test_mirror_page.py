"""The page of a mirror: its text, and what a real browser makes of it."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest

from etfetch import mirror_page
from etfetch.mirror_page import Row
from tests.programs import need

ROWS = [
    Row(
        "executorch",
        "1.5.1",
        "xnnpack.zip",
        ("ios", "macos-arm64"),
        ("backend_xnnpack",),
        1_234_567,
        "ab" * 32,
    ),
    Row(
        "executorch",
        "1.5.1",
        "linux.whl",
        ("linux-x86_64",),
        ("executorch", "backend_xnnpack"),
        999,
        "cd" * 32,
    ),
    Row("react-native-executorch", "0.9.2", "rne.tgz", ("any",), ("headers",), 38_103_093, "ef" * 32),
]
HOSTILE = '"><script>alert(1)</script>'


def test_every_row_is_there_without_a_script() -> None:
    page = mirror_page.render(ROWS)
    for row in ROWS:
        assert f'href="{row.package}/{row.version}/{row.archive}"' in page
        assert row.sha256 in page
    for text in ("1.2 MB", "999 B", "38.1 MB", "3 archives of 2 releases, 39.3 MB", "1234567 bytes"):
        assert text in page
    assert mirror_page.render(ROWS) == page


def test_an_empty_mirror() -> None:
    assert "0 archives of 0 releases, 0 B" in mirror_page.render([])


def test_names_are_escaped() -> None:
    row = Row(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,), 1, HOSTILE)
    page = mirror_page.render([row])
    assert "alert(1)</script>" not in page
    assert html.escape(HOSTILE) in page


def test_nothing_comes_from_elsewhere() -> None:
    page = mirror_page.render(ROWS)
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert "@import" not in page
    assert "url(" not in page


def _seen(page: Path, fragment: str = "") -> str:
    """The document as a browser has it, once its script has run."""
    browser = need("chromium", "chromium-browser", "google-chrome")
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={page.parent / 'browser'}",
            "--dump-dom",
            page.as_uri() + fragment,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def _visible(document: str) -> list[str]:
    rows = re.findall(r"<tr data-words=.*?</tr>", document, re.DOTALL)
    return [
        re.findall(r"\.(?:zip|whl|tgz)\">([^<]+)<", row)[0]
        for row in rows
        if "hidden" not in row.partition(">")[0]
    ]


@pytest.mark.parametrize(
    ("fragment", "visible"),
    [
        ("", ["xnnpack.zip", "linux.whl", "rne.tgz"]),
        ("#words=XNNPACK+1.5", ["xnnpack.zip", "linux.whl"]),
        ("#words=cdcd", ["linux.whl"]),
        ("#package=executorch&platform=ios", ["xnnpack.zip"]),
        ("#platform=any", ["rne.tgz"]),
        ("#words=nothing+of+this", []),
        ("#elements=1&words=rne", ["rne.tgz"]),
    ],
)
def test_a_browser_filters(tmp_path: Path, fragment: str, visible: list[str]) -> None:
    page = tmp_path / "index.html"
    page.write_text(mirror_page.render(ROWS), encoding="utf-8")
    document = _seen(page, fragment)
    assert _visible(document) == visible
    assert f"{len(visible)} of 3 shown" in document
    assert f'<span id="base">{page.parent.as_uri()}</span>' in document
