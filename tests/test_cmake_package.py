"""The CMake package of the wheel works from third-party/, with a real compiler."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from tests.world import World

pytestmark = [
    pytest.mark.registry,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="runs what it builds for linux-x86_64"),
    pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("g++")), reason="needs cmake and g++"),
]

LISTS = """\
cmake_minimum_required(VERSION 3.19)
project(probe CXX)
find_package(executorch CONFIG REQUIRED)
add_executable(probe probe.cpp)
set_target_properties(probe PROPERTIES CXX_STANDARD ${EXECUTORCH_CXX_STANDARD})
target_include_directories(probe PRIVATE ${EXECUTORCH_INCLUDE_DIRS})
target_compile_definitions(probe PRIVATE ${EXECUTORCH_COMPILE_DEFINITIONS})
target_link_options(probe PRIVATE -Wl,--no-as-needed)
target_link_libraries(probe PRIVATE ${EXECUTORCH_LIBRARIES} ${QUANTIZED})
"""

PROBE = """\
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>
#include <cstdio>

int main() {
  executorch::runtime::runtime_init();
  std::printf("%zu backends, xnnpack %d, %zu operators\\n",
              executorch::runtime::get_num_registered_backends(),
              executorch::runtime::get_backend_class("XnnpackBackend") != nullptr,
              executorch::runtime::get_registered_kernels().size());
}
"""


@pytest.mark.parametrize(
    ("components", "printed"),
    [
        ("xnnpack,optimized", "1 backends, xnnpack 1, 240 operators"),
        ("optimized", "0 backends, xnnpack 0, 240 operators"),
        ("xnnpack,optimized,quantized", "1 backends, xnnpack 1, 259 operators"),
    ],
)
def test_find_package_and_run(real: World, components: str, printed: str) -> None:
    world = real
    world.ok("install", f"executorch[{components}]==1.5.1", "--platform", "linux-x86_64")
    root = world.destination / "executorch/linux-x86_64"
    (world.project / "CMakeLists.txt").write_text(LISTS)
    (world.project / "probe.cpp").write_text(PROBE)
    quantized = root / "lib/libexecutorch_kernels_quantized.so"
    configure = ["cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={root}"]
    if quantized.exists():
        configure.append(f"-DQUANTIZED={quantized}")
    _run(world, configure)
    _run(world, ["cmake", "--build", "build"])
    assert printed in _run(world, ["build/probe"])


def _run(world: World, command: list[str]) -> str:
    done = subprocess.run(
        command,
        cwd=world.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, re.sub(r"(?m)^", "  ", done.stdout)
    return done.stdout
