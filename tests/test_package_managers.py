"""pnpm, yarn, uv and pipx for real: workspaces, skipped postinstall steps, and no etfetch on PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps import EXAMPLES, NAME, flags, write_package
from tests.phone import Phone, build_config
from tests.programs import need

pytestmark = pytest.mark.registry

ROOT = EXAMPLES.parent.parent
PNPM, YARN, BERRY = "pnpm@10", "yarn@1", "@yarnpkg/cli-dist@4"


@pytest.fixture(scope="module")
def managers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with pnpm's and both yarns' programs."""
    folder = tmp_path_factory.mktemp("managers")
    for name, package in (("one", (PNPM, YARN)), ("two", (BERRY,))):
        words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder / name), *package]
        subprocess.run([need("npm"), *words], capture_output=True, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """etfetch's own wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    [found] = folder.glob("*.whl")
    return found


def _pnpm(managers: Path) -> str:
    return str(managers / "one/node_modules/.bin/pnpm")


def _overrides(phone: Phone) -> dict[str, str]:
    """Packages of packages come from their files, too: neither is on a registry."""
    return {name: f"file:{path}" for name, path in phone.packages.items()}


def _pnpm_workspace(phone: Phone, folder: Path, **settings: object) -> None:
    """Write `pnpm-workspace.yaml`, which has pnpm's settings for a single app, too. JSON is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"overrides": _overrides(phone), "storeDir": str(phone.root / "store"), **settings}
    (folder / "pnpm-workspace.yaml").write_text(json.dumps(values))


def _guard(library: Path) -> subprocess.CompletedProcess[str]:
    script = "eval(File.read(ARGV[0]), nil, ARGV[0]) rescue (puts $!.message; exit 3)"
    podspec = library / "on-device.podspec"
    podspec.write_text('require File.join(__dir__, "etfetch-guard")\n')
    command = [need("ruby"), "-e", script, str(podspec)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pnpm_skips_the_step_and_the_guard_names_the_command(phone: Phone, managers: Path) -> None:
    app = phone.app(phone.root / "app", {"backends": ["xnnpack"]})
    _pnpm_workspace(phone, app)
    said = phone.run(app, _pnpm(managers), "install", "--offline")
    assert "Ignored build scripts" in said
    library = app / "node_modules" / NAME
    assert not (library / "third-party").exists()
    stopped = _guard(library)
    assert stopped.returncode == 3
    assert "they were never installed" in stopped.stdout
    [command] = [line.strip() for line in stopped.stdout.splitlines() if " install --project " in line]
    # The command as it is printed, in a shell, in the app's folder.
    said = phone.run(app, "sh", "-c", command, RNET_TARGET="ios")
    assert "choices from `package.json`" in said
    assert build_config(library) == flags("xnnpack")
    assert (app / "etfetch.lock").is_file()
    assert _guard(library).returncode == 0
    gradle = [need("gradle"), "--no-daemon", "--offline", "-q", "-g", str(phone.root / "gradle"), "help"]
    built = subprocess.run(gradle, cwd=library / "android", capture_output=True, text=True, check=False)
    assert built.returncode != 0
    assert "nothing is installed for Android" in built.stderr
    assert command in built.stderr
    phone.run(app, "sh", "-c", command)
    built = subprocess.run(gradle, cwd=library / "android", capture_output=True, text=True, check=False)
    # The guard lets it through to where the Android plugin would be needed.
    assert "com.android.library" in built.stderr
    assert "native libraries" not in built.stderr


def test_pnpm_with_the_step_allowed(phone: Phone, managers: Path) -> None:
    app = phone.app(phone.root / "app", {"backends": ["vulkan"]})
    _pnpm_workspace(phone, app, dangerouslyAllowAllBuilds=True)
    phone.run(app, _pnpm(managers), "install", "--offline")
    assert build_config(app / "node_modules" / NAME) == flags("vulkan")
    assert (app / "etfetch.lock").is_file()


def test_what_pnpm_keeps_of_one_app_is_not_anothers(phone: Phone, managers: Path) -> None:
    """pnpm runs a package's postinstall step once a machine, and copies what it made to the next app."""
    for name, block in (("one", {"backends": ["vulkan"]}), ("two", {"backends": ["xnnpack"]})):
        app = phone.app(phone.root / name, block)
        _pnpm_workspace(phone, app, dangerouslyAllowAllBuilds=True)
        phone.run(app, _pnpm(managers), "install", "--offline", RNET_TARGET="ios")
    library = app / "node_modules" / NAME
    assert build_config(library) == flags("vulkan")
    stopped = _guard(library)
    assert stopped.returncode == 3
    assert f"they were installed for another app: {app / 'etfetch.lock'} is missing" in stopped.stdout
    [command] = [line.strip() for line in stopped.stdout.splitlines() if " install --project " in line]
    phone.run(app, "sh", "-c", command, RNET_TARGET="ios")
    assert build_config(library) == flags("xnnpack")
    assert _guard(library).returncode == 0
    assert build_config(phone.root / "one/node_modules" / NAME) == flags("vulkan")


@pytest.mark.parametrize("linker", ["isolated", "hoisted"])
def test_a_pnpm_workspace(phone: Phone, managers: Path, linker: str) -> None:
    root = write_package(phone.root / "ws", private=True).parent
    _pnpm_workspace(phone, root, packages=["apps/*", "!apps/old"], dangerouslyAllowAllBuilds=True)
    (root / ".npmrc").write_text(f"node-linker={linker}\n")
    app = phone.app(root / "apps/mobile", {"features": ["privacyFilter"]})
    said = phone.run(root, _pnpm(managers), "install", "--offline")
    assert "apps/mobile/package.json" in said
    where = root if linker == "hoisted" else app
    assert build_config(where / "node_modules" / NAME) == flags("xnnpack", "mlx")
    assert (app / "etfetch.lock").is_file()
    assert not (root / "etfetch.lock").exists()


def test_a_yarn_classic_workspace(phone: Phone, managers: Path) -> None:
    root = write_package(
        phone.root / "ws", private=True, workspaces={"packages": ["apps/*"]}, resolutions=_overrides(phone)
    ).parent
    app = phone.app(root / "apps/mobile", {"libs": ["opencv"]})
    yarn = str(managers / "one/node_modules/.bin/yarn")
    phone.run(root, yarn, "install", "--offline", "--no-lockfile", "--cache-folder", str(phone.root / "yarn"))
    assert build_config(root / "node_modules" / NAME) == flags("opencv")
    assert (app / "etfetch.lock").is_file()


@pytest.mark.parametrize("linker", ["node-modules", "pnp"])
def test_a_yarn_workspace(phone: Phone, managers: Path, linker: str) -> None:
    root = write_package(
        phone.root / "ws", private=True, workspaces=["apps/*"], resolutions=_overrides(phone)
    ).parent
    (root / ".yarnrc.yml").write_text(
        f"nodeLinker: {linker}\nenableTelemetry: false\nenableGlobalCache: false\nenableScripts: true\n"
    )
    (root / "yarn.lock").write_text("")
    app = phone.app(root / "apps/mobile", {"libs": ["opencv"]})
    yarn = managers / "two/node_modules/@yarnpkg/cli-dist/bin/yarn.js"
    phone.run(root, "node", str(yarn), "install")
    [config] = [path for path in root.rglob("rne-build-config.json") if path.parent.name == NAME]
    assert build_config(config.parent) == flags("opencv")
    assert (app / "etfetch.lock").is_file()


@pytest.mark.parametrize("tool", ["uvx", "pipx", "python3"])
def test_only_python_is_there(phone: Phone, wheel: Path, tmp_path: Path, tool: str) -> None:
    """No etfetch on PATH: it is fetched, here from its wheel and what it needs from the index."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("node", "npm", "sh", "realpath", "dirname"):
        (programs / name).symlink_to(need(name))
    python = tmp_path / "venv/bin/python"
    if tool == "python3":
        (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    else:
        subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
        package = "uv" if tool == "uvx" else "pipx"
        subprocess.run([python, "-m", "pip", "install", "-q", package], capture_output=True, check=True)
        for name in ("uv", "uvx") if tool == "uvx" else ("pipx",):
            (programs / name).symlink_to(python.parent / name)
    variables = {
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "ETFETCH_REQUIREMENT": str(wheel),
        "UV_PYTHON": os.path.realpath(sys.executable),
    }
    app = phone.app(phone.root / "app", {"backends": ["xnnpack"]})
    phone.npm_install(app, **variables)
    assert build_config(app / "node_modules" / NAME) == flags("xnnpack")
    shutil.rmtree(app / "node_modules" / NAME / "third-party")
    said = (
        phone.run(
            app,
            "npm",
            "rebuild",
            "--foreground-scripts",
            NAME,
            **variables,
            PIP_NO_INDEX="1",
            ETFETCH_OFFLINE="1",
        )
        if tool != "pipx"
        else "installed"
    )
    assert "installed" in said
