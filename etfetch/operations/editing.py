"""Changing the project file: `init`, `add`, `remove`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etfetch import config, edit, installer, modelfile, modelpaths, projects, resolve
from etfetch.catalogue import choose_release
from etfetch.config import Options
from etfetch.errors import ConfigError, UsageError, did_you_mean
from etfetch.manifest import Component, Manifest
from etfetch.operations import locking
from etfetch.operations.workspace import Workspace, open_workspace
from etfetch.projects import ProjectFile, Proposal
from etfetch.request import KIND_OF_KEY, NAMED, Request

_KEY_OF_KIND = {kind: key for key, kind in KIND_OF_KEY.items()}
_PLATFORM_KERNELS = ("optimized",)


@dataclass(frozen=True, slots=True)
class Edited:
    """A project file after a change: `changes` has a line each, and none when there was nothing to change."""

    path: Path
    changes: tuple[str, ...]
    text: str = ""


def init(options: Options, *, dry_run: bool = False) -> Edited:
    """`etfetch init`: look at the project and write the `etfetch.toml` it seems to need."""
    project = config.find_project(replace(options, project=options.project or "."))
    if project.file is not None:
        raise ConfigError(
            f"`{project.file.path.name}` already holds a request",
            data=[str(project.file.path)],
            hint="change it with `etfetch add NAME` and `etfetch remove NAME`",
        )
    proposal = projects.proposal(project.folder, config.this_platform())
    with open_workspace(replace(options, project=str(project.folder))) as workspace:
        manifest = _newest_for(workspace, proposal)
    models = [name for name, _ in modelfile.search(project.folder, ["**/*.pte"]).files]
    lists = {"platforms": proposal.platforms, **_wanted(manifest, proposal, models)}
    text = edit.new_file(manifest.package, manifest.version, lists)
    path = project.folder / projects.TOML
    if not dry_run:
        installer.write_text(path, text)
    found = [proposal.found] if proposal.found else []
    found += [f"models: {', '.join(models)}"] if models else []
    return Edited(path, tuple(f"found {one}" for one in found or ["nothing that says more"]), text)


def _wanted(manifest: Manifest, proposal: Proposal, models: Sequence[str]) -> dict[str, Sequence[str]]:
    """What the models need, by a pattern for each folder that has some; without models a first guess."""
    if models:
        folders = sorted({name.partition("/")[0] if "/" in name else "" for name in models})
        return {"models": [f"{modelpaths.literal(one)}/**/*.pte" if one else "*.pte" for one in folders]}
    kernels = [name for name in _PLATFORM_KERNELS if manifest.named(name, "kernels")]
    return {"backends": proposal.backends, **({"kernels": kernels} if kernels else {})}


def add(options: Options, names: Sequence[str]) -> Edited:
    """`etfetch add NAME…`: put components into the project file, if the request still has an answer."""
    with open_workspace(options) as workspace:
        file, request = _editable(workspace)
        catalogue = workspace.catalogue(request.package)
        models = locking.models_of(workspace, request, workspace.read_lock())
    manifest, _ = choose_release(catalogue, request.package, request.version)
    changes, lists = [], request.names
    for name in names:
        key, written = _place_of(manifest, name)
        if written in lists[key]:
            continue
        lists[key] = (*lists[key], written)
        changes.append(f"{key}: + {written}")
    resolve.resolve(request.with_names(lists), catalogue, file.origin, models.all)
    return _write(file, request, lists, changes)


def remove(options: Options, names: Sequence[str]) -> Edited:
    """`etfetch remove NAME…`: take components out of the project file, under whichever name they stand."""
    with open_workspace(options) as workspace:
        file, request = _editable(workspace)
        catalogue = workspace.catalogue(request.package)
    manifest, _ = choose_release(catalogue, request.package, request.version)
    changes, lists = [], request.names
    for name in names:
        spellings = _spellings(manifest, name)
        hits = [(key, word) for key in NAMED for word in lists[key] if word.lower() in spellings]
        if not hits:
            asked = [word for words in lists.values() for word in words]
            raise UsageError(
                f"`{file.path.name}` does not ask for `{name}`{did_you_mean(name, asked)}",
                data=[f"it asks for {', '.join(sorted(asked)) or 'nothing'}"],
                hint=f"run `etfetch why {name}` to see what brings it in",
            )
        for key, word in hits:
            lists[key] = tuple(other for other in lists[key] if other != word)
            changes.append(f"{key}: - {word}")
    return _write(file, request, lists, changes)


def _editable(workspace: Workspace) -> tuple[ProjectFile, Request]:
    file = workspace.project.file
    if file is None:
        raise ConfigError(
            "there is no project file to change",
            data=[f"looked in {workspace.project.folder} and the folders above it"],
            hint="run `etfetch init` first",
        )
    if workspace.project.library is not None:
        chosen = workspace.project.home / projects.PACKAGE_JSON
        raise ConfigError(
            "an app chooses what is installed of a library, and this command does not change apps",
            data=[str(chosen)],
            hint=f"change `{workspace.project.library.key}` there, then run `etfetch install`",
        )
    return file, config.request_of(workspace.project, workspace.options, None)


def _place_of(manifest: Manifest, name: str) -> tuple[str, str]:
    """The key that a name belongs under, and the word to write there."""
    found = manifest.named(name)
    if len(found) > 1:
        meant = " or ".join(f"`{c.name}`" for c in found)
        raise UsageError(f"`{name}` may mean {meant}", hint="write the full name")
    if found:
        component = found[0]
        key = _KEY_OF_KIND.get(component.kind, "extras")
        return key, component.short if key != "extras" else component.name
    if any(feature.name == name for feature in manifest.features):
        return "features", name
    known = [n for c in manifest.components for n in c.names]
    known += [feature.name for feature in manifest.features]
    raise UsageError(
        f"{manifest.package} {manifest.version} has nothing called `{name}`{did_you_mean(name, known)}",
        data=[f"{kind}: {names}" for kind, names in _by_kind(manifest.components)],
    )


def _by_kind(components: Sequence[Component]) -> list[tuple[str, str]]:
    groups: dict[str, list[str]] = {}
    for component in components:
        groups.setdefault(component.kind, []).append(component.short)
    return [(kind, ", ".join(sorted(shorts))) for kind, shorts in groups.items()]


def _spellings(manifest: Manifest, name: str) -> set[str]:
    """Every word under which a request may hold a component: `optimized` and `kernels_optimized`."""
    found = manifest.named(name)
    return {name.lower(), *(word.lower() for component in found for word in component.names)}


def _write(
    file: ProjectFile, request: Request, lists: dict[str, tuple[str, ...]], changes: Sequence[str]
) -> Edited:
    changed = {key: values for key, values in lists.items() if values != getattr(request, key)}
    if not changed:
        return Edited(file.path, ())
    if file.path.name == projects.PACKAGE_JSON:
        text = edit.with_json_names(file.text, changed)
    else:
        keys = ("tool", "etfetch") if file.path.name == projects.PYPROJECT else ()
        text = edit.with_names(file.text, keys, changed)
    installer.write_text(file.path, text)
    return Edited(file.path, tuple(changes), text)


def _newest_for(workspace: Workspace, proposal: Proposal) -> Manifest:
    """The newest release that has every proposed platform."""
    catalogue = workspace.catalogue(proposal.package)
    for version in catalogue.versions(proposal.package):
        manifest = catalogue.manifest(proposal.package, version)
        if not manifest.prerelease and set(proposal.platforms) <= set(manifest.platforms):
            return manifest
    raise ConfigError(
        f"no release of {proposal.package} is there for {', '.join(proposal.platforms)} together",
        hint="write an `etfetch.toml` with fewer `platforms`",
    )
