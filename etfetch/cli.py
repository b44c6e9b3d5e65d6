"""The command line: words in, an operation, words or data out, an exit code.

Each command imports what it runs: an install from a full cache never loads the editor of project files.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import arguments, lockfile, uptodate
from etfetch.config import Options, settings_of
from etfetch.console import Console, counted
from etfetch.errors import EtfetchError, FilesystemError, NetworkError
from etfetch.sizes import size

if TYPE_CHECKING:
    from etfetch.operations.caring import Finding
    from etfetch.operations.checking import Checked, Lowering
    from etfetch.operations.editing import Edited
    from etfetch.operations.installing import Report
    from etfetch.program import Model
    from etfetch.verdicts import Verdict


_FEW = 3
"""As many names as a table lists of one giver; more are counted."""

WOULD_FAIL = 11
"""The exit code of a check that found what would fail at run time."""

Command = Callable[[argparse.Namespace, Options, Console], int]


def main(words: Sequence[str]) -> int:
    """Run one command and give its exit code; every failure is printed here and nowhere else."""
    speaker = Console(as_json="--json" in words, color=not os.environ.get("NO_COLOR"))
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        parsed = arguments.parser().parse_args(words)
        speaker = _console(parsed)
        code = _COMMANDS[parsed.command](parsed, _options(parsed), speaker)
        # Here a closed pipe is no error; at the interpreter's end it would be one.
        sys.stdout.flush()
    except EtfetchError as error:
        speaker.fail(error)
        return error.code
    except BrokenPipeError:
        # `etfetch list | head`: whoever read has had enough. Nothing more may be written, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        failure = _filesystem_error(error)
        speaker.fail(failure)
        return failure.code
    except KeyboardInterrupt:
        speaker.warn("interrupted; nothing is half-done: the next run goes on from here")
        return 130
    except Exception:  # noqa: BLE001  # the last one: whatever gets here is a fault to be reported
        speaker.warn("this is a fault in etfetch; please report it with what follows")
        import traceback

        traceback.print_exc()
        return 1
    else:
        return code


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _filesystem_error(error: OSError) -> FilesystemError:
    places = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return FilesystemError(
        f"the file system refused: {error.strerror or error}",
        data=places,
        hint="check space and permissions there, then run the command again",
    )


def _console(parsed: argparse.Namespace) -> Console:
    return Console(
        verbosity=-1 if parsed.quiet else 1 if parsed.verbose else 0,
        color=not os.environ.get("NO_COLOR"),
        as_json=getattr(parsed, "json", False),
    )


def _options(parsed: argparse.Namespace) -> Options:
    get = vars(parsed).get
    return Options(
        project=get("project"),
        requirement=get("requirement"),
        platforms=tuple(get("platform") or ()),
        features=tuple(get("feature") or ()),
        models=tuple(get("model") or ()),
        variant=get("variant"),
        destination=get("destination"),
        cache_dir=get("cache_dir"),
        offline=bool(get("offline")),
        jobs=get("jobs"),
        link_mode=get("link_mode"),
        base_url=get("base_url"),
    )


# Commands


def _install(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import installing

    mode = installing.Mode(parsed.locked, parsed.frozen, parsed.dry_run, parsed.force)
    with speaker.progress() as progress:
        report = installing.run(options, mode, progress)
    if speaker.as_json:
        speaker.json(_install_json(report))
    else:
        _tell_install(report, speaker)
    return 0


def _install_json(report: Report) -> dict[str, object]:
    return {
        "status": report.status,
        "package": report.lock.request.package,
        "version": report.lock.release,
        "platforms": list(report.platforms),
        "artifacts": [
            {"name": a.name, "sha256": a.sha256, "size": a.size, "from": a.origin} for a in report.artifacts
        ],
        "files": {
            "written": report.written,
            "removed": report.removed,
            "unchanged": report.unchanged,
        },
        "missing": list(report.missing),
        "notices": list(report.notices),
        **({"dry_run": True} if report.dry_run else {}),
    }


def _tell_install(report: Report, speaker: Console) -> None:
    if report.project_file is not None:
        speaker.detail(f"using `{os.path.relpath(report.project_file)}`")
    if report.choices is not None:
        speaker.say(_chosen(report.choices))
    for notice in report.notices:
        speaker.say(f"note: {notice}")
    for name in report.missing:
        speaker.warn(f"`{name}` is not in the cache and was not downloaded")
    name = f"{report.lock.request.package} {report.lock.release}"
    if report.wrote_lock:
        speaker.say(f"wrote `{report.lock_name}`")
    if report.dry_run:
        _tell_plan(report, speaker)
    elif report.status == "unchanged":
        speaker.say(uptodate.nothing_to_do(name, str(report.destination), report.unchanged))
    else:
        _tell_files(report, name, speaker)
    for obtained in report.artifacts:
        speaker.detail(f"{obtained.name}: {obtained.origin}, sha256 {obtained.sha256}")


def _chosen(files: Sequence[Path]) -> str:
    """Which app's words count: in a workspace not always those of the file that was edited."""
    if not files:
        return "no app says what it needs of this library: everything is installed"
    return f"choices from {' and '.join(f'`{os.path.relpath(path)}`' for path in files)}"


def _tell_plan(report: Report, speaker: Console) -> None:
    todo = report.plan
    for artifact in todo.fetch:
        speaker.data(f"fetch   {artifact.name} ({size(artifact.size)})")
    for planned in todo.install:
        speaker.data(f"install {planned.part.component} ({', '.join(planned.part.platforms)})")
    for gone in todo.remove:
        speaker.data(f"remove  {gone.component} ({', '.join(gone.platforms)})")
    if todo.nothing:
        speaker.say("nothing to do")


def _tell_files(report: Report, name: str, speaker: Console) -> None:
    verb = "installed" if report.status == "installed" else "skipped downloads for"
    where = f" for {', '.join(report.platforms)}" if report.platforms else ""
    speaker.say(f"{verb} {name}{where} in `{os.path.relpath(report.destination)}`")
    components = sorted({p.part.component for p in (*report.plan.install, *report.plan.keep)})
    if components:
        speaker.say(f"  {', '.join(components)}")
    speaker.say(
        f"  {counted(report.written, 'file')} written, {report.removed} removed, {report.unchanged} unchanged"
    )


def _lock(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import locking

    if parsed.check:
        lock = locking.check(options)
        speaker.say(f"`{lockfile.NAME}` is up to date: {lock.request.package} {lock.release}")
        return 0
    answer = locking.lock(options, upgrade=parsed.upgrade)
    for notice in answer.notices:
        speaker.say(f"note: {notice}")
    request, lock = answer.lock.request, answer.lock
    state = "wrote" if answer.changed else "unchanged:"
    speaker.say(
        f"{state} `{lockfile.NAME}`: {request.package} {lock.release} for {', '.join(request.platforms)}, "
        f"{counted(len(lock.artifacts), 'artifact')}"
    )
    return 0


def _list(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import reporting

    rows = reporting.listing(options)
    if speaker.as_json:
        speaker.json([asdict(row) for row in rows])
        return 0
    speaker.table(
        ("component", "version", "platform", "size", "sha256"),
        [
            (
                row.component,
                row.version,
                row.platform,
                row.note or size(row.size),
                (row.sha256 or "")[:16],
            )
            for row in rows
        ],
    )
    return 0


def _verify(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import reporting

    number = reporting.verify(options, deep=parsed.deep)
    how = "digest" if parsed.deep else "size and time"
    speaker.say(f"{counted(number, 'file')} verified by {how}")
    return 0


def _why(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import reporting

    for line in reporting.why(options, parsed.name).lines:
        speaker.data(line)
    return 0


def _outdated(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import reporting

    found = reporting.outdated(options)
    if speaker.as_json:
        speaker.json({**asdict(found), "newer": found.newer})
        return 0
    speaker.table(
        ("package", "locked", "wanted", "latest"),
        [(found.package, found.locked, found.wanted, found.latest)],
    )
    if found.newer:
        speaker.say("hint: change `version` if need be, then run `etfetch lock --upgrade`")
    return 0


def _generate(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import generating

    folder, files = generating.run(options, parsed.names, remote=parsed.remote)
    for file in files:
        speaker.say(f"generated `{os.path.relpath(folder / file.path)}`")
    return 0


def _inspect(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import inspecting

    found = inspecting.run(parsed.models)
    if speaker.as_json:
        speaker.json({"models": [_model_json(path, model) for path, model in found]})
        return 0
    for path, model in found:
        _tell_model(path, model, speaker)
    return 0


def _model_json(path: str, model: Model) -> dict[str, object]:
    return {
        "path": path,
        "format": model.format,
        "schema_version": model.schema_version,
        "external_data": bool(model.external),
        "external_keys": list(model.external),
        "named_data": list(model.named_data),
        "methods": {
            method.name: {
                "operators": [name for name, _ in method.operators],
                "delegates": [asdict(delegate) for delegate in method.delegates],
            }
            for method in model.methods
        },
    }


def _tell_model(path: str, model: Model, speaker: Console) -> None:
    holds = (
        counted(len(model.methods), "method") if model.methods else f"{len(model.named_data)} keys of data"
    )
    speaker.say(f"`{path}`: {model.format}, schema version {model.schema_version}, {holds}")
    rows = [
        row
        for method in model.methods
        for row in (
            *((method.name, "delegate", d.id, str(d.calls), size(d.size)) for d in method.delegates),
            *((method.name, "operator", name, str(calls), "") for name, calls in method.operators),
        )
    ]
    rows += [("", "data", key, "", "") for key in (model.named_data if not model.methods else ())]
    speaker.table(("method", "needs" if model.methods else "holds", "name", "calls", "size"), rows)
    if model.external:
        speaker.say("note: its weights stand in another file, a `.ptd` with these keys:")
        for key in model.external:
            speaker.say(f"  {key}")


def _check(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import checking

    if parsed.backend:
        return _check_lowering(checking.lowering(options, parsed.models), speaker)
    checked = checking.run(options, parsed.models)
    failing = [verdict for verdict in checked.verdicts if not verdict.runs]
    if speaker.as_json:
        speaker.json({"verdicts": [_verdict_json(verdict) for verdict in checked.verdicts]})
    else:
        _tell_verdicts(checked, failing, speaker)
    return WOULD_FAIL if failing else 0


def _check_lowering(found: Sequence[Lowering], speaker: Console) -> int:
    from etfetch import metal

    fails = any(answer.state == metal.FAILS for one in found for answer in one.answers)
    if speaker.as_json:
        speaker.json({"backend": "metal", "graphs": [asdict(one) for one in found]})
        return WOULD_FAIL if fails else 0
    for one in found:
        speaker.say(f"`{one.model}` for Metal, by the list of ExecuTorch {one.version}:")
        rows = [(answer.operator, str(answer.calls), answer.state, answer.why) for answer in one.answers]
        speaker.table(("operator", "calls", "state", "why"), rows)
    if fails:
        speaker.say("the export fails with `missing fallback kernels` for what is known to fail")
        speaker.say("hint: lower to `coreml`, `mps` or (on macOS) `mlx`, or leave these operators to the CPU")
    else:
        speaker.say("nothing is known to fail; what is not known shows when it is exported")
    return WOULD_FAIL if fails else 0


def _verdict_json(verdict: Verdict) -> dict[str, object]:
    return {
        "model": verdict.model,
        "platform": verdict.platform,
        "method": verdict.method,
        "runs": verdict.runs,
        "given_by": {giver: list(names) for giver, names in verdict.given},
        "missing_delegates": list(verdict.missing_delegates),
        "missing_operators": list(verdict.missing_operators),
        "error": verdict.error,
        "fix": verdict.fix,
    }


def _tell_verdicts(checked: Checked, failing: Sequence[Verdict], speaker: Console) -> None:
    from etfetch import runtime_errors

    for model in dict.fromkeys(verdict.model for verdict in checked.verdicts):
        speaker.data(model)
        rows = [
            row for verdict in checked.verdicts if verdict.model == model for row in _verdict_rows(verdict)
        ]
        speaker.table(("platform", "method", "verdict", "needs", "given by"), rows)
    for path, keys in checked.data.items():
        speaker.say(f"note: `{path}` needs a `.ptd` beside it; it has to hold {counted(len(keys), 'key')}:")
        for key in keys:
            speaker.say(f"  {key}")
    if not checked.judged:
        speaker.say(f"note: nobody has listed the operators of {checked.release}: only backends are judged")
    if not failing:
        speaker.say(f"everything runs with {checked.release} as it is locked")
        return
    for error in dict.fromkeys(v.error for v in failing if v.error):
        found = runtime_errors.find(error)
        speaker.say(f"{found.hexadecimal} {found.name}: {found.meaning}")
    lacking: dict[tuple[str, str | None], list[str]] = {}
    for platform, name, elsewhere in checked.hopeless:
        lacking.setdefault((platform, elsewhere), []).append(f"`{name}`")
    for (platform, elsewhere), names in lacking.items():
        more = f"; {elsewhere}" if elsewhere else ""
        speaker.say(f"  nothing of {checked.release} gives {', '.join(names)} on {platform}{more}")
    add = dict.fromkeys(name for verdict in failing for name in verdict.add)
    if add:
        speaker.say(f"hint: run `etfetch add {' '.join(add)}`, then `etfetch install`")
    elif checked.hopeless:
        speaker.say(
            "hint: what the app registers itself stands in `provided-operators` or `provided-delegates`; "
            "else export for another backend, or judge fewer platforms with `--platform`"
        )


def _verdict_rows(verdict: Verdict) -> list[tuple[str, ...]]:
    """A verdict with a line for each need, the missing ones first; many of one giver share a line."""
    from etfetch.verdicts import KNOWN_SCHEMA

    needs = [(name, "nothing") for name in (*verdict.missing_delegates, *verdict.missing_operators)]
    if verdict.schema_version != KNOWN_SCHEMA:
        needs.insert(0, (f"schema version {verdict.schema_version}", f"no runtime: they read {KNOWN_SCHEMA}"))
    needs += [(name, "the app and a locked library") for name in verdict.twice]
    for giver, names in verdict.given:
        shown = names if len(names) <= _FEW else [counted(len(names), "operator")]
        needs += [(name, giver) for name in shown]
    first, *more = needs or [("", "")]
    said = "runs" if verdict.runs else f"FAILS {verdict.error}"
    return [(verdict.platform, verdict.method, said, *first), *(("", "", "", *need) for need in more)]


def _explain(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch import runtime_errors

    found = runtime_errors.find(parsed.error)
    speaker.data(f"{found.hexadecimal} ({found.code}) {found.name}")
    speaker.data(f"  {found.meaning}")
    if found.printed:
        speaker.data(f"  the runtime prints: {found.printed}")
    if found.command:
        speaker.say(f"hint: run `{found.command}`")
    return 0


def _init(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import editing

    edited = editing.init(options, dry_run=parsed.dry_run)
    for line in edited.changes:
        speaker.say(line)
    speaker.data(edited.text.rstrip())
    if not parsed.dry_run:
        speaker.say(f"wrote `{os.path.relpath(edited.path)}`")
        speaker.say("hint: run `etfetch install`")
    return 0


def _add(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import editing

    return _tell_edit(editing.add(options, parsed.names), speaker)


def _remove(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import editing

    return _tell_edit(editing.remove(options, parsed.names), speaker)


def _tell_edit(edited: Edited, speaker: Console) -> int:
    if not edited.changes:
        speaker.say(f"nothing to change in `{os.path.relpath(edited.path)}`")
        return 0
    speaker.say(f"changed `{os.path.relpath(edited.path)}`")
    for line in edited.changes:
        speaker.say(f"  {line}")
    speaker.say("hint: run `etfetch install`")
    return 0


def _doctor(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    findings = caring.doctor(options)
    network = _reached(options) if parsed.network else []
    if speaker.as_json:
        speaker.json([asdict(finding) for finding in (*findings, *network)])
    else:
        rows = [("ok" if f.ok else "PROBLEM", f.label, f.detail) for f in (*findings, *network)]
        speaker.table(("", "what", "found"), rows)
    if not all(finding.ok for finding in findings):
        return 2
    return 0 if all(finding.ok for finding in network) else NetworkError.code


def _reached(options: Options) -> list[Finding]:
    from etfetch.operations import caring, reaching

    return [
        caring.Finding(f"host {one.host}", f"{one.purpose}: {one.answer}", one.ok)
        for one in reaching.hosts(options)
    ]


def _cache_dir(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    speaker.data(str(settings_of(options).cache_dir))
    return 0


def _cache_info(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    cache = caring.open_cache(options)
    usage = cache.usage()
    if speaker.as_json:
        kinds = {kind: asdict(found) for kind, found in usage.items()}
        speaker.json({"path": str(cache.root), **kinds})
        return 0
    speaker.say(str(cache.root))
    rows = [(kind, str(found.entries), size(found.bytes)) for kind, found in usage.items()]
    speaker.table(("what", "entries", "size"), rows)
    return 0


def _cache_verify(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    usage = caring.verify_cache(options)
    speaker.say(
        f"{counted(usage['blobs'].entries, 'archive')} and {counted(usage['trees'].entries, 'tree')} "
        "verified by digest"
    )
    return 0


def _cache_prune(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    limits = caring.Limits(tuple(parsed.keep_lock or ()), parsed.older_than, parsed.max_size, parsed.ci)
    removed = caring.prune_cache(options, limits)
    what = "old or damaged " if limits == caring.Limits() else ""
    entries = counted(removed.entries, f"{what}entry", f"{what}entries")
    speaker.say(f"removed {entries}, {size(removed.bytes)}")
    return 0


def _cache_key(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    speaker.data(caring.cache_key(options))
    return 0


def _cache_clean(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import caring

    removed = caring.open_cache(options).clean()
    speaker.say(f"removed everything: {size(removed.bytes)}")
    return 0


def _bundle_create(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import bundling

    with speaker.progress() as progress:
        made = bundling.create(options, Path(parsed.file), progress)
    speaker.say(f"bundled {counted(made.archives, 'archive')} in `{made.path}` ({size(made.size)})")
    speaker.say(f"hint: there, run `etfetch bundle restore {made.path.name}` and `etfetch install --offline`")
    return 0


def _bundle_restore(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import bundling

    found = bundling.restore(options, Path(parsed.file))
    speaker.say(f"restored {counted(found.archives, 'archive')} into the cache, each verified by digest")
    speaker.say("hint: run `etfetch install --offline`")
    return 0


def _mirror_create(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import mirroring

    folder = Path(parsed.folder)
    with speaker.progress() as progress:
        made = mirroring.create(options, folder, parsed.releases, parsed.lock, progress)
    if speaker.as_json:
        speaker.json({**asdict(made), "folder": str(made.folder)})
        return 0
    for release in made.releases:
        speaker.detail(release)
    speaker.say(
        f"mirrored {counted(len(made.releases), 'release')} in `{folder}`: "
        f"{counted(made.placed, 'archive')} added, {made.present} were there"
    )
    speaker.say(f"hint: try it with `etfetch serve {folder}`, or put the folder on any web server")
    return 0


def _mirror_verify(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import mirroring

    found = mirroring.verify(Path(parsed.folder))
    speaker.say(
        f"{counted(found.releases, 'release')} and {counted(found.archives, 'archive')} "
        f"({size(found.size)}) verified by digest"
    )
    return 0


def _serve(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch import server

    serving = server.serving(Path(parsed.folder), parsed.host, parsed.port, speaker.say)
    host, port = serving.server_address[:2]
    shown = f"[{host!s}]" if ":" in str(host) else str(host)
    with serving, suppress(KeyboardInterrupt):
        speaker.say(f"serving `{parsed.folder}` on http://{shown}:{port} (stop it with Ctrl-C)")
        speaker.say(f"hint: ETFETCH_BASE_URL=http://{shown}:{port} etfetch install")
        serving.serve_forever()
    return 0


def _urls(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    from etfetch.operations import mirroring

    needed = mirroring.urls(options)
    if speaker.as_json:
        speaker.json([asdict(one) for one in needed])
        return 0
    for one in needed:
        speaker.data(one.urls[0] if one.urls else f"# on no server that may be asked: {one.name}")
    return 0


def _completion(parsed: argparse.Namespace, options: Options, speaker: Console) -> int:
    import shtab

    speaker.data(shtab.complete(arguments.parser(), shell=parsed.shell))
    return 0


_COMMANDS: Mapping[str, Command] = {
    "add": _add,
    "bundle_create": _bundle_create,
    "bundle_restore": _bundle_restore,
    "cache_clean": _cache_clean,
    "cache_dir": _cache_dir,
    "cache_info": _cache_info,
    "cache_key": _cache_key,
    "cache_prune": _cache_prune,
    "cache_verify": _cache_verify,
    "check": _check,
    "completion": _completion,
    "doctor": _doctor,
    "explain": _explain,
    "generate": _generate,
    "init": _init,
    "inspect": _inspect,
    "install": _install,
    "list": _list,
    "lock": _lock,
    "mirror_create": _mirror_create,
    "mirror_verify": _mirror_verify,
    "outdated": _outdated,
    "remove": _remove,
    "serve": _serve,
    "urls": _urls,
    "verify": _verify,
    "why": _why,
}
