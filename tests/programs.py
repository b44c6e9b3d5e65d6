"""Programs that some tests need beside Python."""

from __future__ import annotations

import os
import shutil

import pytest

EVERYTHING = "ETFETCH_TEST_EVERYTHING"
"""Set where all of them must be there: a test that is skipped there would be a hole nobody sees."""


def need(*names: str) -> str:
    """The path of the first of these programs that is there; else the test is skipped, or fails."""
    for name in names:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
        if found:
            return found
    if os.environ.get(EVERYTHING):
        pytest.fail(f"{names[0]} is not installed, and {EVERYTHING} is set")
    pytest.skip(f"{names[0]} is not installed")
