"""What the models of a request need, as far as it can be seen here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from etfetch import config, modelfile, needs
from etfetch.errors import ConfigError, ModelError
from etfetch.modelfile import Found
from etfetch.needs import ModelNeeds, Models, Provided
from etfetch.operations.workspace import Workspace
from etfetch.program import Model
from etfetch.request import Request


def look(
    workspace: Workspace,
    request: Request,
    locked: Sequence[ModelNeeds] = (),
    *,
    digests: bool = False,
    forget: bool = False,
) -> Models:
    """Search and read the models of a request; only for their `digests` from end to end.

    One that is not here, but in the lock, needs what the lock says, unless `forget`: a build machine may
    have no models. `ConfigError` for a pattern that no file matches, `ModelError` for what is no program.
    """
    folder = workspace.project.home
    found = modelfile.search(folder, request.models)
    kept = () if forget else _absent(found, request, locked)
    for pattern in found.unmatched:
        if not any(modelfile.matches(one.path, [pattern]) for one in kept):
            raise _unmatched(workspace, folder, pattern)
    provided = config.provided(workspace.project)
    here = [
        replace(one, sha256=modelfile.sha256_of(file)) if digests else one
        for path, file in found.files
        if (one := _needs(path, file, provided, locked)) is not None
    ]
    return Models(tuple(here), kept, found.places)


def refuse_graph(path: str, model: Model) -> None:
    """`ModelError` for an exported graph, which is not yet a program."""
    if model.format == "pt2":
        raise ModelError(
            f"`{path}` is an exported graph: what it needs is decided when it becomes a program",
            hint="export it to a `.pte` and name that; for Metal: `etfetch check --backend metal`",
        )


def _needs(path: str, file: Path, provided: Provided, locked: Sequence[ModelNeeds]) -> ModelNeeds | None:
    """One model's needs; None for a file of data, which needs nothing."""
    pointed = modelfile.pointed_to(file)
    if pointed is not None:
        # Where Git LFS left a pointer, its digest says whether it is the model that was locked.
        for one in locked:
            if one.sha256 == pointed:
                return replace(one, path=path, sha256="")
    model = modelfile.read(file)
    refuse_graph(path, model)
    if model.format == "ptd":
        return None
    return needs.of(path, model, provided)


def _absent(found: Found, request: Request, locked: Sequence[ModelNeeds]) -> tuple[ModelNeeds, ...]:
    here = {path for path, _ in found.files}
    return tuple(
        one for one in locked if one.path not in here and modelfile.matches(one.path, request.models)
    )


def _unmatched(workspace: Workspace, folder: Path, pattern: str) -> ConfigError:
    where = config.origin_of(workspace.project).where("models", pattern)
    hint = "correct `models`" if workspace.project.file else "name another file with `--model`"
    if workspace.lock_path.exists():
        hint += "; `etfetch install --frozen` takes the lock as it is"
    return ConfigError(f"{where}: no file matches `{pattern}`", data=[f"looked in {folder}"], hint=hint)
