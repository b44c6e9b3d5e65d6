"""The npm package: which etfetch it runs, and what it says where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import etfetch
from tests.programs import need
from tests.world import Ran

PACKAGE = Path(__file__).parent.parent / "npm"
REQUIREMENT = f"etfetch=={etfetch.__version__}"


class Machine:
    """A machine whose PATH holds what a test puts there, and node."""

    def __init__(self, root: Path) -> None:
        self.node = need("node")
        self.programs = root / "bin"
        self.programs.mkdir()
        self.variables = {"HOME": str(root), "PATH": str(self.programs)}

    def has(self, name: str, script: str, folder: Path | None = None) -> Path:
        """Put a shell script on PATH."""
        path = (folder or self.programs) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def has_etfetch(self, version: str, then: str = 'echo "own $*"') -> Path:
        return self.has("etfetch", f'if [ "$1" = --version ]; then echo "etfetch {version}"; else {then}; fi')

    def run(self, *words: str, **variables: str) -> Ran:
        command = [self.node, str(PACKAGE / "bin/etfetch.js"), *words]
        environment = {**self.variables, **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_one_version_for_both() -> None:
    values = json.loads((PACKAGE / "package.json").read_text())
    assert values["version"] == etfetch.__version__
    assert (PACKAGE / "LICENSE").read_text() == (PACKAGE.parent / "LICENSE").read_text()


@pytest.mark.parametrize("version", [etfetch.__version__, "0.10.0", "99"])
def test_an_etfetch_on_path_comes_first(machine: Machine, version: str) -> None:
    machine.has_etfetch(version, 'echo "own $*"; exit 7')
    machine.has("uvx", "echo uvx")
    ran = machine.run("install", "--locked", "two words")
    assert (ran.code, ran.out, ran.err) == (7, "own install --locked two words\n", "")


@pytest.mark.parametrize(
    ("program", "called"),
    [
        ("uvx", f"--quiet --from {REQUIREMENT} etfetch install -q"),
        ("pipx", f"run --spec {REQUIREMENT} etfetch install -q"),
    ],
)
def test_tools_that_fetch_programs(machine: Machine, program: str, called: str) -> None:
    machine.has_etfetch("0.0.9")
    machine.has(program, 'echo "$*"; exit 3')
    ran = machine.run("install", "-q")
    assert (ran.code, ran.out, ran.err) == (3, f"{called}\n", "")


def test_another_source(machine: Machine) -> None:
    machine.has("uvx", 'echo "$3"')
    assert machine.run("install", ETFETCH_REQUIREMENT="/wheels/etfetch.whl").out == "/wheels/etfetch.whl\n"


def test_it_is_not_its_own_etfetch(machine: Machine, tmp_path: Path) -> None:
    """npm puts this package on PATH under the name it looks for."""
    bin_folder = tmp_path / "app/node_modules/.bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "etfetch").symlink_to(PACKAGE / "bin/etfetch.js")
    globally = tmp_path / "lib/node_modules/etfetch/bin/etfetch.js"
    globally.parent.mkdir(parents=True)
    globally.symlink_to(PACKAGE / "bin/etfetch.js")
    (machine.programs / "etfetch").symlink_to(globally.parent / "etfetch.js")
    machine.has("uvx", "echo uvx")
    path = f"{bin_folder}{os.pathsep}{machine.programs}"
    # Resolved, the global one is this checkout's file, which lies in no `node_modules`.
    assert machine.run("install", PATH=path).out == "uvx\n"


def test_a_wrapper_that_leads_back_here_ends_there(machine: Machine) -> None:
    """Yarn's plug'n'play puts shell scripts in a temporary folder on PATH."""
    machine.has("etfetch", f'exec "{machine.node}" "{PACKAGE / "bin/etfetch.js"}" "$@"')
    machine.has(
        "uvx", f'if [ "$5" = --version ]; then echo "etfetch {etfetch.__version__}"; else echo uvx; fi'
    )
    assert machine.run("install").out == "uvx\n"


def test_a_killed_etfetch_has_the_shells_code(machine: Machine) -> None:
    machine.has_etfetch(etfetch.__version__, "kill -TERM $$")
    assert machine.run("install").code == 128 + 15


@pytest.mark.parametrize(
    ("agent", "again"),
    [
        ("npm/11.0.0 node/v20", "run `npm rebuild react-native-on-device`"),
        ("pnpm/10.0.0 npm/?", "run `pnpm rebuild react-native-on-device`"),
        ("yarn/4.0.0 npm/?", "run `yarn install` again"),
    ],
)
def test_nothing_to_run_it_with(machine: Machine, agent: str, again: str) -> None:
    ran = machine.run("install", npm_config_user_agent=agent, npm_package_name="react-native-on-device")
    assert ran.code == 2
    assert ran.err == (
        "error: etfetch needs Python 3.10 or newer, or uv, and found neither\n"
        "  there is no `etfetch`, `uvx`, `pipx` or `python3` on PATH\n"
        f"hint: install Python from your system's packages, or uv, then {again}\n"
    )


def test_everything_that_would_not_do_is_told(machine: Machine) -> None:
    own = machine.has_etfetch("0.0.9")
    old = machine.has("python3", "echo 3.8")
    store = machine.has("python", "exit 9")
    bare = machine.has("py", 'case "$2" in *ensurepip*) exit 1;; esac; echo 3.12')
    ran = machine.run("install")
    assert ran.code == 2
    assert ran.err == (
        "error: etfetch needs Python 3.10 or newer, or uv, and found neither\n"
        f"  {own} is 0.0.9, older than {etfetch.__version__}\n"
        f"  {old} is Python 3.8\n"
        f"  {store} does not run\n"
        f"  {bare} has no `venv` (on Debian and Ubuntu: `apt install python3-venv`)\n"
        "hint: install Python from your system's packages, or uv, then run the command again\n"
    )


def test_skipping_downloads_skips_this_one(machine: Machine) -> None:
    machine.has("pipx", "echo must not be asked; exit 1")
    machine.has("uvx", 'case "$*" in *--offline*) exit 1;; esac; echo must not be asked')
    ran = machine.run("install", ETFETCH_SKIP_DOWNLOAD="1")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("warning: nothing was installed: etfetch is not on this machine")
    ran = machine.run("install", ETFETCH_OFFLINE="1")
    assert ran.code == 6
    assert ran.err == (
        f"error: etfetch {etfetch.__version__} is not on this machine, and the network may not be used\n"
        "  there is no `etfetch`, `uvx`, `pipx` or `python3` on PATH\n"
        "hint: run the command again once with the network, or install it with `pip install etfetch`\n"
    )
    machine.has("uvx", 'echo "$*"')
    ran = machine.run("install", ETFETCH_OFFLINE="1")
    assert ran.out == f"--quiet --offline --from {REQUIREMENT} etfetch install\n"


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "ETFETCH_CACHE_DIR"])
def test_the_cache_is_etfetchs_own(machine: Machine, tmp_path: Path, variable: str) -> None:
    variables = {variable: str(tmp_path / "named"), "ETFETCH_OFFLINE": "1", "ETFETCH_PYTHON": sys.executable}
    ran = machine.run("install", **variables)
    command = [sys.executable, "-m", "etfetch", "cache", "dir"]
    environment = {**machine.variables, **variables, "PYTHONPATH": str(PACKAGE.parent)}
    folder = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert ran.code == 6
    assert ran.err.splitlines()[1].startswith(f"  {folder}/tool/")


def test_a_failing_pip_is_told(machine: Machine, tmp_path: Path) -> None:
    ran = machine.run(
        "install",
        ETFETCH_PYTHON=sys.executable,
        ETFETCH_REQUIREMENT=str(tmp_path / "etfetch-0-py3-none-any.whl"),
        PIP_NO_INDEX="1",
    )
    assert ran.code == 5
    assert f"error: etfetch could not be set up: pip did not install `{tmp_path}/etfetch-0-py3" in ran.err
    assert "    at " not in ran.err
    assert list((tmp_path / ".cache/etfetch/tool").iterdir()) == []
