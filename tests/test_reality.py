"""What `etfetch check` says beside what ExecuTorch's runtime does: every model, every set of libraries."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from etfetch import lockfile
from tests import native
from tests.demo_models import MODELS
from tests.programs import need
from tests.test_program import TRUTH
from tests.world import World

pytestmark = pytest.mark.registry

LIBRARIES = {
    "xnnpack": "xnnpack_backend",
    "optimized": "optimized_native_cpu_ops_lib",
    "quantized": "quantized_ops_lib",
}
SUBSETS = [chosen for number in range(4) for chosen in combinations(LIBRARIES, number)]
LOADER = """
#include <executorch/extension/module/module.h>
#include <cstdio>
int main(int argc, char** argv) {
  executorch::extension::Module module(argv[1]);
  const auto loaded = module.load();
  if (loaded != executorch::runtime::Error::Ok) {
    std::printf("load 0x%x\\n", static_cast<unsigned>(loaded));
    return 0;
  }
  const auto names = module.method_names();
  for (const auto& name : *names) {
    std::printf("%s 0x%02x\\n", name.c_str(), static_cast<unsigned>(module.load_method(name)));
  }
  return 0;
}
"""
REQUEST = 'version = "1.5.1"\nplatforms = ["linux-x86_64"]\ngenerate = ["cmake"]\n'
# Without their weights, which stand in other files, the runtime crashes or refuses them for that reason.
RUNNABLE = [truth["file"] for truth in TRUTH if "external" not in truth["file"]]


def _request(chosen: tuple[str, ...]) -> str:
    backends = [name for name in chosen if name == "xnnpack"]
    kernels = [name for name in chosen if name != "xnnpack"]
    return f"{REQUEST}backends = {json.dumps(backends)}\nkernels = {json.dumps(kernels)}\n"


@pytest.fixture
def loaders(real: World) -> dict[tuple[str, ...], Path]:
    """A program for each set of libraries, linked against what etfetch installed."""
    project = real.project
    real.write(_request(tuple(LIBRARIES)))
    real.ok("install")
    (project / "main.cpp").write_text(LOADER)
    lines = ["cmake_minimum_required(VERSION 3.19)", "project(loaders CXX)", "include(etfetch.cmake)"]
    lines += ["find_package(executorch CONFIG REQUIRED)", "add_library(loader OBJECT main.cpp)"]
    lines += ["target_link_libraries(loader PRIVATE executorch)"]
    for chosen in SUBSETS:
        name = f"with_{'_'.join(chosen)}"
        libraries = " ".join(LIBRARIES[one] for one in chosen)
        lines.append(f"add_executable({name} $<TARGET_OBJECTS:loader>)")
        lines.append(f"target_link_libraries({name} PRIVATE executorch {libraries})")
    (project / "CMakeLists.txt").write_text("\n".join(lines))
    native.run(project, need("cmake"), "-S", ".", "-B", "build")
    native.run(project, need("cmake"), "--build", "build")
    return {chosen: project / f"build/with_{'_'.join(chosen)}" for chosen in SUBSETS}


def _runtime(loader: Path, model: str) -> dict[str, str | None]:
    """Each method with the error it loads with, None when it loads."""
    done = subprocess.run([loader, MODELS / model], capture_output=True, text=True, check=True, timeout=60)
    said = dict(line.split() for line in done.stdout.splitlines())
    return {method: None if code == "0x00" else code for method, code in said.items()}


def test_check_agrees_with_the_runtime(real: World, loaders: dict[tuple[str, ...], Path]) -> None:
    compared = 0
    for chosen, loader in loaders.items():
        real.write(_request(chosen))
        real.ok("lock")
        paths = [str(MODELS / name) for name in RUNNABLE]
        verdicts = real.run("check", "--json", *paths).json["verdicts"]
        for name, path in zip(RUNNABLE, paths, strict=True):
            said = {v["method"]: v["error"] for v in verdicts if v["model"] == path}
            assert said == _runtime(loader, name), (chosen, name)
            compared += len(said)
    assert compared > len(SUBSETS) * len(RUNNABLE)
    shutil.rmtree(real.project / "build")


def test_a_model_gets_what_it_needs_and_nothing_else(
    real: World, loaders: dict[tuple[str, ...], Path]
) -> None:
    (real.project / "etfetch.toml").unlink()
    judged = 0
    for name in RUNNABLE:
        real.lock.unlink(missing_ok=True)
        ran = real.run("lock", "--model", str(MODELS / name), "--platform", "linux-x86_64")
        loads = {chosen for chosen in SUBSETS if not any(_runtime(loaders[chosen], name).values())}
        if ran.code:
            assert (ran.code, loads) == (7, set()), name
            continue
        names = {component.name for component in lockfile.parse(real.lock.read_text()).components}
        taken = tuple(one for one in LIBRARIES if names & {f"backend_{one}", f"kernels_{one}"})
        assert taken in loads, name
        assert all(set(taken) <= set(other) for other in loads), name
        judged += 1
    assert judged > len(RUNNABLE) // 2
