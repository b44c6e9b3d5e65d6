"""Resuming and ranges: what is asked for again, and what is not."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tenacity import wait_random_exponential

from etfetch.cache import Cache
from etfetch.digest import of_bytes
from etfetch.errors import IntegrityError, NetworkError
from etfetch.partial import Partial, Piece
from etfetch.sources import Network, transfer
from etfetch.sources.transfer import StoppedError, Transfer
from etfetch.sources.web import Answer, Web
from server_fixtures import fault_server
from server_fixtures.fault_server import Exchange, Fault, FaultServer, serve, status

if TYPE_CHECKING:
    from typing_extensions import Buffer

DATA = random.Random(3).randbytes(400_000)
SHA = of_bytes(DATA)


class Expected:
    """Nothing but a size."""

    def __init__(self, size: int | None = len(DATA)) -> None:
        self.size = size
        self.limit = len(DATA)

    def announced(self, answer: Answer) -> None:
        pass

    def wrong_length(self, where: str, found: str) -> None:
        raise IntegrityError(found)


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.count = 0

    def advance(self, count: int) -> None:
        self.count += count

    def restart(self) -> None:
        self.count = 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setattr(transfer, "_exponential", wait_random_exponential(multiplier=0.005, max=0.05))
    monkeypatch.setattr(transfer, "MULTI_FROM", 300_000)
    with FaultServer({"/x": DATA}) as made:
        yield made


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(Network(2.0, 1.0, 3, tmp_path, tmp_path))
    yield made
    made.close()


def _bring(
    web: Web,
    server: FaultServer,
    cache: Cache,
    *faults: Fault,
    heard: Heard | None = None,
    size: int | None = None,
) -> str:
    """Bring `/x` into the cache's partial file; its digest."""
    server.faults["/x"] = list(faults)
    with cache.partial(SHA) as partial:
        expected = Expected(size if size is not None else len(DATA))
        listener = heard or Heard()
        Transfer(web, f"{server.url}/x", partial, expected, listener, threading.Event()).run()  # type: ignore[arg-type]
        assert partial.whole
        assert listener.count == len(DATA)
        return partial.sha256()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def _spans(server: FaultServer) -> list[tuple[int, int]]:
    texts = [asked.range.removeprefix("bytes=").split("-") for asked in server.requests]
    return sorted((int(first), int(last) + 1) for first, last in texts)


def test_a_big_file_comes_in_four_ranges(web: Web, server: FaultServer, cache: Cache) -> None:
    assert _bring(web, server, cache) == SHA
    quarter = len(DATA) // 4
    assert _spans(server) == [(quarter * n, quarter * (n + 1)) for n in range(4)]
    tagged = [asked.headers.get("if-range") for asked in server.requests]
    assert tagged == [None, *[fault_server.etag_of(DATA)] * 3]
    assert server.sent == len(DATA)


@pytest.mark.parametrize(
    "fault",
    [
        serve(etag=""),
        serve(etag='W/"weak"'),
        serve(ranges=False, etag=""),
        serve(headers={"Content-Encoding": "br"}),
    ],
)
def test_without_a_strong_etag_it_comes_in_one(
    web: Web, server: FaultServer, cache: Cache, fault: Fault
) -> None:
    assert _bring(web, server, cache, fault) == SHA
    assert len(server.requests) <= 2
    assert all(not asked.range for asked in server.requests[1:])


def test_a_server_without_ranges_sends_it_once(web: Web, server: FaultServer, cache: Cache) -> None:
    assert _bring(web, server, cache, serve(ranges=False)) == SHA
    assert len(server.requests) == 1


def test_each_range_is_tried_again_alone(web: Web, server: FaultServer, cache: Cache) -> None:
    assert _bring(web, server, cache, *[serve(cut=30_000)] * 4) == SHA
    assert len(server.requests) == 8
    assert server.sent == len(DATA)


def test_an_etag_that_changes_between_ranges(web: Web, server: FaultServer, cache: Cache) -> None:
    """The others get the whole of another file: what came is dropped, and it comes in one piece."""

    async def first_of_another(exchange: Exchange) -> None:
        exchange.data = bytes(len(DATA))
        await serve()(exchange)

    assert _bring(web, server, cache, first_of_another) == SHA
    assert server.requests[-1].range == ""
    assert 3 <= len(server.requests) <= 5


def test_a_range_that_fails_for_good_ends_the_others(web: Web, server: FaultServer, cache: Cache) -> None:
    with pytest.raises(NetworkError) as caught:
        _bring(web, server, cache, serve(cut=1000), *[status(500)] * 30)
    assert "answered 500" in caught.value.message


@pytest.mark.parametrize("ranges", [False, True])
def test_fifty_cuts_anywhere(
    web: Web, server: FaultServer, cache: Cache, ranges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The download is given up at a random byte and begun anew: next to nothing is asked for twice."""
    if not ranges:
        monkeypatch.setattr(transfer, "MULTI_FROM", len(DATA))
    source = random.Random(11 + ranges)
    for _ in range(50):
        server.sent = 0
        server.requests.clear()
        cut = source.randrange(1, len(DATA) // 4 if ranges else len(DATA))
        with pytest.raises(NetworkError):
            _bring(web, server, cache, serve(cut=cut), *[status(500)] * 40)
        before = server.sent
        [left] = (cache.root / "v1/partial").glob("*.part")
        missing = len(DATA) - sum(piece.reached - piece.start for piece in _pieces(left))
        server.sent = 0
        assert _bring(web, server, cache) == SHA
        assert server.sent - missing <= 0.05 * missing + 1
        assert before + server.sent <= 1.05 * len(DATA) + 40 * 3
        assert list((cache.root / "v1/partial").iterdir()) == []


def _pieces(path: Path) -> Sequence[Piece]:
    found = Partial(path.with_name("looked-at.part"))
    assert found.adopt(path)
    found.discard()
    return found.pieces


def test_killed_anywhere_and_begun_anew(tmp_path: Path, server: FaultServer, cache: Cache, web: Web) -> None:
    """SIGKILL, not an exception: what has arrived is still there, in this process's next download."""
    program = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from etfetch.cache import Cache\n"
        "from etfetch.sources import Network\n"
        "from etfetch.sources.transfer import Transfer\n"
        "from etfetch.sources.web import Web\n"
        "from tests.test_transfer import Expected, Heard, SHA\n"
        "with Cache(Path(sys.argv[1])).partial(SHA) as partial:\n"
        "    web = Web(Network(2.0, 9.0, 3, Path('.'), Path('.')))\n"
        "    Transfer(web, sys.argv[2], partial, Expected(), Heard(), threading.Event()).run()\n"
    )
    transfer_in_one = {"PYTHONPATH": str(Path(__file__).parent.parent), **os.environ}
    server.faults["/x"] = [fault_server.stall(250_000)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(cache.root), f"{server.url}/x"], env=transfer_in_one
    )
    folder = cache.root / "v1/partial"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        parts = list(folder.glob("*.part")) if folder.is_dir() else []
        if parts and parts[0].stat().st_size == 250_000:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.sent = 0
    assert _bring(web, server, cache) == SHA
    assert server.sent == len(DATA) - 250_000
    assert list(folder.iterdir()) == []


def test_what_another_left_is_copied_not_taken(web: Web, server: FaultServer, cache: Cache) -> None:
    """Its owner may be alive where file locks lie: its file is never the one that gets the final name."""
    with pytest.raises(NetworkError):
        _bring(web, server, cache, serve(cut=50_000), *[status(500)] * 40)
    [left] = (cache.root / "v1/partial").glob("*.part")
    with left.open("rb") as owner:
        inode = os.fstat(owner.fileno()).st_ino
        with cache.partial(SHA) as partial:
            assert partial.received >= 50_000
            assert partial.path != left
            assert partial.path.stat().st_ino != inode


@pytest.mark.parametrize(
    "state",
    [
        "",
        "{}",
        '{"address": "x", "validator": "", "pieces": [[0, 5, 10]]}',
        '{"address": "x", "validator": "y", "pieces": []}',
        '{"address": "x", "validator": "y", "pieces": [[0, 50, 10]]}',
        '{"address": "x", "validator": "y", "pieces": [[-1, 5, 10]]}',
        '{"address": "x", "validator": "y", "pieces": [[0, "5", 10]]}',
        '{"address": "x", "validator": "y", "pieces": [[0, 5]]}',
        '{"address": "x", "validator": "y", "pieces": [[0, 50, 100]]}',
        '{"address": "x", "validator": "\\u00b5", "pieces": [[0, 5, 10]]}',
        '{"address": "x", "validator": "y\\n", "pieces": [[0, 5, 10]]}',
        "[]",
    ],
)
def test_a_damaged_state_is_no_state(cache: Cache, state: str) -> None:
    left = cache.scratch() / f"{SHA}.1.part"
    left.write_bytes(b"12345")
    left.with_suffix(".json").write_text(state)
    with cache.partial(SHA) as partial:
        assert partial.received == 0
    assert list(cache.scratch().iterdir()) == []


def test_the_best_of_several_is_taken(cache: Cache) -> None:
    for number, count in enumerate((3, 5, 4)):
        left = cache.scratch() / f"{SHA}.{number}.part"
        left.write_bytes(b"1" * count)
        left.with_suffix(".json").write_text(
            f'{{"address": "x", "validator": "y", "pieces": [[0, {count}, 9]]}}'
        )
    with cache.partial(SHA) as partial:
        assert partial.received == 5
        assert partial.path.read_bytes() == b"11111"
    assert list(cache.scratch().iterdir()) == []


def test_a_download_that_is_stopped(web: Web, server: FaultServer, cache: Cache) -> None:
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(StoppedError), cache.partial(SHA) as partial:
        Transfer(web, f"{server.url}/x", partial, Expected(), Heard(), stopped).run()  # type: ignore[arg-type]
    assert server.requests == []


def test_reading_something_small(web: Web, server: FaultServer) -> None:
    server.files["/small"] = b"text"
    assert transfer.read(web, f"{server.url}/small", 4) == (b"text", f"{server.url}/small")
    with pytest.raises(NetworkError, match="is longer than 3 bytes"):
        transfer.read(web, f"{server.url}/small", 3)
    server.faults["/small"] = [status(503), serve()]
    assert transfer.read(web, f"{server.url}/small", 4)[0] == b"text"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
@pytest.mark.parametrize("ranges", [False, True])
def test_memory_stays_flat(tmp_path: Path, ranges: bool) -> None:
    """300 MB arrive, in one piece or in ranges, and the process never holds more than a few chunks."""
    data = bytes(300 << 20)
    program = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from etfetch.cache import Cache\n"
        "from etfetch.sources import Network, transfer\n"
        "from etfetch.sources.web import Web\n"
        "from tests.test_transfer import Expected, Heard\n"
        "folder = Path(sys.argv[1])\n"
        "expected = Expected(int(sys.argv[3]))\n"
        "expected.limit = expected.size\n"
        "with Cache(folder).partial('ab' * 32) as partial:\n"
        "    web = Web(Network(2.0, 9.0, 3, folder, folder))\n"
        "    before = peak()\n"
        "    transfer.Transfer(web, sys.argv[2], partial, expected, Heard(), threading.Event()).run()\n"
        "    assert partial.received == expected.size\n"
        "print(before, peak())\n"
    )
    peak = (
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
    )
    with FaultServer({"/x": data}) as made:
        if not ranges:
            made.faults["/x"] = [serve(ranges=False)]
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                peak + program,
                str(tmp_path),
                f"{made.url}/x",
                str(len(data)),
            ],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(made.requests) == (4 if ranges else 1)
    before, after = map(int, done.stdout.split())
    assert after - before < 20_000, "kilobytes"


def test_a_disk_that_takes_less_than_it_is_given(cache: Cache) -> None:
    class Slow(io.BytesIO):
        def write(self, data: Buffer) -> int:
            return super().write(memoryview(data)[:3])

    with cache.partial(SHA) as partial:
        partial.begin("x", "y", [(0, 8)])
        slow = Slow()
        partial.add(partial.pieces[0], slow, b"12345678")
        assert slow.getvalue() == b"12345678"
        assert partial.whole
