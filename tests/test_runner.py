"""The example program, built against ExecuTorch 1.5.1 as etfetch installs it, and run on real models."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import native
from tests.programs import need
from tests.world import World

pytestmark = pytest.mark.registry

EXAMPLE = Path(__file__).parent.parent / "examples/linux-runner"
MODELS = ("linear_portable", "linear_xnnpack", "linear_quantized")
GUIDE = """
cmake_minimum_required(VERSION 3.19)
project(nanogpt_runner)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED True)

option(EXECUTORCH_ENABLE_LOGGING "" ON)
option(EXECUTORCH_BUILD_EXTENSION_DATA_LOADER "" ON)
option(EXECUTORCH_BUILD_EXTENSION_MODULE "" ON)
option(EXECUTORCH_BUILD_EXTENSION_TENSOR "" ON)
option(EXECUTORCH_BUILD_KERNELS_OPTIMIZED "" ON)
option(EXECUTORCH_BUILD_XNNPACK "" ON)

find_package(executorch CONFIG REQUIRED)

add_executable(nanogpt_runner main.cpp etfetch_registration_check.cpp)
target_link_libraries(
  nanogpt_runner
  PRIVATE executorch
          extension_module_static
          extension_tensor
          optimized_native_cpu_ops_lib
          xnnpack_backend)
"""
"""The targets of ExecuTorch's guide to running LLMs in C++, with `find_package` for `add_subdirectory`."""


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the newest CMake and Ninja on the package index."""
    folder = tmp_path_factory.mktemp("cmake") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "cmake", "ninja"]
    subprocess.run(command, capture_output=True, check=True)
    return folder / "bin"


@pytest.fixture
def project(real: World) -> Path:
    """The example, installed, in a folder whose name has a space and a comma."""
    folder = real.root / "a runner, installed"
    shutil.copytree(
        EXAMPLE, folder, ignore=shutil.ignore_patterns("third-party", "build", "etfetch*.c*", "*.lock")
    )
    real.chdir(folder)
    real.ok("install", "--platform", "linux-x86_64")
    return folder


def _build(project: Path, cmake: str, *words: str) -> Path:
    shutil.rmtree(project / "build", ignore_errors=True)
    native.run(project, cmake, "-S", ".", "-B", "build", *words)
    native.run(project, cmake, "--build", "build")
    return project / "build/runner"


def _run(project: Path, runner: Path, model: str) -> subprocess.CompletedProcess[str]:
    folder = EXAMPLE / "models"
    return native.run(
        project, str(runner), str(folder / f"{model}.pte"), str(folder / f"{model}.txt"), check=False
    )


@pytest.mark.parametrize(
    ("which", "generator", "build_type"),
    [
        ("debian", "Unix Makefiles", "Debug"),
        ("debian", "Ninja", "Release"),
        ("newest", "Unix Makefiles", "Release"),
        ("newest", "Ninja", "Debug"),
    ],
)
def test_it_builds_and_runs(project: Path, newest: Path, which: str, generator: str, build_type: str) -> None:
    cmake = need("cmake") if which == "debian" else str(newest / "cmake")
    words = ["-G", generator, f"-DCMAKE_BUILD_TYPE={build_type}"]
    if generator == "Ninja":
        words.append(f"-DCMAKE_MAKE_PROGRAM={newest / 'ninja'}")
    runner = _build(project, cmake, *words)
    for model in MODELS:
        ran = _run(project, runner, model)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.endswith("as expected\n")
        assert "not registered" not in ran.stderr


def test_each_library_is_named_once(project: Path) -> None:
    _build(project, need("cmake"), "-G", "Unix Makefiles")
    line = (project / "build/CMakeFiles/runner.dir/link.txt").read_text()
    for name in ("backend_xnnpack", "kernels_optimized", "kernels_quantized"):
        kept = re.findall(
            rf'--no-as-needed -Xlinker "[^"]*/libexecutorch_{name}\.so" -Xlinker --pop-state', line
        )
        assert len(kept) == 1
    assert "whole-archive" not in line


def test_it_runs_where_it_is_installed(project: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "in stalled,here"
    _build(project, need("cmake"), f"-DCMAKE_INSTALL_PREFIX={prefix}")
    native.run(project, need("cmake"), "--install", "build")
    shutil.rmtree(project / "third-party")
    ran = _run(project, prefix / "bin/runner", "linear_xnnpack")
    assert ran.returncode == 0, ran.stderr


def test_a_dropped_backend_is_foretold(project: Path) -> None:
    """Locked, but not linked: the check names it at start-up, and the runtime says so in its own words."""
    lists = project / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("          xnnpack_backend)", "  )"))
    runner = _build(project, need("cmake"))
    ran = _run(project, runner, "linear_xnnpack")
    assert ran.returncode == 3
    assert "not registered: delegate XnnpackBackend (backend_xnnpack)\n" in ran.stderr
    assert "Backend XnnpackBackend is not registered." in ran.stderr
    assert "load_method failed: 0x20\n" in ran.stderr
    assert _run(project, runner, "linear_portable").returncode == 0


def test_dropped_kernels_are_foretold(project: Path) -> None:
    lists = project / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("          quantized_ops_lib\n", ""))
    runner = _build(project, need("cmake"))
    ran = _run(project, runner, "linear_quantized")
    assert ran.returncode == 3
    assert "not registered: operator quantized_decomposed::add.out (kernels_quantized)\n" in ran.stderr
    assert "load_method failed: 0x14\n" in ran.stderr


@pytest.mark.parametrize("which", ["debian", "newest"])
def test_the_guides_targets(project: Path, newest: Path, which: str) -> None:
    cmake = need("cmake") if which == "debian" else str(newest / "cmake")
    (project / "CMakeLists.txt").write_text(GUIDE)
    _build(project, cmake, f"-DCMAKE_PREFIX_PATH={project / 'third-party'}")
    for model in ("linear_portable", "linear_xnnpack"):
        assert _run(project, project / "build/nanogpt_runner", model).returncode == 0


def test_a_second_generate_changes_nothing(project: Path, real: World) -> None:
    def states() -> dict[str, int]:
        return {str(p): p.stat().st_mtime_ns for p in project.rglob("*") if p.is_file()}

    before = states()
    real.ok("generate")
    real.ok("install", "--platform", "linux-x86_64")
    assert states() == before
