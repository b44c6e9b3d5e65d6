"""The direction of imports: cli → operations → edge → rules → foundation, and what only one module may do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import etfetch

ROOT = Path(etfetch.__file__).parent

FOUNDATION = {
    "errors",
    "copying",
    "digest",
    "paths",
    "durable",
    "platforms",
    "progress",
    "tables",
    "toml",
    "credentials",
    "sizes",
}
RULES = {
    "manifest",
    "request",
    "catalogue",
    "resolve",
    "lockfile",
    "record",
    "plan",
    "edit",
    "mirrors",
    "mirror_page",
    "library",
    "generate",
    "program",
    "metal",
    "needs",
    "offers",
    "alternatives",
    "modelpaths",
    "verdicts",
    "runtime_errors",
}
SHORT_CUT = {"uptodate"}
EDGE = {
    "config",
    "consumer",
    "projects",
    "modelfile",
    "netconfig",
    "shelf",
    "servers",
    "partial",
    "mirror_folder",
    "server",
    "bundle",
    "cache",
    "archive",
    "installer",
    "fetch",
    "sources",
    "console",
}
OPERATIONS = {"operations"}
TOP = {"cli", "arguments", "api", "__main__", "__init__"}
LAYERS = [FOUNDATION, RULES | SHORT_CUT, EDGE, OPERATIONS, TOP]

EDGE_TO_EDGE = {
    ("installer", "cache"),  # the file lock
    ("fetch", "sources"),
    ("fetch", "servers"),
    ("fetch", "partial"),
    ("servers", "sources"),
    ("sources", "partial"),
    ("cache", "partial"),
    ("bundle", "archive"),  # a bundle is read as every archive is
    ("projects", "consumer"),
    ("config", "projects"),
    ("config", "consumer"),  # the values it makes
    ("netconfig", "projects"),
    ("netconfig", "config"),
    ("netconfig", "sources"),  # the values it makes
    ("archive", "plan"),
}

ONLY_IN = {
    "httpx": {"sources/web.py"},
    "rich": {"console.py"},
    "subprocess": {"sources/client.py"},
    "tomlkit": {"edit.py"},
    "filelock": {"cache.py"},
    "tarfile": {"archive.py", "bundle.py"},
    "zipfile": {"archive.py", "program/exported.py"},
    "mmap": {"modelfile.py"},
    "argparse": {"cli.py", "arguments.py"},
    "platformdirs": {"config.py", "netconfig.py"},
}


def _files() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "manifests" not in path.parts)


def _module(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "etfetch":
            found |= {f"etfetch.{alias.name}" for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _layer(module: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if module in layer)


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    here = _module(path)
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] != "etfetch" or len(parts) == 1 or path.name == "__init__.py" == here + ".py":
            continue
        there = parts[1]
        if there == here or (here, there) in EDGE_TO_EDGE:
            continue
        assert _layer(there) <= _layer(here), f"{path.name} imports {name} upwards"
        if here in EDGE:
            assert there not in EDGE, f"{path.name}: edge modules do not import each other ({name})"


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_side_effect_has_one_owner(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for name in _imports(path):
        owners = ONLY_IN.get(name.partition(".")[0])
        assert owners is None or relative in owners, f"only {owners} may import {name}"


def _rule_files() -> list[Path]:
    return [path for path in _files() if _module(path) in RULES]


@pytest.mark.parametrize("path", _rule_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_rules_do_no_io(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {"open", "print", "input"} & names
    assert not {"environ", "read_text", "write_text", "read_bytes", "write_bytes", "mkdir"} & attributes
    assert not {"os", "sys", "time", "socket", "subprocess"} & _imports(path)


def test_only_config_and_the_entries_read_the_environment() -> None:
    allowed = {"config.py", "netconfig.py", "__main__.py", "cli.py"}
    for path in _files():
        if path.relative_to(ROOT).as_posix() not in allowed:
            assert "os.environ" not in path.read_text(encoding="utf-8"), path


def test_only_durable_renames_and_syncs() -> None:
    for path in _files():
        if path.name != "durable.py":
            text = path.read_text(encoding="utf-8")
            assert "os.replace(" not in text, path
            assert "os.rename(" not in text, path
            assert "os.fsync(" not in text, path
