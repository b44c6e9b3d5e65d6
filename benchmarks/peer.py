"""The peer: react-native-executorch's own downloader, beside etfetch, on the same archives.

The archives are packed from the real Android libraries of the 0.9.2 npm package under the names that the 0.10
releases have, and nginx serves them on loopback. The peer is `scripts/download-libs.js` of the 0.10.2
package, run by Node as its postinstall runs it. Both packages come through `npm pack`.

Both are installed in a copy of that package, with the same app above it: headers, core and OpenCV for two
ABIs. That they leave the same files is checked before anything is timed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Command, settle
from server_fixtures import daemons, react_native

PEER = "react-native-executorch"
LIBRARIES, DOWNLOADER = f"{PEER}@0.9.2", f"{PEER}@0.10.2"
_LIBRARY = Path(__file__).parent.parent / "examples/react-native/library/etfetch.toml"
_APP = {"name": "app", PEER: {"backends": [], "libs": ["opencv"]}}


@dataclass(frozen=True)
class Site:
    """The folders of both installers, and the server's address.

    `package` is the peer's, unpacked, and `project` another copy of it, which etfetch installs as a library.
    """

    root: Path
    url: str

    @property
    def project(self) -> Path:
        return self.root / "mine/node_modules" / PEER

    @property
    def package(self) -> Path:
        return self.root / "theirs/node_modules" / PEER

    @property
    def trees(self) -> tuple[Path, Path]:
        """Where etfetch and the peer install to."""
        return self.project / "third-party", self.package / "third-party"

    @property
    def caches(self) -> tuple[Path, Path]:
        return self.root / "cache", self.root / "peer-cache"

    def etfetch(self, *words: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ETFETCH_")}
        settings = {
            "ETFETCH_CACHE_DIR": str(self.caches[0]),
            "ETFETCH_BASE_URL": self.url,
            "INIT_CWD": str(self.project.parent.parent),
        }
        _run([sys.executable, "-m", "etfetch", *words], self.project, {**kept, **settings})

    def peer(self) -> None:
        settings = {
            "RNET_BASE_URL": self.url,
            "RNET_LIBS_CACHE_DIR": str(self.caches[1]),
            "INIT_CWD": str(self.package.parent.parent),
        }
        script = str(self.package / "scripts/download-libs.js")
        _run(["node", script], self.package, {**os.environ, **settings})


@contextmanager
def site(root: Path) -> Iterator[Site]:
    """Pack the archives, serve them, and set up both installers."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not (nginx and shutil.which("node") and shutil.which("npm")):
        raise SystemExit("the peer needs nginx, node and npm")
    served = root / "served"
    react_native.write(_unpacked(root, LIBRARIES) / "third-party", served)
    with daemons.nginx(nginx, served) as server:
        made = Site(root, server.url)
        original = _unpacked(root, DOWNLOADER)
        for package in (made.package, made.project):
            shutil.copytree(original, package)
            (package.parent.parent / "package.json").write_text(json.dumps(_APP))
        shutil.copyfile(_LIBRARY, made.project / "etfetch.toml")
        yield made


def commands(here: Site) -> dict[str, Command]:
    """What is timed, by name. `same` installs once with both, and compares."""
    mine, theirs = here.trees
    my_cache, their_cache = here.caches

    def cold() -> None:
        settle(mine, my_cache)

    def peer_cold() -> None:
        settle(theirs, their_cache)

    return {
        "cold": Command(lambda: here.etfetch("install", "-q"), cold),
        "peer cold": Command(here.peer, peer_cold),
        "warm": Command(lambda: here.etfetch("install", "-q"), lambda: settle(mine)),
        "peer warm": Command(here.peer, lambda: settle(theirs)),
        "no-op": Command(lambda: here.etfetch("install", "-q"), lambda: None),
        "peer no-op": Command(here.peer, lambda: None),
    }


def check_same(here: Site) -> tuple[int, int]:
    """Install with both; the number of files and bytes, which must be the same files with the same bytes."""
    # The package itself ships sources in that folder, which are not the downloader's work.
    settle(*here.trees)
    here.etfetch("install", "-q")
    here.peer()
    mine, theirs = (_contents(tree) for tree in here.trees)
    if mine != theirs:
        raise SystemExit("etfetch and its peer did not install the same files")
    return len(mine), sum((here.trees[0] / name).stat().st_size for name in mine)


def _contents(tree: Path) -> dict[str, str]:
    return {
        path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tree.rglob("*")
        if path.is_file() and ".etfetch" not in path.parts
    }


def _unpacked(root: Path, package: str) -> Path:
    """A package from the registry, by the user's own npm."""
    folder = root / package.replace("@", "-")
    folder.mkdir()
    _run(["npm", "pack", "--silent", package], folder, dict(os.environ))
    [tarball] = folder.glob("*.tgz")
    with tarfile.open(tarball) as tape:
        tape.extractall(folder, filter="data")
    return folder / "package"


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stdout}{done.stderr}")
