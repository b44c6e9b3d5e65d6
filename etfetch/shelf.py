"""Where manifests lie: those that etfetch carries, and a project's own.

The only reader of `manifests/` folders. Layout: `<package>/<version>.toml`, and
`operators/<set>.txt` with one operator a line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from etfetch.catalogue import Catalogue, ManifestText, is_version
from etfetch.errors import ManifestError

OPERATORS = "operators"
BACKENDS = "backends"


def carried_folder() -> Path:
    """The `manifests/` folder of this etfetch: inside the wheel, or beside it in a checkout."""
    inside = Path(__file__).parent / "manifests"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "manifests"


def load(project: Path | None = None) -> Catalogue:
    """The carried catalogue, joined by `project/manifests/` if the project has one.

    `ConfigError` when both describe one release differently, `ManifestError` for a file that is not
    UTF-8 or whose name is not a version.
    """
    carried = read_folder(carried_folder(), "manifests")
    own = project / "manifests" if project else None
    if own is None or not own.is_dir() or own.resolve() == carried_folder().resolve():
        return carried
    return carried.merged(read_folder(own, str(own)))


def backend_data(name: str) -> dict[str, Any]:
    """What etfetch carries about lowering to a backend: `manifests/backends/NAME.json`."""
    path = carried_folder() / BACKENDS / f"{name}.json"
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def read_folder(folder: Path, label: str) -> Catalogue:
    """Read every manifest below `folder`; `label` stands for it in messages."""
    texts: dict[str, dict[str, ManifestText]] = {}
    for file in sorted(folder.glob("*/*.toml")):
        shown = f"{label}/{file.parent.name}/{file.name}"
        if not is_version(file.stem):
            raise ManifestError(f"{shown}: `{file.stem}` is not a version")
        texts.setdefault(file.parent.name, {})[file.stem] = ManifestText(_read(file, shown), shown)
    sets = {
        file.stem: _read(file, f"{label}/{OPERATORS}/{file.name}")
        for file in sorted((folder / OPERATORS).glob("*.txt"))
    }
    return Catalogue(texts, sets)


def _read(file: Path, shown: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{shown}: not UTF-8 at byte {error.start}") from error
