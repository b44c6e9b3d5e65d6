"""`doctor --network`: the hosts of an allow-list, and what they answer."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from server_fixtures.fault_server import FaultServer, redirect, serve, status
from tests.world import World

INDEX = b'{"schema": 1, "packages": {}}'


def _publish(world: World, *sources: str) -> None:
    manifest = world.project / "manifests/one/1.0.toml"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    artifacts = "".join(
        f'[[artifacts]]\nname = "{number}.tar.gz"\nsource = "{source}"\nsha256 = "{"ab" * 32}"\n'
        '[[artifacts.parts]]\ncomponent = "runtime"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
        for number, source in enumerate(sources)
    )
    manifest.write_text(
        f'schema = 1\npackage = "one"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n{artifacts}'
    )
    world.write('package = "one"\nplatforms = ["linux-x86_64"]\n')


def _hosts(world: World, code: int) -> dict[str, tuple[bool, str]]:
    ran = world.run("doctor", "--network", "--json")
    assert ran.code == code, ran.out
    return {
        finding["label"].removeprefix("host "): (finding["ok"], finding["detail"].partition(" (")[0])
        for finding in ran.json
        if finding["label"].startswith("host ") and ":" in finding["label"]
    }


def _name(server: FaultServer) -> str:
    return f"127.0.0.1:{server.port}"


def test_every_hop_counts(world: World) -> None:
    with FaultServer({"/a.tar.gz": b"a", "/b.tar.gz": b"b"}) as origin, FaultServer({"/a": b"a"}) as bucket:
        origin.faults["/a.tar.gz"] = [redirect(f"{bucket.url}/a?signature=hush")] * 2
        _publish(world, f"{origin.url}/a.tar.gz", f"{origin.url}/b.tar.gz")
        assert _hosts(world, 0) == {
            _name(origin): (True, "archives: redirects"),
            _name(bucket): (True, "archives: answers"),
        }
        assert len(origin.requests) == 1
        assert origin.requests[0].range == "bytes=0-0"
        world.ok("lock")
        assert set(_hosts(world, 0)) == {_name(origin), _name(bucket)}


def test_which_answer(world: World) -> None:
    with FaultServer({"/et/index.json": INDEX}) as mirror, FaultServer() as flat, FaultServer() as closed:
        closed.faults["/index.json"] = [status(401)]
        _publish(world, "http://127.0.0.1:9/a.tar.gz")
        world.ok("lock")
        world.setenv(ETFETCH_MIRRORS=f"{mirror.url}/et|{flat.url}|{closed.url}", ETFETCH_CONNECT_TIMEOUT="1")
        closed.faults["/index.json"] *= 3
        found = _hosts(world, 5)
        assert found[_name(mirror)] == (True, "mirror: answers")
        assert found[_name(flat)] == (True, "mirror: answers, without an index")
        assert found[_name(closed)] == (False, "mirror: answers 401, it wants a login")
        assert found["127.0.0.1:9"][0] is False
    table = world.run("doctor", "--network").out
    assert "PROBLEM  host 127.0.0.1:9" in table


def test_without_a_lock_a_closed_mirror_is_told(world: World) -> None:
    with FaultServer() as closed:
        closed.faults["/index.json"] = [status(401)] * 3
        _publish(world, "http://127.0.0.1:9/a.tar.gz")
        world.setenv(ETFETCH_BASE_URL=closed.url)
        assert _hosts(world, 5) == {_name(closed): (False, "mirror: answers 401, it wants a login")}


def test_a_blocked_origin_is_not_asked(world: World) -> None:
    with FaultServer({"/a.tar.gz": b"a"}) as origin, FaultServer({"/index.json": INDEX}) as mirror:
        _publish(world, f"{origin.url}/a.tar.gz")
        world.setenv(ETFETCH_BASE_URL=mirror.url, ETFETCH_BLOCK_ORIGIN="1")
        assert set(_hosts(world, 0)) == {_name(mirror)}
        assert origin.requests == []


def test_offline_nobody_is_asked(world: World) -> None:
    with FaultServer({"/a.tar.gz": b"a"}) as origin:
        _publish(world, f"{origin.url}/a.tar.gz")
        world.setenv(ETFETCH_OFFLINE="1")
        ran = world.run("doctor", "--network")
        assert ran.code == 6
        assert origin.requests == []


def _client(world: World, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = world.root / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{words}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


@pytest.mark.parametrize("kind", ["pip", "npm"])
def test_the_hosts_of_package_indexes(world: World, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the user's own client is set up; the files often lie on a host of their own."""
    with FaultServer() as index, FaultServer({"/files/x": b"x"}) as files:
        if kind == "pip":
            index.files["/simple/some-thing/"] = f'<a href="{files.url}/files/x#sha256=0">x</a>'.encode()
            _client(world, "pip3", f"--index-url <url> Base URL (default {index.url}/simple)", monkeypatch)
            _publish(world, "pypi:some_thing==1/some_thing-1-py3-none-any.whl")
        else:
            index.files["/@a%2Fb"] = f'{{"dist": {{"tarball": "{files.url}/files/x"}}}}'.encode()
            _client(world, "npm", f"{index.url}/", monkeypatch)
            _publish(world, "npm:@a/b@1.0")
        assert _hosts(world, 0) == {
            _name(index): (True, f"{kind}: index: answers"),
            _name(files): (True, f"{kind}: archives: answers"),
        }


def test_a_client_that_does_not_say(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _client(world, "npm", "undefined", monkeypatch)
    _publish(world, "npm:x@1.0", "pypi:x==1/x-1-py3-none-any.whl", Path("/x.tar").as_uri())
    monkeypatch.setattr(
        "shutil.which", lambda name, *_: str(world.root / f"bin/{name}") if name == "npm" else None
    )
    monkeypatch.setattr("etfetch.sources.pypi._pip", lambda: ["/no/such/pip"])
    assert _hosts(world, 0) == {}


def test_an_index_that_does_not_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer() as index:
        index.faults["/x"] = [status(503)] * 9
        _client(world, "npm", index.url, monkeypatch)
        _publish(world, "npm:x@1.0")
        world.setenv(ETFETCH_RETRIES="1")
        assert _hosts(world, 5) == {_name(index): (False, "npm: index: answers 503")}
        index.faults["/x"] = [serve()]
