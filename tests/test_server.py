"""`etfetch serve`: enough HTTP to resume from, and nothing that leads out of the folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from etfetch import server
from etfetch.errors import UsageError
from tests.world import World

DATA = bytes(range(256)) * 10


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "mirror"
    (made / "demo").mkdir(parents=True)
    (made / "demo/a.zip").write_bytes(DATA)
    (made / "index.html").write_text("<p>page</p>")
    (made / ".etfetch").mkdir()
    (made / ".etfetch/draft").write_text("hidden")
    (tmp_path / "outside").write_text("secret")
    (made / "link").symlink_to(tmp_path / "outside")
    (made / "folder-link").symlink_to(tmp_path)
    return made


@pytest.fixture
def port(root: Path) -> Iterator[int]:
    with server.serving(root, "127.0.0.1", 0, lambda _: None) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        yield made.server_address[1]
        made.shutdown()
        thread.join()


def _ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_a_file(port: int) -> None:
    answer, body = _ask(port, "/demo/a.zip?x=1")
    assert (answer.status, body) == (200, DATA)
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert _ask(port, "/demo/a.zip", "HEAD")[1] == b""


def test_the_page(port: int) -> None:
    answer, body = _ask(port, "/")
    assert body == b"<p>page</p>"
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_a_range(port: int) -> None:
    etag = _ask(port, "/demo/a.zip")[0].headers["ETag"]
    answer, body = _ask(port, "/demo/a.zip", Range="bytes=100-199", If_Range=etag)
    assert (answer.status, body) == (206, DATA[100:200])
    assert answer.headers["Content-Range"] == f"bytes 100-199/{len(DATA)}"
    assert _ask(port, "/demo/a.zip", Range="bytes=2500-")[1] == DATA[2500:]
    assert _ask(port, "/demo/a.zip", Range="bytes=2500-99999")[1] == DATA[2500:]
    assert _ask(port, "/demo/a.zip", Range="bytes=100-199", If_Range='"old"')[1] == DATA
    assert _ask(port, "/demo/a.zip", Range="bytes=99999-")[0].status == 416
    assert _ask(port, "/demo/a.zip", Range="bytes=1-2,4-5")[1] == DATA


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/demo",
        "/../outside",
        "/%2e%2e/outside",
        "/demo/..%2f..%2foutside",
        "/link",
        "/folder-link/outside",
        "/.etfetch/draft",
        "/demo\\a.zip",
        "//etc/passwd",
        "/%00",
    ],
)
def test_what_is_not_there(port: int, path: str) -> None:
    answer, body = _ask(port, path)
    assert (answer.status, body) == (404, b"not found\n")


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        server.serving(tmp_path / "none", "127.0.0.1", 0, print)


def test_an_address_that_is_taken(root: Path, port: int) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1 port {port}"):
        server.serving(root, "127.0.0.1", port, print)


def test_installing_from_it(world: World, root: Path) -> None:
    world.write()
    world.ok("lock")
    log: list[str] = []
    with server.serving(world.tree, "127.0.0.1", 0, log.append) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        world.setenv(ETFETCH_BASE_URL=f"http://127.0.0.1:{made.server_address[1]}", ETFETCH_BLOCK_ORIGIN="1")
        world.ok("install")
        made.shutdown()
        thread.join()
    assert len(log) == 4


def test_the_command_says_where_and_ends_with_ctrl_c(world: World) -> None:
    import signal

    process = world.spawn("serve", str(world.tree), "--port", "0")
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert line.startswith(f"serving `{world.tree}` on http://127.0.0.1:")
    assert process.returncode == 0
