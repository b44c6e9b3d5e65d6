"""Real servers on loopback: nginx over a folder, and tinyproxy. Each lives as long as its `with` block.

Their configurations are the files beside this one. A port is free when it is chosen; if somebody takes it
before the server does, another one is tried.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
_PATIENCE = 20.0
_ATTEMPTS = 5


@dataclass(frozen=True)
class Logged:
    """A line of nginx's log."""

    path: str
    status: int
    sent: int
    range: str


@dataclass(frozen=True)
class Nginx:
    """A running nginx."""

    port: int
    folder: Path
    tls: bool

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def log(self) -> list[Logged]:
        """What was asked for so far; a request is logged when its answer has ended."""
        lines = (self.folder / "access.log").read_text().splitlines()
        fields = [line.split(" ", 4) for line in lines]
        return [Logged(path, int(status), int(sent), asked) for _, path, status, sent, asked in fields]


@contextmanager
def nginx(
    program: str,
    root: Path,
    *directives: str,
    certificate: tuple[Path, Path] | None = None,
) -> Iterator[Nginx]:
    """Serve `root`. `directives` stand in the `server` block; `certificate` is a chain and its key."""
    with _folder() as folder:
        lines = list(directives)
        if certificate:
            lines += [f"ssl_certificate {certificate[0]};", f"ssl_certificate_key {certificate[1]};"]
        values = {
            "root": root,
            # Workers of root's are nobody's, who may not read a test's folder.
            "user": "user root;" if os.geteuid() == 0 else "",
            "tls_flag": "ssl" if certificate else "",
            "directives": "\n        ".join(lines),
        }
        command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c"]
        with _running(command, "nginx.conf", folder, values) as port:
            yield Nginx(port, folder, certificate is not None)


def password_file(folder: Path, user: str, password: str) -> Path:
    """A file for nginx's `auth_basic_user_file`."""
    path = folder / "htpasswd"
    path.write_text(f"{user}:{{PLAIN}}{password}\n")
    return path


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "tinyproxy.log").read_text()


@contextmanager
def proxy(program: str, *directives: str) -> Iterator[Proxy]:
    """A forward proxy for http, and by CONNECT for https."""
    with _folder() as folder:
        values = {"directives": "\n".join(directives)}
        with _running([program, "-d", "-c"], "tinyproxy.conf", folder, values) as port:
            yield Proxy(port, folder)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="etfetch-server."))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(command: Sequence[str], name: str, folder: Path, values: Mapping[str, object]) -> Iterator[int]:
    """Start a server with its configuration, and stop it at the end; gives the port it listens on."""
    said = ""
    for _ in range(_ATTEMPTS):
        port = _free_port()
        configuration = folder / name
        filled = Template((HERE / name).read_text()).substitute(values, folder=folder, port=port)
        configuration.write_text(filled)
        with (folder / "output").open("w") as output:
            process = subprocess.Popen([*command, str(configuration)], stdout=output, stderr=output)
        try:
            if _listens(port, process):
                yield port
                return
        finally:
            process.terminate()
            process.wait()
        said = (folder / "output").read_text()
    raise RuntimeError(f"{command[0]} did not start: {said}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.02)
    return False
