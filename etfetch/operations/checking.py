"""`etfetch check`: whether models run with what is locked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etfetch import config, metal, modelfile, shelf, verdicts
from etfetch.catalogue import Catalogue
from etfetch.config import Options
from etfetch.errors import ConfigError, ModelError, UsageError
from etfetch.lockfile import Lock
from etfetch.manifest import Manifest
from etfetch.operations import locking, modelling
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.program import Model
from etfetch.verdicts import Release, Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """All verdicts, and for each model the keys of data that none of the given files holds.

    `hopeless` are the platforms and names that nothing of the release gives, with what does. `judged` is
    False for a release of which nobody has listed the operators.
    """

    release: str
    verdicts: tuple[Verdict, ...]
    data: dict[str, tuple[str, ...]]
    hopeless: tuple[tuple[str, str, str | None], ...]
    judged: bool = True


def run(options: Options, paths: Sequence[str]) -> Checked:
    """Judge models against the project's lock, for its platforms or those that the options name.

    Without `paths` they are those that the project's request names. `LockOutdatedError` without a lock,
    `UsageError` for a platform that is not locked or a file that is no program, `ModelError` for one that
    cannot be read.
    """
    with open_workspace(options) as workspace:
        # A file that is wrong is told before a lock that is not there.
        named = paths or _named_by_project(workspace)
        models = {path: modelfile.read(Path(path)) for path in named}
        held = {key for model in models.values() for key in model.named_data}
        programs = {path: model for path, model in models.items() if model.format != "ptd"}
        _check_programs(programs)
        lock = locking.there(workspace)
        catalogue = workspace.catalogue(lock.request.package)
        provided = config.provided(workspace.project)
        platforms = _platforms(lock, options)
        release = Release(catalogue, _manifest(catalogue, lock), lock)
    there = {platform: release.registered(platform, provided) for platform in platforms}
    found = [
        verdict
        for platform in platforms
        for path, model in programs.items()
        for verdict in verdicts.judge(path, model, platform, there[platform], release)
    ]
    data = {path: keys for path, model in programs.items() if (keys := _absent(model, held))}
    hopeless = sorted({(verdict.platform, name) for verdict in found for name in verdict.hopeless})
    known = tuple((platform, name, release.elsewhere(name)) for platform, name in hopeless)
    judged = all(one.operators is not None for one in there.values())
    return Checked(f"{lock.request.package} {lock.release}", tuple(found), data, known, judged)


def _named_by_project(workspace: Workspace) -> list[str]:
    """The files that `models` of the project's request, or of its lock's, means; `UsageError` for none."""
    older = workspace.read_lock()
    request = config.request_of(workspace.project, workspace.options, older.request if older else None)
    found = modelfile.search(workspace.project.home, request.models)
    if not found.files:
        raise UsageError(
            "no model is named, neither here nor in the project file",
            hint="run `etfetch check MODEL.pte`, or write `models = [...]` into the project file",
        )
    return [os.path.relpath(file) for _, file in found.files]


def _absent(model: Model, held: set[str]) -> tuple[str, ...]:
    return tuple(key for key in model.external if key not in held)


@dataclass(frozen=True, slots=True)
class Lowering:
    """What is known of lowering a graph, by the list of which release."""

    model: str
    version: str
    answers: tuple[metal.Answer, ...]


def lowering(options: Options, paths: Sequence[str]) -> list[Lowering]:
    """`etfetch check MODEL.pt2 --backend metal`: what would stop the export.

    By the list of the locked release, where there is a lock and the list is known, else by the newest.
    `UsageError` for no file at all, `ModelError` for one that is no exported graph.
    """
    if not paths:
        # A project's `models` are programs, of which nothing can be decided any more.
        raise UsageError("no exported graph is named", hint="run `etfetch check MODEL.pt2 --backend metal`")
    with open_workspace(options) as workspace:
        lock = workspace.read_lock()
    data = shelf.backend_data("metal")
    version = metal.version_for(data, lock.release if lock else None)
    found = []
    for path in paths:
        model = modelfile.read(Path(path))
        if model.format != "pt2":
            raise ModelError(
                f"`{path}` is a program already: what a backend could be given was decided at its export",
                hint="check the `.pt2` that it was made from",
            )
        found.append(Lowering(path, version, tuple(metal.answers(model, data, version))))
    return found


def _check_programs(programs: dict[str, Model]) -> None:
    if not programs:
        raise UsageError("none of these files is a program", hint="name a `.pte`")
    for path, model in programs.items():
        modelling.refuse_graph(path, model)


def _platforms(lock: Lock, options: Options) -> tuple[str, ...]:
    named = config.named_platforms(options)
    for platform in named:
        if platform not in lock.request.platforms:
            raise UsageError(
                f"the lock is not for `{platform}`",
                data=[f"it is for {', '.join(lock.request.platforms)}"],
                hint="add it to `platforms`, then run `etfetch lock`",
            )
    return named or lock.request.platforms


def _manifest(catalogue: Catalogue, lock: Lock) -> Manifest:
    if lock.release not in catalogue.versions(lock.request.package):
        raise ConfigError(
            f"this etfetch does not know {lock.request.package} {lock.release}, which is locked",
            hint="upgrade etfetch, or let the mirror that the release came from be asked",
        )
    return catalogue.manifest(lock.request.package, lock.release)
