"""A release server for tests and for trying things out: static files on loopback, with a request log.

    python -m server_fixtures.release_server DIR [PORT]

It can be told to answer a path with a status, a redirect, wrong bytes, or half of the bytes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

Fault = Callable[[BaseHTTPRequestHandler, bytes], None]


class ReleaseServer:
    """Serves `root` on a free port of 127.0.0.1 while the `with` block runs.

    `requests` lists the paths that were asked for, in order; `faults` are taken for a path one after
    the other, and when they are used up the file is served.
    """

    def __init__(self, root: Path, port: int = 0) -> None:
        self.root = root
        self.requests: list[str] = []
        self.faults: dict[str, list[Fault]] = {}
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve_forever(self) -> None:
        """Serve in the foreground until interrupted."""
        self._server.serve_forever()

    def asked_for(self, name: str) -> int:
        """How often a file of that name was asked for."""
        return sum(path.rpartition("/")[2] == name for path in self.requests)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.requests.append(self.path)
                data = server.read(self.path)
                name = self.path.rpartition("/")[2]
                faults = server.faults.get(name)
                if faults:
                    faults.pop(0)(self, data or b"")
                elif data is None:
                    answer(self, 404, b"not here\n")
                else:
                    answer(self, 200, data)

            def log_message(self, *_: object) -> None:
                """Nothing: `requests` is the log."""

        return Handler

    def read(self, path: str) -> bytes | None:
        """The file for a request's path, or None: never one outside the root."""
        file = (self.root / path.lstrip("/")).resolve()
        if not file.is_relative_to(self.root.resolve()) or not file.is_file():
            return None
        return file.read_bytes()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news; on stderr it would stand among the words that tests compare."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def answer(handler: BaseHTTPRequestHandler, status: int, data: bytes, **headers: str) -> None:
    """Send a complete answer."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(data)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def status(code: int, body: bytes = b"no\n") -> Fault:
    """A fault: another status."""
    return lambda handler, _data: answer(handler, code, body)


def redirect(location: str) -> Fault:
    """A fault: a redirect."""
    return lambda handler, _data: answer(handler, 302, b"", Location=location)


def bytes_instead(body: bytes) -> Fault:
    """A fault: other bytes with a 200."""
    return lambda handler, _data: answer(handler, 200, body)


def broken_after(count: int) -> Fault:
    """A fault: the connection closes after `count` bytes of the body."""

    def fault(handler: BaseHTTPRequestHandler, data: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:count])
        handler.close_connection = True

    return fault


if __name__ == "__main__":
    serving = ReleaseServer(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.stderr.write(f"serving {serving.root} on {serving.url}\n")
    serving.serve_forever()
