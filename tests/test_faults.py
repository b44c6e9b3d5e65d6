"""Every fault of a server: the install ends verified or with a clear error, after so many requests."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from tenacity import wait_random_exponential

from etfetch.digest import of_bytes
from etfetch.sources import transfer
from server_fixtures import fault_server
from server_fixtures.fault_server import Fault, FaultServer, serve, status
from server_fixtures.release_tree import Entry, pack_tar
from tests.world import Ran, World, snapshot

PATH = "/one/a.tar.gz"
CONTENT = random.Random(7).randbytes(200_000)
ARCHIVE = pack_tar([Entry("lib/liba.so", CONTENT)])
REQUEST = 'package = "one"\nplatforms = ["linux-x86_64"]\n'


@dataclass
class Site:
    """A project whose only artifact comes from a server with faults."""

    world: World
    server: FaultServer

    def publish(
        self, data: bytes = ARCHIVE, *, size: bool = True, url: str | None = None, name: str = "a.tar.gz"
    ) -> None:
        manifest = self.world.project / "manifests/one/1.0.toml"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_text(
            'schema = 1\npackage = "one"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n'
            f'[[artifacts]]\nname = "{name}"\nsource = "{url or self.server.url + PATH}"\n'
            f'sha256 = "{of_bytes(data)}"\n'
            + (f"size = {len(data)}\n" if size else "")
            + "[[artifacts.parts]]\n"
            'component = "runtime"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
        )
        self.server.files[PATH] = data
        self.world.write(REQUEST)

    def meet(self, *faults: Fault) -> Ran:
        """Install from a server that has these faults, one a request."""
        self.server.faults[PATH] = list(faults)
        return self.world.run("install")

    @property
    def asked(self) -> int:
        return len(self.server.asked_for(PATH))

    def ends_well(self, ran: Ran, requests: int) -> None:
        """The archive is installed, and it is the right one."""
        assert ran.code == 0, ran.err
        assert self.world.files() == {"lib/liba.so": CONTENT}
        self.world.ok("verify", "--deep")
        self.world.ok("cache", "verify")
        assert self.partial == []
        assert self.asked == requests

    def ends_with(self, ran: Ran, code: int, requests: int, *words: str) -> None:
        """It failed, said so, and left nothing behind that was not verified."""
        assert ran.code == code, ran.err
        for word in words:
            assert word in ran.err
        assert "hint: " in ran.err
        assert self.asked == requests
        assert not self.world.lock.exists()
        assert not self.world.destination.exists() or self.world.files() == {}
        assert snapshot(self.world.cache / "v1/blobs") == {}

    @property
    def partial(self) -> list[str]:
        folder = self.world.cache / "v1/partial"
        return sorted(path.suffix for path in folder.iterdir())


@pytest.fixture
def site(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    # Waits are random anyway; a hundredth of them is as good a test.
    monkeypatch.setattr(transfer, "_exponential", wait_random_exponential(multiplier=0.005, max=0.1))
    world.setenv(ETFETCH_RETRIES="3", ETFETCH_READ_TIMEOUT="1", ETFETCH_CONNECT_TIMEOUT="1")
    with FaultServer() as server:
        made = Site(world, server)
        made.publish()
        yield made


# Faults that pass


def test_no_fault(site: Site) -> None:
    site.ends_well(site.meet(), 1)
    [asked] = site.server.requests
    assert asked.headers["accept-encoding"] == "identity"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("fault", [fault_server.reset_before_headers, fault_server.reset_after_headers])
def test_a_reset(site: Site, fault: Fault) -> None:
    site.ends_well(site.meet(fault), 2)


def test_resets_without_end(site: Site) -> None:
    ran = site.meet(*[fault_server.reset_before_headers] * 9)
    site.ends_with(ran, 5, 3, f"cannot download {site.server.url}{PATH}", "tried 3 times without progress")


def test_a_truncated_body_goes_on_where_it_was_cut(site: Site) -> None:
    site.ends_well(site.meet(serve(cut=150_000)), 2)
    first, second = site.server.requests
    assert first.range == ""
    assert second.range == f"bytes=150000-{len(ARCHIVE) - 1}"
    assert second.headers["if-range"] == fault_server.etag_of(ARCHIVE)
    assert site.server.sent == len(ARCHIVE)


def test_progress_renews_the_tries(site: Site) -> None:
    cuts = [serve(cut=20_000)] * 9
    site.ends_well(site.meet(*cuts), 10)
    assert site.server.sent == len(ARCHIVE)


def test_a_stall_is_noticed(site: Site) -> None:
    begin = time.monotonic()
    site.ends_well(site.meet(fault_server.stall(1000)), 2)
    assert time.monotonic() - begin < 30
    assert site.server.requests[1].range.startswith("bytes=1000-")


def test_a_server_that_says_nothing(site: Site) -> None:
    site.world.setenv(ETFETCH_RETRIES="2", ETFETCH_READ_TIMEOUT="0.5")
    ran = site.meet(*[fault_server.silence()] * 9)
    site.ends_with(ran, 5, 2, "timed out", "tried 2 times without progress")


def test_a_slow_drip_is_no_stall(site: Site) -> None:
    # Slower as a whole than the idle timeout, never silent for as long.
    site.world.setenv(ETFETCH_READ_TIMEOUT="0.5")
    site.ends_well(site.meet(fault_server.drip(len(ARCHIVE) // 8 + 1, 0.1)), 1)


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_honoured(site: Site, code: int) -> None:
    begin = time.monotonic()
    site.ends_well(site.meet(status(code, {"Retry-After": "1"})), 2)
    assert time.monotonic() - begin >= 1


def test_retry_after_that_asks_for_an_hour(site: Site) -> None:
    ran = site.meet(status(429, {"Retry-After": "3600"}))
    site.ends_with(ran, 5, 1, "answered 429", "it asks to wait 3600 s (Retry-After)")


def test_a_server_error_that_passes(site: Site) -> None:
    site.ends_well(site.meet(status(500), status(502)), 3)


def test_a_server_error_that_stays(site: Site) -> None:
    ran = site.meet(*[status(500)] * 9)
    site.ends_with(ran, 5, 3, f"{site.server.url}{PATH} answered 500", "hint: the server has a fault")


# Refusals


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (404, "the file is not there"),
        (410, "the file is not there"),
        (401, "the server wants to know who asks"),
        (403, "the server wants to know who asks"),
        (400, "the server has a fault"),
    ],
)
def test_a_refusal_is_asked_once(site: Site, code: int, words: str) -> None:
    site.ends_with(site.meet(*[status(code)] * 9), 5, 1, f"answered {code}", words)


# Redirects


def test_a_redirect_to_another_host(site: Site) -> None:
    with FaultServer({"/there": ARCHIVE}) as other:
        site.ends_well(site.meet(fault_server.redirect(f"{other.url}/there")), 1)
        assert len(other.requests) == 1


def test_a_redirect_loop(site: Site) -> None:
    ran = site.meet(*[fault_server.redirect(PATH)] * 50)
    site.ends_with(ran, 5, 21, "redirects without end")


def test_a_redirect_to_nowhere(site: Site) -> None:
    ran = site.meet(fault_server.redirect("gopher://there/"))
    site.ends_with(ran, 5, 1, "redirects to an address that is none")


# Ranges


def test_a_server_that_ignores_ranges(site: Site) -> None:
    site.ends_well(site.meet(serve(cut=100_000), serve(ranges=False)), 2)
    assert site.server.sent == 100_000 + len(ARCHIVE)


@pytest.mark.parametrize(
    "text", ["bytes 0-9/{size}", "bytes 5-14/{size}", "bytes 100000-100009/77", "nonsense", ""]
)
def test_a_wrong_content_range(site: Site, text: str) -> None:
    wrong = fault_server.content_range(text.format(size=len(ARCHIVE)))
    site.ends_well(site.meet(serve(cut=100_000), wrong), 3)
    assert site.server.requests[2].range == ""


def test_a_range_that_cannot_be_satisfied(site: Site) -> None:
    site.ends_well(site.meet(serve(cut=100_000), status(416)), 3)


def test_an_etag_that_changes(site: Site) -> None:
    """The file was replaced between two parts: what arrived before belongs to another file."""
    other = pack_tar([Entry("lib/liba.so", CONTENT[::-1])])
    assert len(other) != 0

    async def begin_with_another(exchange: fault_server.Exchange) -> None:
        exchange.data = other + bytes(max(0, len(ARCHIVE) - len(other)))
        exchange.data = exchange.data[: len(ARCHIVE)]
        await serve(cut=100_000)(exchange)

    site.ends_well(site.meet(begin_with_another), 2)
    assert site.server.requests[1].headers["if-range"] != fault_server.etag_of(ARCHIVE)


def test_a_part_of_another_version(site: Site) -> None:
    """A server that ignores If-Range, and says with the ETag that the file is another one."""

    async def another(exchange: fault_server.Exchange) -> None:
        start = int(exchange.asked.range.removeprefix("bytes=").partition("-")[0])
        headers = {"Content-Range": f"bytes {start}-{len(ARCHIVE) - 1}/{len(ARCHIVE)}", "ETag": '"new"'}
        await exchange.head("206 Partial Content", {"Content-Length": str(len(ARCHIVE) - start), **headers})
        await exchange.body(bytes(len(ARCHIVE) - start))

    site.ends_well(site.meet(serve(cut=100_000, etag='"old"'), another), 3)
    assert site.server.requests[1].headers["if-range"] == '"old"'
    assert site.server.requests[2].range == ""


def test_pieces_of_two_files_under_one_etag_are_found_out(site: Site) -> None:
    """The digest finds what no header tells, and the whole is asked for once more."""

    async def another(exchange: fault_server.Exchange) -> None:
        exchange.data = bytes(len(ARCHIVE))
        await serve(cut=100_000, etag=fault_server.etag_of(ARCHIVE))(exchange)

    site.server.faults[PATH] = [
        another,
        fault_server.reset_before_headers,
        *[fault_server.reset_before_headers] * 2,
    ]
    assert site.world.run("install").code == 5
    assert site.partial == [".json", ".part"]
    site.server.requests.clear()
    site.ends_well(site.meet(), 2)
    first, second = site.server.requests
    assert first.range.startswith("bytes=100000-")
    assert second.range == ""


def test_without_a_validator_it_starts_over(site: Site) -> None:
    site.ends_well(site.meet(serve(cut=100_000, etag="", modified="")), 2)
    assert site.server.requests[1].range == ""


def test_with_a_weak_etag_the_date_is_the_validator(site: Site) -> None:
    weak = serve(cut=100_000, etag='W/"weak"')
    site.ends_well(site.meet(weak), 2)
    assert site.server.requests[1].headers["if-range"] == "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize("etag", ['"\xb5"', "no quotes", '"a"b"', '""'])
def test_an_etag_that_cannot_be_sent_back(site: Site, etag: str) -> None:
    """Such a one is none; it used to end in a fault, again and again, since it was remembered."""
    site.ends_well(site.meet(serve(cut=100_000, etag=etag, modified="")), 2)
    again = site.server.requests[1].headers.get("if-range", "")
    assert again == ('""' if etag == '""' else "")


def test_a_part_that_nobody_asked_for(site: Site) -> None:
    ran = site.meet(fault_server.content_range(f"bytes 0-9/{len(ARCHIVE)}"))
    site.ends_with(ran, 5, 1, "answered with a part of the file that nobody asked for")


# Lengths


@pytest.mark.parametrize("length", [10, len(ARCHIVE) + 10])
def test_a_wrong_length_is_refused_at_once(site: Site, length: int) -> None:
    ran = site.meet(fault_server.announce(length))
    site.ends_with(
        ran,
        4,
        1,
        "`a.tar.gz` is not the archive that is locked",
        f"expected size {len(ARCHIVE)} bytes",
        f"found    size {length} bytes",
    )


def test_more_bytes_than_announced_are_not_read(site: Site) -> None:
    site.ends_well(site.meet(fault_server.more_than_announced), 1)


def test_a_length_that_nobody_published(site: Site) -> None:
    site.publish(size=False)
    site.ends_well(site.meet(serve(cut=150_000)), 2)


def test_a_longer_body_without_a_length(site: Site) -> None:
    ran = site.meet(fault_server.chunked(ARCHIVE + b"x"))
    site.ends_with(ran, 4, 1, f"found    size more than {len(ARCHIVE)} bytes")


def test_a_shorter_body_without_a_length(site: Site) -> None:
    ran = site.meet(fault_server.chunked(ARCHIVE[:-1]))
    site.ends_with(ran, 4, 1, f"found    size {len(ARCHIVE) - 1} bytes")


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("size", [True, False])
def test_an_endless_body(site: Site, chunked: bool, size: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etfetch.fetch.MAX_ARTIFACT", 1 << 20)
    site.publish(size=size)
    ran = site.meet(fault_server.endless(chunked=chunked))
    limit = len(ARCHIVE) if size else 1 << 20
    site.ends_with(ran, 4, 1, f"found    size more than {limit} bytes")
    assert site.server.sent < limit + (16 << 20)


def test_http_1_0_without_a_length(site: Site) -> None:
    site.ends_well(site.meet(fault_server.http_1_0()), 1)


def test_http_1_0_that_is_cut(site: Site) -> None:
    ran = site.meet(*[fault_server.http_1_0(cut=1000)] * 9)
    site.ends_with(ran, 5, 3, "ended too early", f"after 1000 of {len(ARCHIVE)} bytes")


# Bytes


@pytest.mark.parametrize("coding", ["gzip", "x-gzip"])
def test_a_proxy_that_compresses_unasked(site: Site, coding: str) -> None:
    site.ends_well(site.meet(fault_server.gzipped(coding)), 1)


def test_an_archive_whose_own_compression_is_called_a_coding(site: Site) -> None:
    site.ends_well(site.meet(serve(headers={"Content-Encoding": "x-gzip"})), 1)


def test_a_coding_that_cannot_be_undone(site: Site) -> None:
    ran = site.meet(fault_server.gzipped("br"))
    site.ends_with(ran, 5, 1, "came in the content coding `br`, which nobody asked for")


def test_a_broken_coding(site: Site) -> None:
    ran = site.meet(fault_server.bytes_instead(b"no gzip", {"Content-Encoding": "gzip"}))
    site.ends_with(ran, 5, 1, "came in a broken content coding (`gzip`)")


def test_a_coding_that_is_a_bomb(site: Site) -> None:
    import gzip

    bomb = gzip.compress(bytes(50 << 20))
    ran = site.meet(fault_server.bytes_instead(bomb, {"Content-Encoding": "gzip"}))
    site.ends_with(ran, 4, 1, f"found    size more than {len(ARCHIVE)} bytes")


@pytest.mark.parametrize("size", [True, False])
def test_a_login_page(site: Site, size: bool) -> None:
    site.publish(size=size)
    page = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>"
    ran = site.meet(fault_server.bytes_instead(page))
    site.ends_with(ran, 5, 1, "a web page came instead of `a.tar.gz`", f"from {site.server.url}{PATH}")


def test_the_right_size_with_wrong_bytes(site: Site) -> None:
    wrong = bytes(len(ARCHIVE))
    ran = site.meet(fault_server.bytes_instead(wrong))
    site.ends_with(ran, 4, 1, f"expected sha256 {of_bytes(ARCHIVE)}", f"found    sha256 {of_bytes(wrong)}")
    assert site.partial == []


# Networks


def _has_ipv6() -> bool:
    with suppress(OSError), socket.socket(socket.AF_INET6) as trial:
        trial.bind(("::1", 0))
        return True
    return False


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 on loopback")
def test_a_server_that_only_speaks_ipv6(site: Site) -> None:
    with FaultServer({PATH: ARCHIVE}, host="::1") as server:
        site.publish(url=f"{server.url}{PATH}")
        ran = site.meet()
        assert len(server.requests) == 1
    site.ends_well(ran, 0)


def test_nobody_listens(site: Site) -> None:
    site.publish(url="http://127.0.0.1:9/a.tar.gz")
    site.ends_with(site.meet(), 5, 0, "cannot download http://127.0.0.1:9/a.tar.gz", "tried 3 times")
