"""Where the app is that a library is installed for.

A package manager runs a library's postinstall step in the library's folder and says only where it was itself
begun. The places are tried in this order, and the first `package.json` that has the library's block wins:

1. `INIT_CWD`, where the package manager was called, and `npm_config_local_prefix`, the folder it works on;
   without `INIT_CWD` the folder that etfetch was called in.
2. The folders above the library, as far as they lie in no `node_modules`: with its own copy (pnpm, no
   hoisting) this is the app.
3. The members of the npm, yarn and pnpm workspaces whose roots were met on the way. When several of
   them have a block, one hoisted copy serves them all: it gets what any of them asks for.

The only reader of other people's `package.json` and of workspace files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etfetch.errors import ConfigError

PACKAGE_JSON = "package.json"
_PNPM = "pnpm-workspace.yaml"
_MAGIC = frozenset("*?[]{}()!+@|")
VARIABLES = ("INIT_CWD", "npm_config_local_prefix")


@dataclass(frozen=True, slots=True)
class Block:
    """An app's choices as they stand in its `package.json`; `text` is the whole file."""

    path: Path
    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """The app, or the workspace of several: the lock stands in `folder`.

    `files` and `folders` are all that was looked at, there or not: while their contents stay, so does the
    answer. `folders` is None where that cannot be told from a few folders.
    """

    folder: Path
    blocks: tuple[Block, ...]
    files: tuple[Path, ...]
    folders: tuple[Path, ...] | None


@dataclass(frozen=True, slots=True)
class _Package:
    path: Path
    values: Mapping[str, Any]
    text: str

    @property
    def folder(self) -> Path:
        return self.path.parent


def find(library: Path, key: str, environment: Mapping[str, str], here: Path) -> Consumer:
    """The app that the library in a folder is installed for, called from the folder `here`.

    Without any block, the first package found: its folder is the lock's. `ConfigError` for a file that
    is not JSON, or not YAML.
    """
    folders = list(dict.fromkeys(_places(library, environment, here)))
    packages = []
    for number, folder in enumerate(folders, start=1):
        package = _package(folder, library)
        if package is None:
            continue
        if key in package.values:
            looked_at = tuple(folder / PACKAGE_JSON for folder in folders[:number])
            return Consumer(folder, (_block(package, key),), looked_at, ())
        packages.append(package)
    workspaces = [(folder, patterns) for folder in folders if (patterns := _patterns(folder, packages))]
    members = [member for folder, patterns in workspaces for member in _members(folder, patterns)]
    looked_at = (
        *(folder / name for folder in folders for name in (PACKAGE_JSON, _PNPM)),
        *(member / PACKAGE_JSON for member in members),
    )
    found = [p for member in members if (p := _package(member, library)) is not None and key in p.values]
    blocks = tuple(_block(package, key) for package in found)
    folder = _lock_folder(found, packages, [folder for folder, _ in workspaces], library)
    return Consumer(folder, blocks, looked_at, _member_folders(workspaces))


def dependencies(folder: Path) -> tuple[Path, ...]:
    """The folders of the packages that an app depends on by name, where they are installed."""
    package = _package(folder, None)
    if package is None:
        return ()
    tables = [package.values.get(kind) for kind in ("dependencies", "devDependencies")]
    names = sorted({name for table in tables if isinstance(table, dict) for name in table})
    found = []
    for name in names:
        places = (above / "node_modules" / name for above in (folder, *folder.parents))
        installed = next((place for place in places if place.is_dir()), None)
        if installed is not None:
            found.append(installed.resolve())
    return tuple(found)


def _places(library: Path, environment: Mapping[str, str], here: Path) -> Iterator[Path]:
    named = [environment[name] for name in VARIABLES if environment.get(name)]
    yield from (Path(os.path.abspath(name)) for name in named)
    if not environment.get("INIT_CWD") and here != library and library not in here.parents:
        yield here
    yield from (folder for folder in library.parents if "node_modules" not in folder.parts)


def _package(folder: Path, library: Path | None) -> _Package | None:
    """The package of a folder, unless there is none or it is the library itself."""
    path = folder / PACKAGE_JSON
    try:
        if library is not None and folder.samefile(library):
            return None
        text = path.read_text(encoding="utf-8-sig")
        values = json.loads(text)
    except OSError:
        return None
    except ValueError as error:
        raise ConfigError(f"`{path}` is not valid JSON: {error}") from error
    return _Package(path, values, text) if isinstance(values, dict) else None


def _block(package: _Package, key: str) -> Block:
    return Block(package.path, package.values[key], package.text)


def _lock_folder(
    found: Sequence[_Package], packages: Sequence[_Package], roots: Sequence[Path], library: Path
) -> Path:
    """Beside the one block there is, at the root that several share, else beside the nearest package."""
    if len(found) == 1:
        return found[0].folder
    if found:
        common = Path(os.path.commonpath([package.folder for package in found]))
        return next((root for root in roots if root in (common, *common.parents)), common)
    return packages[0].folder if packages else library


def _members(root: Path, patterns: Sequence[str]) -> list[Path]:
    """Where the members of a workspace would be: what the patterns match, folder or not."""
    # Imported where there is a workspace to search: it takes 25 ms.
    from wcmatch import glob

    without = ["!**/node_modules", "!**/node_modules/**"]
    flags = glob.BRACE | glob.EXTGLOB | glob.GLOBSTAR | glob.NEGATE
    found = glob.glob([*patterns, *without], root_dir=root, flags=flags)
    return sorted(root / name for name in found)


def _member_folders(workspaces: Sequence[tuple[Path, Sequence[str]]]) -> tuple[Path, ...] | None:
    """The folders in which a new member would appear, for patterns as `apps/*`; None for deeper ones."""
    watched = []
    for root, patterns in workspaces:
        for pattern in patterns:
            parent, _, last = pattern.rstrip("/").rpartition("/")
            if _MAGIC & set(parent) or "**" in last:
                return None
            watched.append(root / parent)
    return tuple(dict.fromkeys(watched))


def _patterns(folder: Path, packages: Sequence[_Package]) -> list[str]:
    """The patterns that name the members of a workspace: npm's and yarn's `workspaces`, or pnpm's file."""
    here = next((package.values for package in packages if package.folder == folder), {})
    values: Any = here.get("workspaces")
    if isinstance(values, dict):
        values = values.get("packages")
    pnpm = folder / _PNPM
    if pnpm.is_file():
        values = [*(values or []), *(_yaml(pnpm).get("packages") or [])]
    return [pattern for pattern in values or [] if isinstance(pattern, str)]


def _yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"`{path}` is not valid YAML: {error}") from error
    return values if isinstance(values, dict) else {}
