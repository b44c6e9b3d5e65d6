"""A server with faults: raw sockets, so that it can break every rule of HTTP that real servers break.

Files are served as a good server does it (strong ETag, Last-Modified, Range, If-Range), unless a fault waits
for their path: faults are taken one after the other, one a request. Every request is logged with its
headers, and every byte of a body is counted.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_MODIFIED = "Wed, 21 Oct 2015 07:28:00 GMT"
_PIECE = 16384


@dataclass(frozen=True)
class Asked:
    """A request: its path, and its headers by lower-case name."""

    path: str
    headers: Mapping[str, str]

    @property
    def range(self) -> str:
        return self.headers.get("range", "")


@dataclass
class Exchange:
    """One request and the way to answer it: `data` is the file that was asked for."""

    asked: Asked
    data: bytes
    server: FaultServer
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self, line: str, headers: Mapping[str, str]) -> None:
        """Send a status line (`200 OK`, or a whole `HTTP/1.0 …`) and headers."""
        first = line if line.startswith("HTTP/") else f"HTTP/1.1 {line}"
        lines = [first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.writer.write("\r\n".join(lines).encode("latin-1"))
        await self.writer.drain()

    async def body(self, data: bytes) -> None:
        """Send bytes of a body, and count them."""
        for start in range(0, len(data), _PIECE):
            self.writer.write(data[start : start + _PIECE])
            await self.writer.drain()
            self.server.sent += len(data[start : start + _PIECE])

    async def pause(self, seconds: float) -> None:
        """Wait, or until the client has gone."""
        with suppress(asyncio.TimeoutError, ConnectionError):
            await asyncio.wait_for(self.reader.read(1), seconds)

    def reset(self) -> None:
        """End the connection with an RST."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()


Fault = Callable[[Exchange], Awaitable[None]]


@dataclass
class FaultServer:
    """Serves `files` on a free port of `host` while the `with` block runs."""

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    requests: list[Asked] = field(default_factory=list)
    sent: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def asked_for(self, path: str) -> list[Asked]:
        """The requests for a path."""
        return [asked for asked in self.requests if asked.path == path]

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        begun = asyncio.run_coroutine_threadsafe(self._begin(), self._loop)
        self._server = begun.result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _begin(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, self.host, self.port, ssl=self.tls)

    async def _end(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while asked := await _request(reader):
                self.requests.append(asked)
                path = asked.path.partition("?")[0]
                waiting = self.faults.get(path)
                data = self.files.get(path)
                exchange = Exchange(asked, data or b"", self, reader, writer)
                if waiting:
                    await waiting.pop(0)(exchange)
                elif data is None:
                    await status(404)(exchange)
                else:
                    await serve()(exchange)
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.CancelledError, ssl.SSLError):
            return
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError, ssl.SSLError):
                await writer.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = text.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return Asked(first.split(" ")[1], {name.lower(): value.strip() for name, _, value in pairs})


def etag_of(data: bytes) -> str:
    """The strong validator that a good server gives a file."""
    return f'"{hashlib.sha256(data).hexdigest()[:16]}"'


def serve(
    *,
    etag: str | None = None,
    modified: str = _MODIFIED,
    ranges: bool = True,
    cut: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """As a good server does it; with `cut` the connection ends after so many bytes of the body."""

    async def fault(exchange: Exchange) -> None:
        data, asked = exchange.data, exchange.asked
        tag = etag_of(data) if etag is None else etag
        sent = {"Last-Modified": modified, "ETag": tag, **(headers or {})}
        sent = {name: value for name, value in sent.items() if value}
        holds = asked.headers.get("if-range", tag) in {tag, modified}
        line, body = "200 OK", data
        if ranges and asked.range and holds:
            first, _, last = asked.range.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(int(last) + 1 if last else len(data), len(data))
            if start >= len(data):
                await status(416)(exchange)
                return
            line, body = "206 Partial Content", data[start:stop]
            sent["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
        await exchange.head(line, {"Content-Length": str(len(body)), **sent})
        await exchange.body(body[:cut])
        if cut is not None and cut < len(body):
            exchange.close()

    return fault


def status(code: int, headers: Mapping[str, str] | None = None, body: bytes = b"no\n") -> Fault:
    """Another status."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head(f"{code} Some Reason", {"Content-Length": str(len(body)), **(headers or {})})
        await exchange.body(body)

    return fault


def redirect(location: str, code: int = 302) -> Fault:
    return status(code, {"Location": location}, b"")


async def reset_before_headers(exchange: Exchange) -> None:
    exchange.reset()


async def reset_after_headers(exchange: Exchange) -> None:
    await exchange.head("200 OK", {"Content-Length": str(len(exchange.data)), "ETag": etag_of(exchange.data)})
    await asyncio.sleep(0.05)
    exchange.reset()


def stall(after: int) -> Fault:
    """Some bytes, and then silence."""

    async def fault(exchange: Exchange) -> None:
        headers = {"Content-Length": str(len(exchange.data)), "ETag": etag_of(exchange.data)}
        await exchange.head("200 OK", headers)
        await exchange.body(exchange.data[:after])
        await exchange.pause(60)
        exchange.close()

    return fault


def silence() -> Fault:
    """Not even headers."""

    async def fault(exchange: Exchange) -> None:
        await exchange.pause(60)
        exchange.close()

    return fault


def drip(piece: int, seconds: float) -> Fault:
    """All of it, in small pieces with a pause after each."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head("200 OK", {"Content-Length": str(len(exchange.data))})
        for start in range(0, len(exchange.data), piece):
            await exchange.body(exchange.data[start : start + piece])
            await asyncio.sleep(seconds)

    return fault


def content_range(text: str) -> Fault:
    """A 206 that says it is another part than the one it was asked for."""

    async def fault(exchange: Exchange) -> None:
        headers = {"Content-Range": text, "ETag": etag_of(exchange.data)}
        await exchange.head("206 Partial Content", {"Content-Length": "10", **headers})
        await exchange.body(exchange.data[:10])

    return fault


def announce(length: int, *, sent: int | None = None) -> Fault:
    """A Content-Length that is not the body's."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head("200 OK", {"Content-Length": str(length)})
        await exchange.body(exchange.data[:sent])
        exchange.close()

    return fault


def bytes_instead(body: bytes, headers: Mapping[str, str] | None = None) -> Fault:
    """Other bytes, with a 200."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head("200 OK", {"Content-Length": str(len(body)), **(headers or {})})
        await exchange.body(body)

    return fault


async def more_than_announced(exchange: Exchange) -> None:
    """The file, and more behind it."""
    await exchange.head("200 OK", {"Content-Length": str(len(exchange.data))})
    await exchange.body(exchange.data + b"and more" * 1000)
    exchange.close()


def gzipped(coding: str = "gzip") -> Fault:
    """What a proxy does that compresses unasked."""

    async def fault(exchange: Exchange) -> None:
        body = gzip.compress(exchange.data, mtime=0)
        headers = {"Content-Encoding": coding, "ETag": f"W/{etag_of(exchange.data)}"}
        await exchange.head("200 OK", {"Content-Length": str(len(body)), **headers})
        await exchange.body(body)

    return fault


def endless(*, chunked: bool = True) -> Fault:
    """A body that never ends."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head(
            "200 OK", {"Transfer-Encoding": "chunked"} if chunked else {"Connection": "close"}
        )
        piece = b"x" * _PIECE
        while True:
            await exchange.body(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if chunked else piece)

    return fault


def chunked(data: bytes) -> Fault:
    """These bytes, complete, without a length beforehand."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head("200 OK", {"Transfer-Encoding": "chunked"})
        await exchange.body(f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n")

    return fault


def http_1_0(cut: int | None = None) -> Fault:
    """An old server, whose bodies end with the connection."""

    async def fault(exchange: Exchange) -> None:
        await exchange.head("HTTP/1.0 200 OK", {"Server": "old"})
        await exchange.body(exchange.data[:cut])
        exchange.close()

    return fault
