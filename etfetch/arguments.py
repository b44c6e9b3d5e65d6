"""The words of the command line: every command, its arguments and its help.

A command is named here and run by `cli`, which knows the name. What an argument may look like is checked
here; what it means is not known.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from etfetch import __version__
from etfetch.errors import UsageError, did_you_mean
from etfetch.generate import GENERATORS
from etfetch.platforms import ALL, PLATFORMS, VARIANTS
from etfetch.request import LINK_MODES

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
  differs from the lock, 11 a model would fail at run time, 130 interrupted
"""

_INVALID_CHOICE = re.compile(
    r"argument (?P<what>\S+): invalid choice: '(?P<word>.*)' \(choose from (?P<known>.*)\)"
)

_HIGHEST_PORT = 65535
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class _Parser(argparse.ArgumentParser):
    """argparse, with etfetch's way of failing."""

    def error(self, message: str) -> None:  # type: ignore[override]  # it does not return either
        choice = _INVALID_CHOICE.fullmatch(message)
        if choice:
            word, known = choice["word"], re.findall(r"[\w-]+", choice["known"])
            message = f"{choice['what']}: `{word}` is not one of them{did_you_mean(word, known)}"
            raise UsageError(message, data=[", ".join(known)], hint=f"run `{self.prog} --help`")
        raise UsageError(message, hint=f"run `{self.prog} --help`")


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
        "install",
        "lock if need be, then make the tree match the lock",
        _install_arguments,
    )
    _command(commands, "lock", "lock", "write etfetch.lock without installing", _lock_arguments)
    _add_project_commands(commands)
    _add_cache(commands)
    _add_mirror(commands)
    _add_bundle(commands)
    doctor = _command(commands, "doctor", "doctor", "say what etfetch sees of this machine and project")
    doctor.add_argument(
        "--network", action="store_true", help="also ask each host that an allow-list needs (exit 5)"
    )
    _base_url_flag(doctor)
    _json_flag(doctor)
    completion = _command(commands, "completion", "completion", "print a shell's completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish"))
    return root


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    command: str,
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
    group.add_argument(
        "--model", action="append", metavar="FILE", help="what this .pte needs, again for more models"
    )
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
        ("add", "add", "put components into the project file"),
        ("remove", "remove", "take components out of the project file"),
    ):
        made = _command(commands, name, command, text)
        made.add_argument("names", nargs="+", metavar="NAME", help="a component or a feature")
    _json_flag(_command(commands, "list", "list", "list what is locked and installed"))
    verify = _command(commands, "verify", "verify", "compare the installed files with the lock")
    verify.add_argument("--deep", action="store_true", help="by digest, not by size and time")
    verify.add_argument("--destination", metavar="DIR", help="the installed tree, if not the project's")
    why = _command(commands, "why", "why", "say what brought a component in, or why it is not there")
    why.add_argument("name", metavar="NAME", help="a component, a release or an archive")
    _json_flag(_command(commands, "outdated", "outdated", "compare the lock with the newest release"))
    generate = _command(commands, "generate", "generate", "write the build files that the project lists")
    generate.add_argument(
        "names", nargs="*", metavar="NAME", help=f"only these: {', '.join(GENERATORS)} (default: all listed)"
    )
    generate.add_argument(
        "--remote", action="store_true", help="SwiftPM's package downloads the archives: for publishing it"
    )
    inspect = _command(
        commands, "inspect", "inspect", "say what models need: operators, backends, other files"
    )
    inspect.add_argument("models", nargs="+", metavar="MODEL", help="a .pte, .bpte, .ptd or .pt2 file")
    _json_flag(inspect)
    check = _command(commands, "check", "check", "say whether models run with what is locked (exit 11)")
    check.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a .pte or .bpte file, and the .ptd it needs (default: the models that the project names)",
    )
    check.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    _json_flag(check)
    check.add_argument(
        "--backend",
        choices=("metal",),
        help="what is known of lowering a .pt2 to this backend, before the export",
    )
    explain = _command(commands, "explain", "explain", "say what an error of ExecuTorch's runtime means")
    explain.add_argument("error", metavar="ERROR", help="a code as the runtime prints it, or its name: 0x14")
    init = _command(commands, "init", "init", "look at the project and write an etfetch.toml")
    init.add_argument("--dry-run", action="store_true", help="only print it")


def _add_cache(commands: argparse._SubParsersAction[_Parser]) -> None:
    cache = commands.add_parser("cache", help="look after the cache", description="Look after the cache.")
    actions = cache.add_subparsers(title="actions", metavar="ACTION", required=True)
    _command(actions, "dir", "cache_dir", "print where the cache is")
    _json_flag(_command(actions, "info", "cache_info", "say what the cache holds"))
    prune = _command(actions, "prune", "cache_prune", "remove what can be made again, or what the limits say")
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
        actions, "key", "cache_key", "print a key for a CI cache: it changes with what the lock needs here"
    )
    _command(actions, "verify", "cache_verify", "hash everything and set aside what is damaged")
    _command(actions, "clean", "cache_clean", "remove everything")


def _add_mirror(commands: argparse._SubParsersAction[_Parser]) -> None:
    mirror = commands.add_parser(
        "mirror", help="make and check a mirror", description="Make and check a mirror."
    )
    actions = mirror.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _command(
        actions, "create", "mirror_create", "put releases into a folder that any web server serves"
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
        actions, "verify", "mirror_verify", "read every file of a mirror and compare the digests"
    )
    verify.add_argument("folder", metavar="DIR")
    serve = _command(commands, "serve", "serve", "serve a mirror on this machine, for development")
    serve.add_argument("folder", metavar="DIR")
    serve.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="default: 8000; 0 takes a free one"
    )
    serve.add_argument(
        "--host", default="127.0.0.1", help="default: 127.0.0.1, so that only this machine sees it"
    )
    urls = _command(commands, "urls", "urls", "print where what the lock needs is, for other download tools")
    urls.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    _base_url_flag(urls)
    _json_flag(urls)


def _add_bundle(commands: argparse._SubParsersAction[_Parser]) -> None:
    bundle = commands.add_parser(
        "bundle", help="carry archives over an air gap", description="Carry archives over an air gap."
    )
    actions = bundle.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _command(actions, "create", "bundle_create", "put every archive of the lock into one file")
    create.add_argument("file", metavar="FILE")
    create.add_argument("--platform", action="append", metavar="P", help="only for P, again for more")
    create.add_argument("--offline", action="store_true", help="from the cache only [ETFETCH_OFFLINE]")
    _base_url_flag(create)
    restore = _command(actions, "restore", "bundle_restore", "put a bundle's archives into the cache")
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
