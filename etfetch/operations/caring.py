"""The machine's side: the cache's care, and `doctor`."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from etfetch import __version__, config, digest, installer, plan
from etfetch.cache import LAYOUT, Cache, Prune, Usage
from etfetch.config import Options
from etfetch.errors import EtfetchError, IntegrityError
from etfetch.operations import locking
from etfetch.operations.workspace import Workspace, open_workspace

_KEY_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`: `ok` is False for what will stop an install."""

    label: str
    detail: str
    ok: bool = True


def open_cache(options: Options) -> Cache:
    """The cache alone, without a project."""
    settings = config.settings_of(options)
    return Cache(settings.cache_dir, settings.lock_timeout)


def verify_cache(options: Options) -> dict[str, Usage]:
    """`etfetch cache verify`: hash everything; `IntegrityError` names what was wrong and set aside."""
    cache = open_cache(options)
    wrong = cache.verify()
    if wrong:
        raise IntegrityError(
            f"{len(wrong)} damaged in the cache, and set aside",
            data=wrong,
            hint="run `etfetch install`, which fetches again what it needs",
        )
    return cache.usage()


@dataclass(frozen=True, slots=True)
class Limits:
    """What `cache prune` was told: locks to keep for, an age in seconds, a size in bytes, and `--ci`."""

    locks: tuple[str, ...] = ()
    older_than: float | None = None
    max_size: int | None = None
    ci: bool = False


def prune_cache(options: Options, limits: Limits) -> Usage:
    """`etfetch cache prune`: without limits what can be made again, else what the limits say.

    What a lock needs stays. Locks alone, and `ci`, mean that everything else goes; `ci` keeps the archives of
    the project's lock and drops unpacked trees, which are made again from them.
    """
    cache = open_cache(options)
    if limits == Limits():
        return cache.prune()
    locks = [locking.read_file(Path(file)) for file in limits.locks]
    if limits.ci:
        with open_workspace(options) as workspace:
            locks.append(locking.there(workspace))
    blobs = {artifact.sha256 for lock in locks for artifact in lock.artifacts}
    trees = {part.tree: part.artifact.sha256 for lock in locks for part in plan.wanted_parts(lock)}
    needless = {tree for tree, sha256 in trees.items() if limits.ci and cache.has_blob(sha256)}
    return cache.prune(
        Prune(
            keep=frozenset(blobs | (set(trees) - needless)),
            only_kept=limits.ci or (limits.older_than is None and limits.max_size is None),
            older_than=limits.older_than,
            max_size=limits.max_size,
        )
    )


def cache_key(options: Options) -> str:
    """`etfetch cache key`: a name for what the cache must hold for this project on this host.

    It changes when the archives that the lock needs here change, or the cache's layout; nothing else counts.
    """
    with open_workspace(options) as workspace:
        lock = locking.there(workspace)
        platforms, _ = workspace.platforms_to_install(lock)
        needed = sorted({a.sha256 for a in lock.for_platforms(platforms).artifacts})
    return f"etfetch-{LAYOUT}-{digest.of_bytes(' '.join(needed).encode())[:_KEY_DIGITS]}"


def doctor(options: Options) -> list[Finding]:
    """`etfetch doctor`: what etfetch sees of this machine and this project."""
    return [
        Finding("etfetch", f"{__version__} on Python {sys.version.split()[0]} ({sys.executable})"),
        _host(),
        _cache(options),
        _client("pip", "pypi:", shutil.which("pip3") or shutil.which("pip")),
        _client("npm", "npm:", shutil.which("npm")),
        *_project(options),
    ]


def _host() -> Finding:
    host = config.this_platform()
    return Finding("host", host or "no platform of ExecuTorch's: name `platforms`")


def _cache(options: Options) -> Finding:
    root = config.settings_of(options).cache_dir
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    writable = _is_writable(existing)
    state = "writable" if writable else "not writable"
    return Finding("cache", f"{root} ({state}, {free / 1e9:.1f} GB free)", writable)


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def _client(name: str, scheme: str, path: str | None) -> Finding:
    found = path or f"not found: `{scheme}` artifacts cannot be downloaded"
    return Finding(name, found)


def _project(options: Options) -> list[Finding]:
    try:
        with open_workspace(options) as workspace:
            return _findings(workspace)
    except EtfetchError as error:
        return [Finding("project", str(error).replace("\n", "; "), ok=False)]


def _findings(workspace: Workspace) -> list[Finding]:
    file = workspace.project.file
    findings = [Finding("project", str(file.path if file else "no project file here or above"))]
    lock = workspace.read_lock()
    if file is not None:
        config.request_of(workspace.project, workspace.options, None)
    if lock is None:
        return [*findings, Finding("lock", "none")]
    described = f"{lock.request.package} {lock.release} for {', '.join(lock.request.platforms)}"
    findings.append(Finding("lock", described))
    seen = installer.survey(workspace.destination)
    state = f"{len(seen.record.files)} files in {workspace.destination}"
    if seen.interrupted:
        state += "; an install was interrupted: run `etfetch install`"
    if seen.damaged:
        state += f"; {len(seen.damaged)} missing or changed: run `etfetch verify`"
    return [*findings, Finding("installed", state, not (seen.interrupted or seen.damaged))]
