"""The machine's side: the cache's care, and `doctor`."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from etfetch import __version__, config, installer
from etfetch.cache import Cache, Usage
from etfetch.config import Options
from etfetch.errors import EtfetchError, IntegrityError
from etfetch.operations.workspace import Workspace, open_workspace


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
