"""How models are named: patterns in a request, paths in a lock.

Both are relative to the lock's folder, with `/` on every system, and may lead above it: an app's models
need not stand below its native project.
"""

from __future__ import annotations

import re

from etfetch import paths

MAGIC = frozenset("*?[")
"""What makes a text a pattern and not a name."""


def pattern_problem(pattern: str) -> str | None:
    """Why a text is no pattern for models, or None."""
    if "\\" in pattern:
        return "a backslash separates folders on Windows only; write `/`"
    if not pattern or pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:", pattern):
        return "expected a path relative to the project, such as `assets/**/*.pte`"
    if paths.has_control(pattern):
        return "it holds a control character"
    return None


def literal(path: str) -> str:
    """The pattern that matches one path and no other."""
    return re.sub(r"([*?[])", r"[\1]", path)


def problem(path: str) -> str | None:
    """Why a lock may not name a model so, or None."""
    below = path
    while below.startswith("../"):
        below = below.removeprefix("../")
    return paths.unsafe_reason(below)
