"""Small static libraries that register something, locked as a release would be, and ways to build."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from etfetch import generate
from etfetch.generate import Material, Outputs
from etfetch.lockfile import Lock, LockedArtifact, LockedComponent
from etfetch.manifest import Link, Part
from etfetch.request import Request
from tests.programs import need

SYMBOL = "etfetch_demo_registered"
REGISTERING = """
extern int puts(const char*);
int etfetch_demo_registered;
__attribute__((constructor)) static void etfetch_demo_registration(void) {
  ++etfetch_demo_registered;
  puts("registered");
}
"""
RUNTIME = "int etfetch_demo_runtime(void) { return 0; }\n"
APP = "extern int etfetch_demo_runtime(void);\nint main(void) { return etfetch_demo_runtime(); }\n"


def lock(platforms: Sequence[str]) -> Lock:
    """A static runtime and a static backend that only registers, for some platforms."""
    components = (
        LockedComponent("backend_demo", "backend", tuple(platforms), ("executorch",), "DemoBackend"),
        LockedComponent("executorch", "runtime", tuple(platforms)),
    )
    parts = []
    for component, registers in (("backend_demo", True), ("executorch", False)):
        links = tuple(
            Link((platform,), "static", (f"{platform}/lib{component}.a",), registers=registers)
            for platform in platforms
        )
        parts.append(Part(component, tuple(platforms), ("**",), links=links))
    artifact = LockedArtifact(
        "demo.tar.gz", "https://example.com/demo.tar.gz", "0" * 64, "tar.gz", tuple(parts)
    )
    return Lock(Request("executorch", "==1", tuple(platforms)), "1", components, (artifact,))


def write(project: Path, locked: Lock, *names: str) -> None:
    """Write generated files into a project."""
    for file in generate.render(Material(Outputs(names, None, "demo", "third-party"), locked), names):
        path = project / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)


def archive(folder: Path, name: str, source: str, compiler: Sequence[str], archiver: str) -> Path:
    """Compile a source and put it into a static library."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.c").write_text(source)
    run(folder, *compiler, "-c", f"{name}.c", "-o", f"{name}.o")
    run(folder, need(archiver), "rcs", f"lib{name}.a", f"{name}.o")
    return folder / f"lib{name}.a"


def run(folder: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program; its words when it fails, unless it may. Debian's LLVM is on PATH under its own names."""
    path = os.pathsep.join(
        [os.environ["PATH"], *(str(p) for p in sorted(Path("/usr/lib").glob("llvm-*/bin")))]
    )
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, " ".join(command) + "\n" + done.stdout + done.stderr
    return done
