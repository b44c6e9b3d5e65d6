"""The verbs for build scripts, typed.

    import etfetch

    report = etfetch.install("executorch[xnnpack,optimized]==1.5.1", project="build")
    print(report.status, report.written)

Nothing here prints. Every expected failure is an `etfetch.EtfetchError`, whose `code` is the exit
code that the command line would give.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Union

from etfetch.config import Options
from etfetch.lockfile import Lock
from etfetch.operations import installing, locking, reporting
from etfetch.operations.installing import Mode, Report
from etfetch.progress import Progress, Silent

StrPath = Union[str, "os.PathLike[str]"]


def install(
    requirement: str | None = None,
    *,
    project: StrPath = ".",
    platforms: Iterable[str] = (),
    features: Iterable[str] = (),
    models: Iterable[StrPath] = (),
    variant: str | None = None,
    destination: StrPath | None = None,
    cache_dir: StrPath | None = None,
    locked: bool = False,
    frozen: bool = False,
    offline: bool = False,
    force: bool = False,
    dry_run: bool = False,
    jobs: int | None = None,
    link_mode: str | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Make the tree below `destination` match the request, as `etfetch install` does.

    `requirement` is a PEP 508 requirement such as `executorch[xnnpack]==1.5.1`, for folders without a project
    file. `project` is the folder that holds project file and lock (not searched upwards); `destination`
    defaults to what the project file says, or `third-party` below the project. `platforms` may hold `all`.
    `models` are paths of `.pte` files whose needs are installed, too.
    `jobs` is the number of downloads at once, `link_mode` is clone, copy or hardlink, `base_url` a mirror
    that is asked first. `progress` hears of downloads, from several threads.

    The report's sizes are bytes, its `destination` is absolute. Raises `EtfetchError`: code 2 for a wrong
    request, 3 for a stale lock (with `locked`), 4 for wrong bytes, 5 for the network, 6 for what is
    missing offline, 7 for what cannot be satisfied, 9 for a busy lock, 10 for files in the way.
    """
    options = Options(
        project=os.fspath(project),
        requirement=requirement,
        platforms=tuple(platforms),
        features=tuple(features),
        models=tuple(os.fspath(model) for model in models),
        variant=variant,
        destination=_path(destination),
        cache_dir=_path(cache_dir),
        offline=offline,
        jobs=jobs,
        link_mode=link_mode,
        base_url=base_url,
    )
    mode = Mode(locked=locked, frozen=frozen, dry_run=dry_run, force=force)
    return installing.run(options, mode, progress or Silent())


def lock(
    requirement: str | None = None,
    *,
    project: StrPath = ".",
    platforms: Iterable[str] = (),
    features: Iterable[str] = (),
    models: Iterable[StrPath] = (),
    variant: str | None = None,
    cache_dir: StrPath | None = None,
    offline: bool = False,
    upgrade: bool = False,
    base_url: str | None = None,
) -> Lock:
    """Write `etfetch.lock` in the folder `project` and return it; parameters as for `install`.

    The locked release stays while the request is the same, unless `upgrade`. Raises `EtfetchError`: code 2
    for a wrong request, 5 or 6 when a digest has to be asked for and cannot, 7 for what cannot be satisfied.
    """
    options = Options(
        project=os.fspath(project),
        requirement=requirement,
        platforms=tuple(platforms),
        features=tuple(features),
        models=tuple(os.fspath(model) for model in models),
        variant=variant,
        cache_dir=_path(cache_dir),
        offline=offline,
        base_url=base_url,
    )
    return locking.lock(options, upgrade=upgrade).lock


def verify(*, project: StrPath = ".", destination: StrPath | None = None, deep: bool = False) -> int:
    """The number of installed files, all of which are as the lock wants them.

    By size and time, or with `deep` by digest. Raises `EtfetchError` with code 10 and every path that
    differs otherwise.
    """
    options = Options(project=os.fspath(project), destination=_path(destination))
    return reporting.verify(options, deep=deep)


def _path(path: StrPath | None) -> str | None:
    return None if path is None else os.fspath(path)
