"""`etfetch serve`: a folder over HTTP, for development.

Good enough for etfetch to resume from (a strong ETag, one range), and no more than that: no
encryption, no logins, one process. Links are not followed, hidden files are not there, and no folder is
listed; a folder's `index.html` stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from etfetch import paths
from etfetch.digest import CHUNK
from etfetch.errors import UsageError

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".toml": "text/plain; charset=utf-8",
}


def serving(root: Path, host: str, port: int, log: Callable[[str], None]) -> ThreadingHTTPServer:
    """A server of `root`, bound and not yet running; `log` hears of each request.

    `UsageError` when there is no such folder or the address is taken.
    """
    if not root.is_dir():
        raise UsageError(f"`{root}` is not a folder", hint="make one with `etfetch mirror create DIR`")

    class Handler(_Handler):
        folder = root.resolve()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
            log(format % args)

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}", hint="choose another `--port`"
        ) from error
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    protocol_version = "HTTP/1.1"
    server_version = "etfetch"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        path = self._file()
        if path is None:
            self._head(404, "text/plain; charset=utf-8", 10)
            if body:
                self.wfile.write(b"not found\n")
            return
        with path.open("rb") as file:
            self._send(path, file, body=body)

    def _send(self, path: Path, file: BinaryIO, *, body: bool) -> None:
        found = path.stat()
        etag = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
        start, stop = 0, found.st_size
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        ranged = asked is not None and self.headers.get("If-Range", etag) == etag
        headers = {"ETag": etag, "Accept-Ranges": "bytes"}
        if asked and ranged:
            start, stop = int(asked[1]), min(int(asked[2] or stop) + 1, stop)
            if start >= stop:
                self._head(416, "text/plain", 0, {"Content-Range": f"bytes */{found.st_size}"})
                return
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{found.st_size}"
        kind = _TYPES.get(path.suffix, "application/octet-stream")
        self._head(206 if ranged else 200, kind, stop - start, headers)
        if body:
            file.seek(start)
            left = stop - start
            while left and (chunk := file.read(min(CHUNK, left))):
                self.wfile.write(chunk)
                left -= len(chunk)

    def _head(self, status: int, kind: str, length: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _file(self) -> Path | None:
        """The file that a request names, or None: never a hidden one, never through a link."""
        path = self.folder
        for component in filter(None, unquote(urlsplit(self.path).path).split("/")):
            if component.startswith(".") or paths.unsafe_reason(component) is not None:
                return None
            path /= component
            if path.is_symlink():
                return None
        if path.is_dir():
            path /= "index.html"
        return path if path.is_file() and not path.is_symlink() else None
