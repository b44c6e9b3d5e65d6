"""A small world to install in: a release server, a project, a cache, and a way to run commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from etfetch.__main__ import main
from server_fixtures import release_tree
from server_fixtures.release_server import ReleaseServer

REQUEST = """\
# what we need
package = "demo"
version = "==1.0.0"
platforms = ["linux-x86_64"]
backends = ["fast"]  # the fast one
"""


@dataclass(frozen=True)
class Ran:
    """A command that has run: exit code, data and words."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever a test looks into
        return json.loads(self.out)


class World:
    """Everything one test may touch, below one temporary folder; without a `tree` no `demo` is published."""

    def __init__(
        self,
        root: Path,
        tree: Path | None,
        server: ReleaseServer,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.root = root
        self.server = server
        self.project = root / "project"
        self.cache = root / "cache"
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.project.mkdir()
        if tree is not None:
            self.tree = tree
            self.publish_manifests(self.project)
        monkeypatch.chdir(self.project)
        older = [n for n in os.environ if n.startswith(("ETFETCH_", "RNET_"))]
        for name in [*older, "CI", "NO_COLOR", "GITHUB_TOKEN"]:
            monkeypatch.delenv(name, raising=False)
        # Whatever the machine's own network needs: loopback is reached without, and nobody has a login.
        self.setenv(NO_PROXY="127.0.0.1,localhost,::1", no_proxy="127.0.0.1,localhost,::1")
        self.setenv(NETRC=str(root / "no-netrc"))
        self.setenv(ETFETCH_CACHE_DIR=str(self.cache), ETFETCH_RETRIES="2")

    def publish_manifests(self, project: Path) -> None:
        """Give a project the server's manifests as its own catalogue."""
        for version in release_tree.VERSIONS:
            target = project / "manifests" / release_tree.PACKAGE / f"{version}.toml"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.tree / release_tree.PACKAGE / version / "manifest.toml", target)
        operators = project / "manifests" / "operators"
        operators.mkdir(exist_ok=True)
        for name, text in release_tree.OPERATORS.items():
            (operators / f"{name}.txt").write_text(text)

    def setenv(self, **variables: str) -> None:
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)

    def delenv(self, name: str) -> None:
        self._monkeypatch.delenv(name, raising=False)

    def chdir(self, folder: Path) -> None:
        """Work in another folder, whose project it then is."""
        self.project = folder
        self._monkeypatch.chdir(folder)

    def write(self, text: str = REQUEST, name: str = "etfetch.toml") -> Path:
        """Write the project file."""
        path = self.project / name
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *words: str) -> Ran:
        """Run a command in this process."""
        self._capsys.readouterr()
        code = main(words)
        captured = self._capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    def ok(self, *words: str) -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*words)
        assert ran.code == 0, ran.err + ran.out
        return ran

    def spawn(
        self, *words: str, python: str = "-m etfetch", env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, *python.split(), *words],
            cwd=self.project,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def lock(self) -> Path:
        return self.project / "etfetch.lock"

    @property
    def destination(self) -> Path:
        return self.project / "third-party"

    def files(self, root: Path | None = None) -> dict[str, bytes]:
        """Every file below the destination but etfetch's own, with its bytes (a symlink's target)."""
        return snapshot(root or self.destination, without=".etfetch")

    def archive(self, name: str, version: str = "1.0.0") -> Path:
        """A published archive."""
        return self.tree / release_tree.PACKAGE / version / name


def snapshot(root: Path, without: str = "") -> dict[str, bytes]:
    """Every file below a folder with its bytes; a symlink's are its target."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if without and name.split("/")[0] == without:
            continue
        if path.is_symlink():
            found[name] = os.readlink(path).encode()
        elif path.is_file():
            found[name] = path.read_bytes()
    return found
