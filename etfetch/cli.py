"""The command line: words in, an operation, words or data out, an exit code.

Each command imports what it runs: an install from a full cache never loads the editor of project files.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import __version__, lockfile, uptodate
from etfetch.config import Options, settings_of
from etfetch.console import Console, counted, size
from etfetch.errors import EtfetchError, FilesystemError, NetworkError, UsageError, did_you_mean
from etfetch.platforms import ALL, PLATFORMS, VARIANTS
from etfetch.request import LINK_MODES

if TYPE_CHECKING:
    from etfetch.operations.caring import Finding
    from etfetch.operations.editing import Edited
    from etfetch.operations.installing import Report

_EPILOG = """\
A project says what it wants in `etfetch.toml`, under `[tool.etfetch]` in `pyproject.toml`, or under
"etfetch" in `package.json`.

Environment (each flag that has a variable names it in its command's help):
  ETFETCH_SKIP_DOWNLOAD, ETFETCH_OFFLINE, ETFETCH_BASE_URL, ETFETCH_MIRRORS, ETFETCH_BLOCK_ORIGIN,
  ETFETCH_TOKEN, GITHUB_TOKEN, NETRC, ETFETCH_CONFIG, ETFETCH_CACHE_DIR, ETFETCH_LINK_MODE, ETFETCH_JOBS,
  ETFETCH_PLATFORMS, ETFETCH_LOCK_TIMEOUT, ETFETCH_CONNECT_TIMEOUT, ETFETCH_READ_TIMEOUT, ETFETCH_RETRIES,
  HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, NO_COLOR, CI

Exit codes:
  0 done, 2 usage or configuration, 3 lock out of date, 4 wrong bytes, 5 network, 6 offline or origin
  blocked and something missing, 7 cannot be satisfied, 9 another process held the lock, 10 the tree
  differs from the lock, 130 interrupted
"""

_INVALID_CHOICE = re.compile(
    r"argument (?P<what>\S+): invalid choice: '(?P<word>.*)' \(choose from (?P<known>.*)\)"
)

_HIGHEST_PORT = 65535
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

Command = Callable[[argparse.Namespace, Options, Console], int]


class _Parser(argparse.ArgumentParser):
    """argparse, with etfetch's way of failing."""

    def error(self, message: str) -> None:  # type: ignore[override]  # it does not return either
        choice = _INVALID_CHOICE.fullmatch(message)
        if choice:
            word, known = choice["word"], re.findall(r"[\w-]+", choice["known"])
            message = f"{choice['what']}: `{word}` is not one of them{did_you_mean(word, known)}"
            raise UsageError(message, data=[", ".join(known)], hint=f"run `{self.prog} --help`")
        raise UsageError(message, hint=f"run `{self.prog} --help`")


def main(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; every failure is printed here and nowhere else."""
    speaker = Console(as_json="--json" in arguments, color=not os.environ.get("NO_COLOR"))
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        parsed = parser().parse_args(arguments)
        speaker = _console(parsed)
        command: Command = parsed.command
        return command(parsed, _options(parsed), speaker)
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
    for notice in report.notices:
        speaker.say(f"note: {notice}")
    for name in report.missing:
        speaker.warn(f"`{name}` is not in the cache and was not downloaded")
    name = f"{report.lock.request.package} {report.lock.release}"
    if report.wrote_lock:
        speaker.say(f"wrote `{lockfile.NAME}`")
    if report.dry_run:
        _tell_plan(report, speaker)
    elif report.status == "unchanged":
        speaker.say(uptodate.nothing_to_do(name, str(report.destination), report.unchanged))
    else:
        _tell_files(report, name, speaker)
    for obtained in report.artifacts:
        speaker.detail(f"{obtained.name}: {obtained.origin}, sha256 {obtained.sha256}")


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

    speaker.data(shtab.complete(parser(), shell=parsed.shell))
    return 0


# The words


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root = _Parser(
        prog="etfetch",
        description="Install ExecuTorch's prebuilt native libraries, exactly and reproducibly.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"etfetch {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _command(
        commands,
        "install",
        _install,
        "lock if need be, then make the tree match the lock",
        _install_arguments,
    )
    _command(commands, "lock", _lock, "write etfetch.lock without installing", _lock_arguments)
    _add_project_commands(commands)
    _add_cache(commands)
    _add_mirror(commands)
    _add_bundle(commands)
    doctor = _command(commands, "doctor", _doctor, "say what etfetch sees of this machine and project")
    doctor.add_argument(
        "--network", action="store_true", help="also ask each host that an allow-list needs (exit 5)"
    )
    _base_url_flag(doctor)
    _json_flag(doctor)
    completion = _command(commands, "completion", _completion, "print a shell's completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish"))
    return root


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    command: Command,
    text: str,
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> argparse.ArgumentParser:
    """A command's parser: its own arguments first, then those that every command takes."""
    made = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    made.set_defaults(command=command)
    add_arguments(made)
    group = made.add_argument_group("everywhere")
    group.add_argument(
        "--project",
        metavar="DIR",
        help="the folder of the project file (default: found from here upwards)",
    )
    group.add_argument("--cache-dir", metavar="DIR", help="the cache [ETFETCH_CACHE_DIR]")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="say only warnings and errors")
    loudness.add_argument("-v", "--verbose", action="store_true", help="say more")
    return made


def _base_url_flag(command: argparse._ActionsContainer) -> None:
    command.add_argument(
        "--base-url", metavar="URL", help="a mirror that is asked first [ETFETCH_BASE_URL, ETFETCH_MIRRORS]"
    )


def _json_flag(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def _add_request(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("what")
    group.add_argument(
        "requirement",
        nargs="?",
        metavar="REQUIREMENT",
        help="without a project file: `executorch[xnnpack,optimized]==1.5.1`",
    )
    group.add_argument(
        "--platform",
        action="append",
        metavar="P",
        help=f"build for P, again for more: {', '.join(PLATFORMS)}; `{ALL}` also installs what this host "
        "cannot build [ETFETCH_PLATFORMS]",
    )
    group.add_argument("--feature", action="append", metavar="F", help="a bundle of components")
    group.add_argument("--variant", choices=VARIANTS, help="debug keeps the logs of Apple's frameworks")


def _install_arguments(command: argparse.ArgumentParser) -> None:
    _add_request(command)
    group = command.add_argument_group("how")
    strictness = group.add_mutually_exclusive_group()
    strictness.add_argument("--locked", action="store_true", help="fail if the lock is out of date")
    strictness.add_argument("--frozen", action="store_true", help="use the lock as it is")
    group.add_argument("--offline", action="store_true", help="use the cache only [ETFETCH_OFFLINE]")
    group.add_argument("--dry-run", action="store_true", help="say what would be done")
    group.add_argument("--force", action="store_true", help="replace files that were changed")
    group.add_argument("--destination", metavar="DIR", help="install into DIR")
    group.add_argument(
        "--link-mode",
        choices=LINK_MODES,
        help="how files leave the cache (default: clone, else copy) [ETFETCH_LINK_MODE]",
    )
    group.add_argument("--jobs", type=_positive, metavar="N", help="downloads at once [ETFETCH_JOBS]")
    _base_url_flag(group)
    _json_flag(command)


def _lock_arguments(command: argparse.ArgumentParser) -> None:
    _add_request(command)
    command.add_argument("--check", action="store_true", help="only say whether it is up to date (exit 3)")
    command.add_argument(
        "--upgrade", action="store_true", help="take the newest release that the request admits"
    )
    command.add_argument("--offline", action="store_true", help="ask no server [ETFETCH_OFFLINE]")
    _base_url_flag(command)


def _add_project_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    for name, command, text in (
        ("add", _add, "put components into the project file"),
        ("remove", _remove, "take components out of the project file"),
    ):
        made = _command(commands, name, command, text)
        made.add_argument("names", nargs="+", metavar="NAME", help="a component or a feature")
    _json_flag(_command(commands, "list", _list, "list what is locked and installed"))
    verify = _command(commands, "verify", _verify, "compare the installed files with the lock")
    verify.add_argument("--deep", action="store_true", help="by digest, not by size and time")
    verify.add_argument("--destination", metavar="DIR", help="the installed tree, if not the project's")
    why = _command(commands, "why", _why, "say what brought a component in, or why it is not there")
    why.add_argument("name", metavar="NAME", help="a component, a release or an archive")
    _json_flag(_command(commands, "outdated", _outdated, "compare the lock with the newest release"))
    init = _command(commands, "init", _init, "look at the project and write an etfetch.toml")
    init.add_argument("--dry-run", action="store_true", help="only print it")


def _add_cache(commands: argparse._SubParsersAction[_Parser]) -> None:
    cache = commands.add_parser("cache", help="look after the cache", description="Look after the cache.")
    actions = cache.add_subparsers(title="actions", metavar="ACTION", required=True)
    _command(actions, "dir", _cache_dir, "print where the cache is")
    _json_flag(_command(actions, "info", _cache_info, "say what the cache holds"))
    prune = _command(actions, "prune", _cache_prune, "remove what can be made again, or what the limits say")
    prune.add_argument(
        "--keep-lock",
        action="append",
        metavar="FILE",
        help="what this lock needs stays, again for more; without a limit everything else goes",
    )
    prune.add_argument(
        "--older-than", type=_age, metavar="AGE", help="what was not used for `30d` (s, m, h, d, w)"
    )
    prune.add_argument("--max-size", type=_bytes, metavar="SIZE", help="the least used, until `5GB` are left")
    prune.add_argument("--ci", action="store_true", help="all but the archives that the project's lock needs")
    _command(
        actions, "key", _cache_key, "print a key for a CI cache: it changes with what the lock needs here"
    )
    _command(actions, "verify", _cache_verify, "hash everything and set aside what is damaged")
    _command(actions, "clean", _cache_clean, "remove everything")


def _add_mirror(commands: argparse._SubParsersAction[_Parser]) -> None:
    mirror = commands.add_parser(
        "mirror", help="make and check a mirror", description="Make and check a mirror."
    )
    actions = mirror.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _command(
        actions, "create", _mirror_create, "put releases into a folder that any web server serves"
    )
    create.add_argument("folder", metavar="DIR", help="the mirror; what is there stays")
    create.add_argument(
        "releases",
        nargs="*",
        metavar="RELEASE",
        help="every version that this admits: `executorch>=1.4`, `react-native-executorch`",
    )
    create.add_argument(
        "--lock", nargs="?", const="", metavar="FILE", help="what a lock needs (default: the project's)"
    )
    create.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    create.add_argument("--variant", choices=VARIANTS, help="only this variant")
    create.add_argument("--jobs", type=_positive, metavar="N", help="downloads at once [ETFETCH_JOBS]")
    _base_url_flag(create)
    _json_flag(create)
    verify = _command(
        actions, "verify", _mirror_verify, "read every file of a mirror and compare the digests"
    )
    verify.add_argument("folder", metavar="DIR")
    serve = _command(commands, "serve", _serve, "serve a mirror on this machine, for development")
    serve.add_argument("folder", metavar="DIR")
    serve.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="default: 8000; 0 takes a free one"
    )
    serve.add_argument(
        "--host", default="127.0.0.1", help="default: 127.0.0.1, so that only this machine sees it"
    )
    urls = _command(commands, "urls", _urls, "print where what the lock needs is, for other download tools")
    urls.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    _base_url_flag(urls)
    _json_flag(urls)


def _add_bundle(commands: argparse._SubParsersAction[_Parser]) -> None:
    bundle = commands.add_parser(
        "bundle", help="carry archives over an air gap", description="Carry archives over an air gap."
    )
    actions = bundle.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _command(actions, "create", _bundle_create, "put every archive of the lock into one file")
    create.add_argument("file", metavar="FILE")
    create.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    create.add_argument("--offline", action="store_true", help="from the cache only [ETFETCH_OFFLINE]")
    _base_url_flag(create)
    restore = _command(actions, "restore", _bundle_restore, "put a bundle's archives into the cache")
    restore.add_argument("file", metavar="FILE")


def _age(text: str) -> float:
    """`30d`, `12h`: seconds."""
    found = re.fullmatch(r"(\d+)([smhdw])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"`{text}` is not an age: write `30d`, `12h` or `2w`")
    return int(found[1]) * _SECONDS[found[2]]


def _bytes(text: str) -> int:
    """`5GB`, `512MiB`, `0`: bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)(i?)[bB]?", text)
    if not found or (found[3] and not found[2]):
        raise argparse.ArgumentTypeError(f"`{text}` is not a size: write `5GB` or `512MiB`")
    power = "KMGT".find(found[2].upper() or "x") + 1
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"`{text}` is not a port")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return int(text)
