"""Opening model files: the only one that maps them into memory."""

from __future__ import annotations

import mmap
from pathlib import Path

from etfetch import program
from etfetch.errors import ModelError, UsageError
from etfetch.program import Model


def read(path: Path) -> Model:
    """Read a model file. `UsageError` if it is not there, `ModelError` with its name if it cannot be read."""
    try:
        with path.open("rb") as file:
            try:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise ModelError("byte 0: the file is empty") from error
            # Whoever failed may still hold a view of the map: it is closed when nobody does.
            with memoryview(mapped) as data:
                return program.read(data, file)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(f"there is no model `{path}`") from error
    except ModelError as error:
        raise ModelError(
            f"`{path}` cannot be read as a model: {error.message}", data=error.data, hint=error.hint
        ) from None
