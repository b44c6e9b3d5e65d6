"""How models are named: patterns in a request, paths in a lock.

Both are relative to the lock's folder, with `/` on every system, and may lead above it: an app's models
need not stand below its native project.
"""

from __future__ import annotations

import posixpath
import re

from etfetch import paths
from etfetch.tables import Table

MAGIC = frozenset("*?[")
"""What makes a text a pattern and not a name."""


def patterns(table: Table) -> tuple[str, ...]:
    """Read `models` of a project file, an app's block or a lock: checked, sorted, each in one spelling."""
    found = table.strings("models")
    for pattern in found:
        reason = _pattern_problem(pattern)
        if reason:
            raise table.fail("models", f"`{pattern}`: {reason}")
    return tuple(sorted({posixpath.normpath(pattern) for pattern in found}))


def _pattern_problem(pattern: str) -> str | None:
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
