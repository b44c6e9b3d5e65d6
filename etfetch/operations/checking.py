"""`etfetch check`: whether models run with what is locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etfetch import config, modelfile, verdicts
from etfetch.config import Options
from etfetch.errors import ConfigError, ModelError, UsageError
from etfetch.lockfile import Lock
from etfetch.operations import locking
from etfetch.operations.workspace import open_workspace
from etfetch.program import Model
from etfetch.verdicts import Release, Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """All verdicts, and for each model the keys of data that none of the given files holds.

    `hopeless` are the platforms and names that nothing of the release gives, with what does.
    """

    release: str
    verdicts: tuple[Verdict, ...]
    data: dict[str, tuple[str, ...]]
    hopeless: tuple[tuple[str, str, str | None], ...]


def run(options: Options, paths: Sequence[str]) -> Checked:
    """Judge models against the project's lock, for its platforms or those that the options name.

    `LockOutdatedError` without a lock, `UsageError` for a platform that is not locked or a file that is no
    program, `ModelError` for one that cannot be read.
    """
    models = {path: modelfile.read(Path(path)) for path in paths}
    held = {key for model in models.values() for key in model.named_data}
    programs = {path: model for path, model in models.items() if model.format != "ptd"}
    _check_programs(programs)
    with open_workspace(options) as workspace:
        lock = locking.there(workspace)
        catalogue = workspace.catalogue(lock.request.package)
        declared = config.provided_operators(workspace.project)
        platforms = _platforms(lock, options)
        sets = _operator_sets(lock, catalogue.operator_sets)
        release = Release(catalogue, catalogue.manifest(lock.request.package, lock.release), lock)
    found = [
        verdict
        for platform in platforms
        for path, model in programs.items()
        for verdict in verdicts.judge(
            path, model, platform, verdicts.registered(lock, platform, sets, declared), release
        )
    ]
    data = {path: keys for path, model in programs.items() if (keys := _absent(model, held))}
    hopeless = sorted({(verdict.platform, name) for verdict in found for name in verdict.hopeless})
    known = tuple((platform, name, release.elsewhere(name)) for platform, name in hopeless)
    return Checked(f"{lock.request.package} {lock.release}", tuple(found), data, known)


def _absent(model: Model, held: set[str]) -> tuple[str, ...]:
    return tuple(key for key in model.external if key not in held)


def _check_programs(programs: dict[str, Model]) -> None:
    if not programs:
        raise UsageError("none of these files is a program", hint="name a `.pte`")
    for path, model in programs.items():
        if model.format == "pt2":
            raise ModelError(
                f"`{path}` is an exported graph: what it needs is decided when it becomes a program",
                hint="export it to a `.pte` and check that",
            )


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


def _operator_sets(lock: Lock, known: Mapping[str, str]) -> dict[str, frozenset[str]]:
    wanted = {name for component in lock.components for name in component.operators}
    unknown = sorted(wanted - set(known))
    if unknown:
        raise ConfigError(
            "the lock names operator sets that this etfetch does not know",
            data=unknown,
            hint="upgrade etfetch, or let the mirror that the release came from be asked",
        )
    return {name: frozenset(known[name].split()) for name in wanted}
