"""`etfetch inspect`: what models need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from etfetch import modelfile
from etfetch.program import Model


def run(paths: Sequence[str]) -> list[tuple[str, Model]]:
    """Each file with what it says. `UsageError` or `ModelError` for the first that cannot be read."""
    return [(path, modelfile.read(Path(path))) for path in paths]
