"""Answers with random damage, in head and body: verified, or an error of the house, never anything else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tenacity import wait_random_exponential

from etfetch import fetch
from etfetch.cache import Cache
from etfetch.digest import of_bytes
from etfetch.errors import EtfetchError
from etfetch.lockfile import LockedArtifact
from etfetch.mirrors import Place
from etfetch.progress import Silent
from etfetch.servers import Servers
from etfetch.sources import Network, transfer
from server_fixtures.fault_server import Exchange, Fault, FaultServer, etag_of

DATA = random.Random(5).randbytes(5000)
_LINES = (
    b"\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b'ETag: "\xb5"\r\n',
    b"Content-Range: bytes 5-9/5000\r\n",
    b"Location: //\r\n",
    b"Retry-After: -1\r\n",
)
_STATUSES = (100, 204, 206, 301, 302, 304, 400, 404, 416, 429, 500, 999)


def _damaged(answer: bytes, source: random.Random) -> bytes:
    data = bytearray(answer)
    for _ in range(source.randrange(4)):
        at = source.randrange(min(len(data), source.choice((20, 100, 300, 6000))) or 1)
        match source.randrange(6):
            case 0:
                data[at : at + 1] = source.randbytes(1)
            case 1:
                del data[at : at + source.randrange(1, 30)]
            case 2:
                data[at:at] = source.randbytes(source.randrange(1, 8))
            case 3:
                data[at:at] = source.choice(_LINES)
            case 4:
                del data[at:]
            case _:
                data[9:12] = str(source.choice(_STATUSES)).encode()
    return bytes(data)


def _damaging(source: random.Random) -> Fault:
    async def fault(exchange: Exchange) -> None:
        first, _, last = exchange.asked.range.removeprefix("bytes=").partition("-")
        start, stop = int(first or 0), int(last or len(DATA) - 1) + 1
        lines = [f"HTTP/1.1 {206 if exchange.asked.range else 200} Fine", f"Content-Length: {stop - start}"]
        lines += [f"ETag: {etag_of(DATA)}", f"Content-Range: bytes {start}-{stop - 1}/{len(DATA)}", "", ""]
        body = exchange.data[start:stop] or exchange.data
        exchange.writer.write(_damaged("\r\n".join(lines).encode() + body, source))
        await exchange.writer.drain()
        exchange.close()

    return fault


@pytest.mark.parametrize("seed", range(4))
def test_damaged_answers(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(seed)
    monkeypatch.setattr(transfer, "_exponential", wait_random_exponential(multiplier=0.0001, max=0.001))
    monkeypatch.setattr(transfer, "MULTI_FROM", 3000)
    sha256, fault = of_bytes(DATA), _damaging(source)
    archive = "/p/1/x.bin"
    outcomes = set()
    with FaultServer({archive: DATA, "/x.bin": DATA, "/index.json": b'{"schema": 1}'}) as server:
        for number in range(80):
            server.faults = {path: [fault] * source.randrange(9) for path in server.files}
            cache = Cache(tmp_path / str(number % 9))
            network = Network(1.0, 0.3, 3, tmp_path, cache.scratch())
            servers = Servers([Place(server.url)], network, cache)
            artifact = LockedArtifact(
                "x.bin", "https://origin.invalid/x", sha256, "tar", (), source.choice((None, len(DATA)))
            )
            try:
                release = fetch.Release("p", "1")
                with fetch.fetching([artifact], release, cache, servers, Silent(), 2) as arriving:
                    list(arriving)
            except EtfetchError as error:
                outcomes.add(type(error).__name__)
                assert not cache.blob(sha256).exists()
            else:
                outcomes.add("verified")
                assert cache.blob_is_sound(sha256)
                cache.drop_blob(sha256)
            finally:
                servers.close()
    assert outcomes >= {"verified", "NetworkError", "IntegrityError"}
