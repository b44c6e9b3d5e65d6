"""`etfetch generate`: the build files that a project wants, from its lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from etfetch import config, digest, generate, installer
from etfetch.config import Options
from etfetch.errors import ConfigError, UsageError, did_you_mean
from etfetch.generate import GeneratedFile, Material
from etfetch.lockfile import Lock
from etfetch.operations import locking
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.record import RecordedOutput


def run(
    options: Options, names: Sequence[str], *, remote: bool = False
) -> tuple[Path, tuple[GeneratedFile, ...]]:
    """Write the files of the named generators (default: all that the project file lists).

    Gives the project's folder and the files. `LockOutdatedError` when one of them needs a lock and
    there is none, or a stale one; `UsageError` for a name that the project does not list.
    """
    with open_workspace(options) as workspace:
        listed = config.outputs_of(workspace.project).names
        if not listed:
            raise ConfigError(
                "the project file lists nothing to generate",
                hint=f"add `generate = [...]` with some of {', '.join(generate.GENERATORS)}",
            )
        for name in names:
            if name not in listed:
                raise UsageError(
                    f"the project does not generate `{name}`{did_you_mean(name, listed)}",
                    data=[f"it generates: {', '.join(listed)}"],
                )
        wanted = tuple(names) or listed
        needs_lock = not generate.WITHOUT_A_LOCK.issuperset(wanted)
        lock = locking.answer(workspace, locked=True).lock if needs_lock else None
        files = _files(workspace, wanted, lock, remote=remote)
        write(workspace, files)
        return workspace.project.folder, files


def files_of(workspace: Workspace, lock: Lock) -> tuple[GeneratedFile, ...]:
    """All files that the project wants, as its lock makes them.

    None for a tree in another folder than the project's own: their paths would lead past it.
    """
    if workspace.destination != config.destination_of(workspace.project, Options()):
        return ()
    return _files(workspace, config.outputs_of(workspace.project).names, lock)


def recorded(files: Sequence[GeneratedFile]) -> tuple[RecordedOutput, ...]:
    """What a record says of generated files."""
    return tuple(RecordedOutput(file.path, digest.of_bytes(file.text.encode("utf-8"))) for file in files)


def write(
    workspace: Workspace, files: Sequence[GeneratedFile], earlier: Sequence[RecordedOutput] = ()
) -> None:
    """Write generated files; one that says the same already keeps its time.

    Of `earlier` ones that are not wanted any more, those go that are still as they were written.
    """
    folder = workspace.project.folder
    for file in files:
        installer.write_output(folder, file.path, file.text)
    wanted = {file.path for file in files}
    for output in earlier:
        if output.path not in wanted:
            installer.remove_output(folder, output.path, output.sha256)


def _files(
    workspace: Workspace, names: Sequence[str], lock: Lock | None, *, remote: bool = False
) -> tuple[GeneratedFile, ...]:
    material = Material(
        config.outputs_of(workspace.project),
        lock,
        config.choices_of(workspace.project).passed,
        _operators(workspace, lock) if lock is not None and "registration-check" in names else {},
        remote=remote,
    )
    return generate.render(material, names)


def _operators(workspace: Workspace, lock: Lock) -> dict[str, frozenset[str]]:
    """The operator sets that a lock names, as far as etfetch or the project has them: nobody is asked."""
    # Most installs generate nothing that needs a catalogue, which takes 10 ms to import.
    from etfetch import shelf

    known = shelf.load(workspace.project.folder).operator_sets
    wanted = {name for component in lock.components for name in component.operators}
    return {name: frozenset(known[name].split()) for name in wanted & set(known)}
