"""Apps and the example library as packages, installed by real package managers from a server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from server_fixtures.release_server import ReleaseServer
from tests.apps import EXAMPLES, KEY, NAME, write_package
from tests.programs import need

NPM_PACKAGE = EXAMPLES.parent.parent / "npm"


def pack(folder: Path) -> dict[str, Path]:
    """The npm package and the example library, packed by npm into a folder, by name."""
    found = {}
    for name, source in (("etfetch", NPM_PACKAGE), (NAME, EXAMPLES / "library")):
        command = [need("npm"), "pack", "--silent", "--pack-destination", str(folder), str(source)]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        [found[name]] = folder.glob(f"{name}-*.tgz")
    return found


def build_config(library: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((library / "rne-build-config.json").read_text())
    return found


class Phone:
    """A folder for apps, the two packages they need as npm packs them, and a server with the archives."""

    def __init__(self, root: Path, packages: dict[str, Path], server: ReleaseServer) -> None:
        self.root = root
        self.packages = packages
        self.server = server
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ETFETCH_", "RNET_"))
        }
        kept.pop("CI", None)
        self.variables = {
            **kept,
            # The etfetch under test is the one on PATH.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "NO_PROXY": "127.0.0.1",
            "RNET_BASE_URL": server.url,
            "ETFETCH_CACHE_DIR": str(root / "cache"),
            "npm_config_cache": str(root / "npm-cache"),
            "npm_config_update_notifier": "false",
        }

    def app(self, folder: Path, block: object = None, **values: object) -> Path:
        """Write an app that depends on the library."""
        chosen = {} if block is None else {KEY: block}
        wanted = {name: f"file:{path}" for name, path in self.packages.items()}
        return write_package(folder, version="1.0.0", dependencies=wanted, **chosen, **values).parent

    def run(self, folder: Path, *command: str, **variables: str) -> str:
        """Run a command that must succeed; gives all that it said."""
        done = subprocess.run(
            [shutil.which(command[0], path=self.variables["PATH"]) or need(command[0]), *command[1:]],
            cwd=folder,
            env={**self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def npm_install(self, folder: Path, **variables: str) -> str:
        words = ["install", "--offline", "--no-audit", "--no-fund", "--foreground-scripts"]
        return self.run(folder, "npm", *words, **variables)
