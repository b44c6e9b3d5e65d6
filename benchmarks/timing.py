"""How times are taken: every command once a round, in turn, medians of the rounds and of their ratios."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PAUSE = 0.5

Times = dict[str, list[float]]


@dataclass(frozen=True)
class Command:
    """What is timed, and what is put in order before, which is not."""

    run: Callable[[], object]
    before: Callable[[], None]


def settle(*folders: Path) -> None:
    """Remove folders, and wait a moment.

    Whoever starts at once gets the pages that were just freed, still warm: the same pause for all.
    """
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    time.sleep(_PAUSE)


def measure(commands: Mapping[str, Command], rounds: int) -> Times:
    """Seconds of each command in each round. A slow moment of the machine falls on all of them."""
    times: Times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            command.before()
            begin = time.perf_counter()
            command.run()
            times[name].append(time.perf_counter() - begin)
    return times


def median(times: Times, name: str) -> float:
    return statistics.median(times[name])


def ratio(times: Times, name: str, other: str) -> float:
    """The median of the rounds' ratios: how many times as long as the other."""
    return statistics.median(mine / theirs for mine, theirs in zip(times[name], times[other], strict=True))
