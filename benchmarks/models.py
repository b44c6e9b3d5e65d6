"""What reading a program's needs costs, beside hashing it: `python -m benchmarks.models MODEL ROUNDS`.

Run as a program of its own, since what is measured is time and memory inside one process. It prints the
seconds of each round for both, and by how many bytes the needs made the process grow.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import Times

PROGRAM = Path(__file__).parent.parent / "tests/models/d_tinyllama_xnnpack_customops.pte"
"""The tables of a language model; its weights are what is made large."""

SIZE = 1 << 30


def beside_hashing(folder: Path, rounds: int) -> tuple[Times, float]:
    """Seconds of each round for the needs of a 1 GB program, and for its digest; MB that the needs take."""
    model = folder / "model.pte"
    model.write_bytes(PROGRAM.read_bytes())
    with model.open("r+b") as file:
        file.truncate(SIZE)
    command = [sys.executable, "-m", "benchmarks.models", str(model), str(rounds)]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True
    )
    measured = json.loads(done.stdout)
    return {"needs": measured["needs"], "digest": measured["digest"]}, measured["grown"] / 1e6


def _main(model: Path, rounds: int) -> None:
    from etfetch import digest, modelfile, needs

    times: Times = {"needs": [], "digest": []}
    before, grown = _resident(), 0
    for number in range(rounds):
        begin = time.perf_counter()
        found = needs.of(model.name, modelfile.read(model), needs.Provided())
        times["needs"].append(time.perf_counter() - begin)
        if number == 0:
            assert found.delegates == ("XnnpackBackend",)
            grown = _resident() - before
        begin = time.perf_counter()
        digest.of_file(model)
        times["digest"].append(time.perf_counter() - begin)
    print(json.dumps({**times, "grown": grown}))


def _resident() -> int:
    """The most bytes of memory that this process has had."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1000 * int(next(line.split()[1] for line in status if line.startswith("VmHWM")))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
