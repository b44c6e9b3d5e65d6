"""Running the user's own package client, so that its registries and credentials are honoured."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etfetch.credentials import without_credentials
from etfetch.errors import NetworkError
from etfetch.sources import Network, Stream
from etfetch.sources.file import stream_file

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What may stand on a client's command line as a name or a version: never an option."""

_SHOWN_LINES = 5


@contextmanager
def downloaded(
    source: str, command: Sequence[str], folder_option: str, wanted: str, network: Network
) -> Iterator[Stream]:
    """Run `command` with a scratch folder and stream the file `wanted` ("*.tgz") that it leaves there.

    `NetworkError` with the client's last words when it fails or leaves another file.
    """
    with tempfile.TemporaryDirectory(dir=network.scratch, prefix="client.") as scratch:
        _run(source, [*command, folder_option, scratch], network.folder)
        found = sorted(Path(scratch).glob(wanted))
        if len(found) != 1:
            raise NetworkError(
                f"`{command[0]}` did not deliver `{wanted}` for `{source}`",
                data=sorted(path.name for path in Path(scratch).iterdir()),
                hint="the registry may hold another build of this version",
            )
        with stream_file(found[0]) as stream:
            yield Stream(stream.chunks, stream.size, source)


def told(command: Sequence[str], folder: Path) -> str:
    """What a client prints when it is asked for its settings; "" if it cannot say."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def _run(source: str, command: Sequence[str], folder: Path) -> None:
    # No shell: names come from manifests and locks. No input: a client that asks would wait for ever.
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = [line for line in without_credentials(done.stdout).splitlines() if line.strip()]
        raise NetworkError(
            f"`{Path(command[0]).name}` could not download `{source}` (it exited with {done.returncode})",
            data=said[-_SHOWN_LINES:],
            hint="etfetch uses your client's own settings: check its registry, proxy and login",
        )
