from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_fixtures import react_native, release_tree
from server_fixtures.release_server import ReleaseServer
from tests.apps import App
from tests.phone import Phone, pack
from tests.world import World

_PLACEHOLDER = "http://127.0.0.1:1"


@pytest.fixture(scope="session")
def built_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release tree, built once a session; its manifests point nowhere yet."""
    root = tmp_path_factory.mktemp("built")
    release_tree.build(root, _PLACEHOLDER)
    return root


@pytest.fixture
def release(built_tree: Path, tmp_path: Path) -> Iterator[ReleaseServer]:
    """A server over a copy of the tree, which a test may damage."""
    root = tmp_path / "releases"
    shutil.copytree(built_tree, root)
    with ReleaseServer(root) as server:
        for manifest in root.glob("*/*/manifest.toml"):
            manifest.write_text(manifest.read_text().replace(_PLACEHOLDER, server.url))
        release_tree.write_index(root)
        yield server


@pytest.fixture
def world(
    release: ReleaseServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> World:
    return World(tmp_path, release.root, release, monkeypatch, capsys)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the session: each real file is downloaded once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def real(world: World, shared_cache: Path) -> World:
    """A world that only knows the carried manifests: what it installs comes from the registries."""
    shutil.rmtree(world.project / "manifests")
    world.cache = shared_cache
    world.setenv(ETFETCH_CACHE_DIR=str(shared_cache))
    return world


@pytest.fixture(scope="session")
def phone_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """react-native-executorch's 0.10 archives with small stand-ins inside, packed once a session."""
    root = tmp_path_factory.mktemp("phone")
    react_native.write(react_native.stand_in(root / "third-party"), root / "served")
    return root / "served"


@pytest.fixture
def app(
    phone_releases: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[App]:
    """An app with the example library, and a server with the archives that it needs."""
    with ReleaseServer(phone_releases) as server:
        yield App(World(tmp_path, None, server, monkeypatch, capsys))


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What npm packs of etfetch's npm package and of the example library."""
    return pack(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def phone(packages: dict[str, Path], phone_releases: Path, tmp_path: Path) -> Iterator[Phone]:
    """A folder for apps that real package managers install."""
    with ReleaseServer(phone_releases) as server:
        yield Phone(tmp_path, packages, server)
