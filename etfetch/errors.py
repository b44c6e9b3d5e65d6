"""What can go wrong, each with its exit code.

Every error a user can meet is an `EtfetchError`: one sentence, the data on lines of
their own, at most one hint with the next command. The exit codes are a contract with
build scripts (see `docs/exit-codes.md`); anything else that escapes is a fault in etfetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class EtfetchError(Exception):
    """The base of all expected failures.

    `message` is one sentence, `data` holds the facts, a line each, and `hint` is what to do
    next. `code` is the process's exit code and `kind` its name in `--json` output.
    """

    code = 1
    kind = "fault"

    def __init__(self, message: str, *, data: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = tuple(data)
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message, *(f"  {line}" for line in self.data)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UsageError(EtfetchError):
    """The command line does not make sense."""

    code = 2
    kind = "usage"


class ConfigError(EtfetchError):
    """A project file, a setting or the environment is wrong."""

    code = 2
    kind = "configuration"


class ManifestError(EtfetchError):
    """A release manifest breaks its format; the message carries file and key path."""

    code = 2
    kind = "manifest"


class LockfileError(EtfetchError):
    """`etfetch.lock` is damaged, edited by hand, or of an unknown version."""

    code = 2
    kind = "lockfile"


class FilesystemError(EtfetchError):
    """A folder cannot be written: read-only, full, or not a folder."""

    code = 2
    kind = "filesystem"


class LockOutdatedError(EtfetchError):
    """The lock no longer answers the request."""

    code = 3
    kind = "outdated"


class IntegrityError(EtfetchError):
    """A size or a digest is not the expected one."""

    code = 4
    kind = "integrity"


class CacheVanishedError(IntegrityError):
    """What the cache held a moment ago is gone: somebody cleaned it meanwhile."""


class ArchiveError(EtfetchError):
    """An archive breaks a rule of unpacking; the message names the member."""

    code = 4
    kind = "archive"


class ModelError(EtfetchError):
    """A program cannot be read; the message carries the byte that is wrong."""

    code = 4
    kind = "model"


class NetworkError(EtfetchError):
    """A server or a registry's client did not deliver."""

    code = 5
    kind = "network"


class MissingError(NetworkError):
    """A server answered, and does not have the file (404, 410)."""


class OfflineError(EtfetchError):
    """Something is missing and the network may not be asked."""

    code = 6
    kind = "offline"


class ResolutionError(EtfetchError):
    """The request cannot be satisfied, or parts conflict."""

    code = 7
    kind = "resolution"


class BusyError(EtfetchError):
    """Another process held a lock too long."""

    code = 9
    kind = "busy"


class TreeError(EtfetchError):
    """The installed tree is not what etfetch left there."""

    code = 10
    kind = "tree"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if one is close enough to be a slip of the keyboard."""
    import difflib

    matches = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean `x`?`, or nothing: ready to be appended to a message."""
    match = nearest(word, known)
    return f"; did you mean `{match}`?" if match else ""
