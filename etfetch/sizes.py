"""Numbers of bytes, for people."""

from __future__ import annotations

_STEP = 1000
_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: int | None) -> str:
    """Bytes for people, in powers of 1000: `18.9 MB`; `?` when they are not known."""
    if count is None:
        return "?"
    value = float(count)
    for unit in _UNITS:
        if value < _STEP or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= _STEP
    raise AssertionError("the last unit always answers")
