"""The comparison with the peer as bars."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from benchmarks.timing import Times, median, ratio

_NAMES = {"cold": "cold", "warm": "warm cache, empty tree", "no-op": "nothing to do"}


def write(path: Path, times: Times) -> None:
    """Write an SVG: two bars for each kind of install, with how many times as fast etfetch is."""
    mpl.use("svg")
    # The same bytes for the same times, so that a picture only changes with them.
    mpl.rcParams["svg.hashsalt"] = "etfetch"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
    mine = [1000 * median(times, name) for name in _NAMES]
    theirs = [1000 * median(times, f"peer {name}") for name in _NAMES]
    places = list(range(len(_NAMES)))
    axes.barh([p - 0.2 for p in places], theirs, 0.38, label="download-libs.js 0.10.2", color="#b8b8c0")
    bars = axes.barh([p + 0.2 for p in places], mine, 0.38, label="etfetch", color="#3d7dca")
    faster = [ratio(times, f"peer {name}", name) for name in _NAMES]
    labels = [f"{ms:.0f} ms, {one:.1f} times as fast" for ms, one in zip(mine, faster, strict=True)]
    axes.bar_label(bars, labels, padding=4)
    axes.set_yticks(places, list(_NAMES.values()))
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds, median of the rounds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(right=1.5 * max(*mine, *theirs))
    axes.legend(frameon=False, loc="center right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
