"""`make bench`: what installs cost, as multiples of what they are measured against, in the same run.

    python -m benchmarks.run [--files 450] [--megabytes 100] [--rounds 11] [--without-peer] [--write]

Three measurements. One beside the system: a release of `--files` headers and libraries is made and served on
loopback, and compared with a bare interpreter and with `cp -r`. One of reading models (`models.py`), beside
hashing them. One beside the peer (`peer.py`): the
downloader of react-native-executorch and etfetch install the same archives. Every round runs each command
once, in turn, so that a slow moment of the machine falls on all of them; what is compared are medians
of the rounds, and of the rounds' ratios. With `--write` the tables go to `RESULTS.md`, a picture beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import models, peer
from benchmarks.timing import Command, Times, measure, median, ratio, settle
from etfetch import digest
from server_fixtures.release_server import ReleaseServer
from server_fixtures.release_tree import Entry, pack_tar

RESULTS = Path(__file__).parent / "RESULTS.md"
PICTURE = RESULTS.with_name("results.svg")
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

    def run(self, command: list[str]) -> None:
        """Run a command, which must succeed."""
        subprocess.run(command, cwd=self.project, env=self.environment, check=True, capture_output=True)


def main() -> None:
    """Measure, print, and with `--write` keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=450)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--without-peer", action="store_true", help="only beside the system")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} and {PICTURE.name}")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="etfetch-bench.") as folder:
        root = Path(folder)
        text = _machine(words.rounds) + _beside_the_system(root, words.files, words.megabytes, words.rounds)
        text += _models_report(*models.beside_hashing(root, words.rounds))
        times: Times = {}
        if not words.without_peer:
            (root / "peer").mkdir()
            with peer.site(root / "peer") as site:
                files, size = peer.check_same(site)
                times = measure(peer.commands(site), words.rounds)
            text += _peer_report(times, files, size)
    print(text)
    if words.write:
        RESULTS.write_text(text, encoding="utf-8")
        if times:
            from benchmarks import picture

            picture.write(PICTURE, times)


def _beside_the_system(root: Path, files: int, megabytes: int, rounds: int) -> str:
    tree = root / "releases"
    (tree / "bench").mkdir(parents=True)
    with ReleaseServer(tree) as server:
        setting = Setting(root, root / "project", root / "cache")
        _publish(tree, server.url, setting.project, files, megabytes << 20)
        times = measure(_commands(setting), rounds)
        memory = _memory(setting, tree, server.url)
    return _report(times, files, megabytes, memory)


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


def _commands(setting: Setting) -> dict[str, Command]:
    destination, copy = setting.project / "third-party", setting.root / "copy"

    def install(*words: str) -> None:
        setting.run([*ETFETCH, "install", *words])

    return {
        "python": Command(lambda: setting.run([sys.executable, "-c", "pass"]), lambda: None),
        "cold": Command(lambda: install("-q"), lambda: settle(destination, setting.cache)),
        "no-op": Command(install, lambda: None),
        "cp -r": Command(
            lambda: setting.run(["cp", "-r", str(destination), str(copy)]), lambda: settle(copy)
        ),
        "warm": Command(lambda: install("-q", "--offline"), lambda: settle(destination)),
    }


def _memory(setting: Setting, tree: Path, url: str) -> float:
    """The most memory, in MB, that an install of one archive of 1 GB takes."""
    zeros, archive = setting.root / "zeros", tree / "bench/big.tar"
    with zeros.open("wb") as file:
        file.truncate(1 << 30)
    with tarfile.open(archive, "w") as tape:
        tape.add(zeros, "big.bin")
    sha256 = digest.of_file(archive)
    manifest = setting.project / "manifests/big/1.0.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        'schema = 1\npackage = "big"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n'
        f'[[artifacts]]\nname = "big.tar"\nsource = "{url}/bench/big.tar"\nsha256 = "{sha256}"\n'
        f'size = {archive.stat().st_size}\n[[artifacts.parts]]\ncomponent = "runtime"\n'
        'platforms = ["linux-x86_64"]\nmembers = ["**"]\n'
    )
    (setting.project / "etfetch.toml").write_text('package = "big"\nplatforms = ["linux-x86_64"]\n')
    program = "from etfetch.__main__ import main; assert main(['install', '-q']) == 0; "
    # Not `ru_maxrss`, which begins with what the parent had when it forked.
    program += "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=setting.project,
        env=setting.environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout) / 1000


def _machine(rounds: int) -> str:
    machine = f"{platform.system()} {platform.machine()} with {os.cpu_count()} cores"
    return (
        "# Benchmarks\n\n"
        f"{machine}, Python {platform.python_version()}; {rounds} rounds, all commands in turn.\n"
        "The times are this machine's; medians of the rounds' ratios are what is compared.\n\n"
    )


def _report(times: Times, files: int, megabytes: int, memory: float) -> str:
    beside_start = statistics.median(
        (mine - start) / other
        for mine, other, start in zip(times["warm"], times["cp -r"], times["python"], strict=True)
    )
    rows = [
        ("a bare interpreter (`python -c pass`)", "python", "1", ""),
        (
            "`install` with nothing to do",
            "no-op",
            f"{ratio(times, 'no-op', 'python'):.2f} times a bare interpreter",
            "4",
        ),
        ("`cp -r` of the installed tree", "cp -r", "1", ""),
        (
            "`install` from a full cache into an empty tree",
            "warm",
            f"{beside_start:.2f} times `cp -r`, the interpreter's start aside",
            "1.6",
        ),
        (
            "`install`, cold, from a server on loopback",
            "cold",
            f"{ratio(times, 'cold', 'cp -r'):.2f} times `cp -r`",
            "",
        ),
    ]
    lines = [
        "## Beside the system",
        "",
        f"{files} files of {megabytes} MB in four archives.",
        "",
        "| what | median time | ratio | budget |",
        "| --- | ---: | --- | ---: |",
    ]
    for what, name, shown, budget in rows:
        lines.append(f"| {what} | {1000 * median(times, name):.0f} ms | {shown} | {budget} |")
    lines += ["", f"One archive of 1 GB: {memory:.0f} MB of memory at most (budget: 100 MB).", ""]
    return "\n".join(lines)


def _models_report(times: Times, memory: float) -> str:
    needs, hashed = (1000 * median(times, name) for name in ("needs", "digest"))
    lines = [
        "",
        "## Reading models",
        "",
        "A program of 1 GB, with the tables of a language model, inside one process.",
        "",
        "| what | median time | ratio | budget |",
        "| --- | ---: | --- | ---: |",
        f"| its digest, for which it is read from end to end | {hashed:.0f} ms | 1 |  |",
        f"| what it needs | {needs:.1f} ms | {ratio(times, 'digest', 'needs'):.0f} times as fast | 50 ms |",
        "",
        f"The needs take {memory:.1f} MB of memory, whatever the program's size.",
        "",
    ]
    return "\n".join(lines)


def _peer_report(times: Times, files: int, size: int) -> str:
    rows = [
        ("cold: cache and tree empty", "cold", "3"),
        ("warm: cache full, tree empty", "warm", ""),
        ("nothing to do", "no-op", ""),
    ]
    lines = [
        "",
        "## Beside react-native-executorch's downloader",
        "",
        f"The same five archives ({files} files, {size / 1e6:.0f} MB unpacked: headers, core and OpenCV for",
        "two Android ABIs, packed from the real libraries of the 0.9.2 npm package), served by nginx on",
        "loopback. The peer is `scripts/download-libs.js` of react-native-executorch 0.10.2, run by Node.",
        "Both leave the same files; that is checked first.",
        "",
        "| what | etfetch | the peer | etfetch is | budget |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for what, name, budget in rows:
        mine, theirs = (1000 * median(times, one) for one in (name, f"peer {name}"))
        faster = ratio(times, f"peer {name}", name)
        lines.append(f"| {what} | {mine:.0f} ms | {theirs:.0f} ms | {faster:.1f} times as fast | {budget} |")
    return "\n".join([*lines, "", f"![the same, as bars]({PICTURE.name})", ""])


if __name__ == "__main__":
    main()
