"""Numbers of bytes, for people."""

from __future__ import annotations

import pytest

from etfetch.sizes import size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "?"),
        (0, "0 B"),
        (999, "999 B"),
        (18_887_977, "18.9 MB"),
        (10**12, "1.0 TB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_size(count: int | None, text: str) -> None:
    assert size(count) == text
