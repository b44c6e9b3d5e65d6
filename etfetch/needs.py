"""What models need of what is installed, as far as the app does not bring it itself.

In: a model that was read. Out: `ModelNeeds`, which a lock records. Rules:

- A model needs what all its methods need together.
- What the app registers itself (`Provided`) is not asked of any release.
- A lock answers models as long as they need the same, whatever else changed in them.

Not here: opening files (`modelfile`), choosing what gives it (`offers`, `resolve`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etfetch.program import Model


@dataclass(frozen=True, slots=True)
class Provided:
    """What an app registers itself: operators as names or patterns (`myco::*`), delegates by their ids."""

    operators: tuple[str, ...] = ()
    delegates: tuple[str, ...] = ()

    def has_operator(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.operators)


@dataclass(frozen=True, slots=True)
class ModelNeeds:
    """One model file: what it needs, sorted.

    `path` is relative to the lock's folder, with `/`. `sha256` is the file's, "" while nobody asked for it.
    """

    path: str
    sha256: str
    delegates: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Models:
    """What the models of a request need: those that are `here`, and `kept` ones that only a lock knows.

    `watched` are the files and folders that the answer depends on.
    """

    here: tuple[ModelNeeds, ...] = ()
    kept: tuple[ModelNeeds, ...] = ()
    watched: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[ModelNeeds, ...]:
        return tuple(sorted((*self.here, *self.kept), key=lambda one: one.path))

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(
            f"`{one.path}` is not here: what the lock recorded of it counts (`etfetch lock` forgets it)"
            for one in self.kept
        )


def of(path: str, model: Model, provided: Provided) -> ModelNeeds:
    """The needs of a model that was read, without its digest."""
    delegates = {delegate.id for method in model.methods for delegate in method.delegates}
    operators = {name for method in model.methods for name, _ in method.operators}
    return ModelNeeds(
        path=path,
        sha256="",
        delegates=tuple(sorted(delegates - set(provided.delegates))),
        operators=tuple(sorted(name for name in operators if not provided.has_operator(name))),
    )


def differences(now: Sequence[ModelNeeds], locked: Sequence[ModelNeeds]) -> list[str]:
    """What models need now beside what a lock recorded of them, a line each; none if it still holds."""
    before, after = {one.path: one for one in locked}, {one.path: one for one in now}
    lines = [f"models: - {path}" for path in before if path not in after]
    for path, one in after.items():
        if path not in before:
            lines.append(f"models: + {path}")
            continue
        lines += _changes(path, "delegate", one.delegates, before[path].delegates)
        lines += _changes(path, "operator", one.operators, before[path].operators)
    return lines


def _changes(path: str, what: str, now: Sequence[str], locked: Sequence[str]) -> list[str]:
    return [
        *(f"{path}: now needs the {what} {name}" for name in now if name not in locked),
        *(f"{path}: no longer needs the {what} {name}" for name in locked if name not in now),
    ]
