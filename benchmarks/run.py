"""`make bench`: what installs cost, as multiples of what they are measured against, in the same run.

    python -m benchmarks.run [--files 450] [--megabytes 100] [--rounds 11] [--write]

A release of `--files` headers and libraries is made and served on loopback. Every round runs each
command once, in turn, so that a slow moment of the machine falls on all of them; what is compared are the
medians of the rounds, and of the rounds' ratios. With `--write` the table goes to `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from server_fixtures.release_server import ReleaseServer
from server_fixtures.release_tree import Entry, pack_tar

RESULTS = Path(__file__).parent / "RESULTS.md"
_SETTLE = 0.5
ETFETCH = [sys.executable, "-m", "etfetch"]


@dataclass(frozen=True)
class Setting:
    """The folders of one benchmark, and the environment of its commands."""

    root: Path
    project: Path
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ETFETCH_")}
        return {**kept, "ETFETCH_CACHE_DIR": str(self.cache)}

    def timed(self, command: list[str]) -> float:
        """Seconds that a command takes; it must succeed."""
        begin = time.perf_counter()
        subprocess.run(command, cwd=self.project, env=self.environment, check=True, capture_output=True)
        return time.perf_counter() - begin


def main() -> None:
    """Measure, print, and with `--write` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=450)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="etfetch-bench.") as folder:
        root = Path(folder)
        tree = root / "releases"
        (tree / "bench").mkdir(parents=True)
        with ReleaseServer(tree) as server:
            setting = Setting(root, root / "project", root / "cache")
            _publish(tree, server.url, setting.project, words.files, words.megabytes << 20)
            times = _measure(setting, words.rounds)
    text = _report(times, words.files, words.megabytes)
    print(text)
    if words.write:
        RESULTS.write_text(text, encoding="utf-8")


def _publish(tree: Path, url: str, project: Path, files: int, size: int) -> None:
    """Four archives that together have `files` files and about `size` bytes, and their manifest."""
    source = random.Random(1)
    per_archive = files // 4
    artifacts, parts = [], ["runtime", "backend_a", "backend_b", "kernels"]
    for name in parts:
        entries = [
            # Half of it compresses, as libraries do.
            Entry(f"{name}/{n}.bin", _bytes(source, size // files))
            for n in range(per_archive)
        ]
        data = pack_tar(entries)
        (tree / "bench" / f"{name}.tar.gz").write_bytes(data)
        artifacts.append(
            f'[[artifacts]]\nname = "{name}.tar.gz"\nsource = "{url}/bench/{name}.tar.gz"\n'
            f'sha256 = "{hashlib.sha256(data).hexdigest()}"\nsize = {len(data)}\n'
            f'[[artifacts.parts]]\ncomponent = "{name}"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
        )
    kinds = {"runtime": "runtime", "kernels": "kernels"}
    components = [f'[components.{n}]\nkind = "{kinds.get(n, "backend")}"\n' for n in parts]
    manifest = project / "manifests/bench/1.0.toml"
    manifest.parent.mkdir(parents=True)
    head = 'schema = 1\npackage = "bench"\nversion = "1.0"\n'
    manifest.write_text(head + "".join(components) + "".join(artifacts))
    (project / "etfetch.toml").write_text(
        'package = "bench"\nplatforms = ["linux-x86_64"]\nextras = ["backend_a", "backend_b", "kernels"]\n'
    )


def _bytes(source: random.Random, size: int) -> bytes:
    return source.randbytes(size // 2) + bytes(size - size // 2)


def _measure(setting: Setting, rounds: int) -> dict[str, list[float]]:
    destination, copy = setting.project / "third-party", setting.root / "copy"

    def clear(*folders: Path) -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        # Whoever starts at once gets the pages that were just freed, still warm: the same pause for all.
        time.sleep(_SETTLE)

    def cold() -> float:
        clear(destination, setting.cache)
        return setting.timed([*ETFETCH, "install", "-q"])

    def no_op() -> float:
        return setting.timed([*ETFETCH, "install"])

    def warm() -> float:
        clear(destination)
        return setting.timed([*ETFETCH, "install", "-q", "--offline"])

    def copied() -> float:
        clear(copy)
        return setting.timed(["cp", "-r", str(destination), str(copy)])

    commands: dict[str, Callable[[], float]] = {
        "python": lambda: setting.timed([sys.executable, "-c", "pass"]),
        "cold": cold,
        "no-op": no_op,
        "cp -r": copied,
        "warm": warm,
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(command())
    return times


def _report(times: dict[str, list[float]], files: int, megabytes: int) -> str:
    def ratio(name: str, peer: str, *, beside_start: bool = False) -> str:
        rounds = zip(times[name], times[peer], times["python"], strict=True)
        ratios = [(mine - start * beside_start) / other for mine, other, start in rounds]
        return f"{statistics.median(ratios):.2f} times"

    rows = [
        ("a bare interpreter (`python -c pass`)", "python", "1", ""),
        ("`install` with nothing to do", "no-op", f"{ratio('no-op', 'python')} a bare interpreter", "4"),
        ("`cp -r` of the installed tree", "cp -r", "1", ""),
        (
            "`install` from a full cache into an empty tree",
            "warm",
            f"{ratio('warm', 'cp -r', beside_start=True)} `cp -r`, the interpreter's start aside",
            "1.6",
        ),
        (
            "`install`, cold, from a server on loopback",
            "cold",
            f"{ratio('cold', 'cp -r')} `cp -r`, {ratio('cold', 'python')} a bare interpreter",
            "",
        ),
    ]
    machine = f"{platform.system()} {platform.machine()} with {os.cpu_count()} cores"
    lines = [
        "# Benchmarks",
        "",
        f"{files} files of {megabytes} MB in four archives; medians of {len(times['python'])} rounds, all",
        f"commands in turn; {machine}, Python {platform.python_version()}.",
        "",
        "| what | median time | ratio | budget |",
        "| --- | ---: | --- | ---: |",
    ]
    for what, name, shown, budget in rows:
        lines.append(f"| {what} | {1000 * statistics.median(times[name]):.0f} ms | {shown} | {budget} |")
    lines += ["", "Made by `make bench`. The times are this machine's; the ratios are what is compared.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
