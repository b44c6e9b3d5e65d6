"""Mirrors, logins and what mirrors publish: whole commands against servers that log what they are asked."""

from __future__ import annotations

import json
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from etfetch.credentials import basic, bearer
from etfetch.digest import of_bytes
from etfetch.sources import github
from server_fixtures import fault_server, release_tree
from server_fixtures.fault_server import FaultServer, redirect, serve, status
from server_fixtures.release_server import ReleaseServer, bytes_instead
from server_fixtures.release_server import status as release_status
from tests.world import World

FAST = "backend_fast-linux-x86_64.tar.xz"
ARCHIVES = {FAST, "headers.tar.gz", "runtime-linux-x86_64.tar.gz"}


@pytest.fixture
def mirror(world: World) -> Iterator[ReleaseServer]:
    """A second server over the same tree, whose manifests name the first as the origin."""
    with ReleaseServer(world.tree) as made:
        yield made


def _names(server: ReleaseServer) -> set[str]:
    return {path.rpartition("/")[2] for path in server.requests}


def _flat(world: World) -> Path:
    """A folder with all archives of a release beside each other."""
    folder = world.root / "flat"
    folder.mkdir()
    for archive in (world.tree / "demo/1.0.0").iterdir():
        if archive.name != "manifest.toml":
            shutil.copyfile(archive, folder / archive.name)
    return folder


# The list of places


def test_a_lock_made_against_the_origin_installs_from_a_mirror(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.ok("install")
    before, lock = world.files(), world.lock.read_bytes()
    shutil.rmtree(world.destination)
    world.ok("cache", "clean")
    world.server.requests.clear()
    world.setenv(ETFETCH_MIRRORS=mirror.url, ETFETCH_BLOCK_ORIGIN="1")
    world.ok("install", "--locked")
    assert world.files() == before
    assert world.lock.read_bytes() == lock
    assert world.server.requests == []
    assert mirror.requests[0] == "/index.json"
    assert sorted(mirror.requests[1:]) == sorted(f"/demo/1.0.0/{name}" for name in ARCHIVES)


def test_a_lock_made_with_a_mirror_is_the_same(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.ok("lock")
    lock = world.lock.read_bytes()
    world.lock.unlink()
    world.ok("install", "--base-url", mirror.url)
    assert world.lock.read_bytes() == lock
    assert mirror.url not in lock.decode()
    assert world.server.requests == []


def test_a_flat_mirror(world: World) -> None:
    world.write()
    with ReleaseServer(_flat(world)) as flat:
        world.setenv(ETFETCH_BASE_URL=f"{flat.url}/")
        world.ok("install")
        assert sorted(flat.requests) == sorted(["/index.json", *(f"/{name}" for name in ARCHIVES)])
    assert world.server.requests == []


@pytest.mark.parametrize("flat", [True, False])
def test_a_folder_is_a_mirror(world: World, flat: bool) -> None:
    world.write()
    folder = _flat(world) if flat else world.tree
    world.setenv(ETFETCH_BASE_URL=folder.as_uri(), ETFETCH_BLOCK_ORIGIN="1")
    world.ok("install")
    assert world.server.requests == []


def test_mirrors_in_the_project_file(world: World, mirror: ReleaseServer) -> None:
    world.write(
        'package = "demo"\nversion = "==1.0.0"\nplatforms = ["linux-x86_64"]\n'
        f'[mirror]\nurls = ["{mirror.url}"]\n'
    )
    world.ok("install")
    assert world.server.requests == []
    assert "1.0.0" in world.lock.read_text()
    assert mirror.url not in world.lock.read_text()


def test_after_a_comma_only_a_missing_file_leads_on(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS=f"{mirror.url},origin")
    mirror.faults[FAST] = [release_status(404)]
    world.ok("install")
    assert world.server.asked_for(FAST) == 1
    assert mirror.asked_for(FAST) == 1
    assert len(world.server.requests) == 1


@pytest.mark.parametrize("code", [401, 403, 500])
def test_after_a_comma_any_other_failure_stops(world: World, mirror: ReleaseServer, code: int) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS=f"{mirror.url},origin")
    mirror.faults[FAST] = [release_status(code)] * 9
    ran = world.run("install")
    assert ran.code == 5
    assert f"{mirror.url}/demo/1.0.0/{FAST} answered {code}" in ran.err
    assert world.server.asked_for(FAST) == 0
    assert not world.lock.exists()


@pytest.mark.parametrize("code", [401, 403, 500, 404])
def test_after_a_bar_any_failure_leads_on(world: World, mirror: ReleaseServer, code: int) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS=f"{mirror.url}|origin")
    mirror.faults[FAST] = [release_status(code)] * 9
    world.ok("install")
    assert world.server.asked_for(FAST) == 1


def test_after_a_bar_wrong_bytes_lead_on(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS=f"{mirror.url}|origin")
    size = world.archive(FAST).stat().st_size
    mirror.faults[FAST] = [bytes_instead(bytes(size))]
    world.ok("install")
    assert world.server.asked_for(FAST) == 1
    world.ok("cache", "verify")


def test_after_a_bar_a_dead_mirror_leads_on(world: World) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS="http://127.0.0.1:9|origin", ETFETCH_RETRIES="1")
    world.ok("install")
    assert _names(world.server) == ARCHIVES


def test_after_a_comma_a_dead_mirror_stops(world: World) -> None:
    world.write()
    world.setenv(ETFETCH_MIRRORS="http://127.0.0.1:9", ETFETCH_RETRIES="1")
    ran = world.run("install")
    assert ran.code == 5
    assert "cannot download http://127.0.0.1:9/index.json" in ran.err
    assert world.server.requests == []


def test_on_no_server_at_all(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.archive(FAST).unlink()
    world.setenv(ETFETCH_MIRRORS=mirror.url)
    ran = world.run("install")
    assert ran.code == 5
    assert f"`{FAST}` could not be had from any of 2 places" in ran.err
    for server in (mirror, world.server):
        assert f"{server.url}/demo/1.0.0/{FAST} answered 404" in ran.err


def test_blocked_and_on_no_mirror(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.archive(FAST).unlink()
    world.setenv(ETFETCH_MIRRORS=mirror.url, ETFETCH_BLOCK_ORIGIN="1")
    ran = world.run("install", "--json")
    assert ran.code == 6
    error = ran.json["error"]
    assert error["kind"] == "offline"
    assert error["message"].startswith(f"`{FAST}` is on no mirror, and its origin is blocked\n")
    assert error["hint"] == ("add it to a mirror (`etfetch mirror create`), or unset `ETFETCH_BLOCK_ORIGIN`")
    assert world.server.requests == []


def test_blocked_without_a_mirror(world: World) -> None:
    world.write()
    world.setenv(ETFETCH_BLOCK_ORIGIN="1")
    ran = world.run("install")
    assert ran.code == 6
    assert "no mirror is named" in ran.err
    assert world.server.requests == []


def test_registries_are_not_asked_for_what_a_mirror_has(world: World, mirror: ReleaseServer) -> None:
    """`pypi:` and `npm:` artifacts are plain files on a mirror."""
    folder = world.tree / "reg/1.0"
    folder.mkdir(parents=True)
    manifest = 'schema = 1\npackage = "reg"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n'
    sources = {
        "x-1.0-py3-none-any.whl": "pypi:x==1.0/x-1.0-py3-none-any.whl",
        "x-1.0.tgz": "npm:x@1.0",
    }
    for name, source in sources.items():
        entry = release_tree.Entry(f"package/{name}.h", b"/* */")
        data = release_tree.pack_zip([entry]) if name.endswith("whl") else release_tree.pack_tar([entry])
        (folder / name).write_bytes(data)
        manifest += (
            f'[[artifacts]]\nname = "{name}"\nsource = "{source}"\nsha256 = "{of_bytes(data)}"\n'
            '[[artifacts.parts]]\ncomponent = "runtime"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
        )
    (folder / "manifest.toml").write_text(manifest)
    release_tree.write_index(world.tree)
    world.setenv(ETFETCH_BASE_URL=mirror.url, ETFETCH_BLOCK_ORIGIN="1", PATH="/nowhere")
    world.ok("install", "reg", "--platform", "linux-x86_64")
    assert set(world.files()) == {"package/x-1.0-py3-none-any.whl.h", "package/x-1.0.tgz.h"}
    assert "pypi:x==1.0/" in world.lock.read_text()


# What mirrors publish


def test_a_new_release_is_found_in_a_mirrors_index(world: World, mirror: ReleaseServer) -> None:
    shutil.rmtree(world.project / "manifests")
    world.write('package = "demo"\nplatforms = ["linux-x86_64"]\nbackends = ["fast"]\nkernels = ["plain"]\n')
    assert world.run("install").code == 7
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    world.ok("install")
    assert 'release = "1.1.0"' in world.lock.read_text()
    assert mirror.asked_for("manifest.toml") == 3
    assert mirror.asked_for("demo-plain.txt") == 1
    assert world.ok("outdated", "--json").json["latest"] == "1.1.0"
    # By their digests they are in the cache, and are not asked for again.
    assert mirror.asked_for("manifest.toml") == 3
    assert mirror.asked_for("index.json") == 2
    world.ok("install", "--offline", "--frozen")
    assert mirror.asked_for("index.json") == 2


def test_add_and_why_know_the_mirrors_releases(world: World, mirror: ReleaseServer) -> None:
    shutil.rmtree(world.project / "manifests")
    world.write('package = "demo"\nplatforms = ["linux-x86_64"]\n')
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    world.ok("add", "slow")
    assert "`backend_slow` is in" in world.ok("why", "slow").out


def test_catalogues_that_disagree(world: World, mirror: ReleaseServer) -> None:
    world.write()
    manifest = world.project / "manifests/demo/1.0.0.toml"
    manifest.write_text(manifest.read_text() + "\n# mine\n")
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    ran = world.run("install")
    assert ran.code == 2
    assert "two catalogues describe demo 1.0.0 differently" in ran.err
    assert f"  {manifest}\n" in ran.err
    assert f"  {mirror.url}/demo/1.0.0/manifest.toml\n" in ran.err


def test_operator_sets_that_disagree(world: World, mirror: ReleaseServer) -> None:
    shutil.rmtree(world.project / "manifests/demo")
    (world.project / "manifests/operators/demo-plain.txt").write_text("other::op\n")
    (world.project / "manifests/demo").mkdir()
    world.write()
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    ran = world.run("install")
    assert ran.code == 2
    assert "two catalogues hold different operators under `demo-plain`" in ran.err


def test_a_manifest_that_is_not_the_indexs(world: World, mirror: ReleaseServer) -> None:
    shutil.rmtree(world.project / "manifests")
    world.write()
    path = world.tree / "demo/1.0.0/manifest.toml"
    path.write_text(path.read_text() + "# changed\n")
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    ran = world.run("install")
    assert ran.code == 4
    assert f"`{mirror.url}/demo/1.0.0/manifest.toml` is not what the mirror's index says" in ran.err
    assert not world.lock.exists()


@pytest.mark.parametrize("text", ["<!DOCTYPE html><html>", "{", "[" * 5000])
def test_an_index_that_is_none(world: World, mirror: ReleaseServer, text: str) -> None:
    (world.tree / "index.json").write_text(text)
    world.write()
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    ran = world.run("install")
    assert ran.code == 5
    assert f"{mirror.url}/index.json is not the index of a release server" in ran.err


def test_an_index_of_the_future(world: World, mirror: ReleaseServer) -> None:
    (world.tree / "index.json").write_text('{"schema": 2}')
    world.write()
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    ran = world.run("install")
    assert ran.code == 2
    assert f"{mirror.url}/index.json: schema: this etfetch reads indexes of schema 1, not 2" in ran.err


def test_a_bucket_that_may_not_be_listed_is_flat(world: World, mirror: ReleaseServer) -> None:
    world.write()
    with ReleaseServer(_flat(world)) as flat:
        flat.faults["index.json"] = [release_status(403)] * 2
        world.setenv(ETFETCH_BASE_URL=flat.url)
        world.ok("install")


def test_the_sidecar_of_a_mirror(world: World, mirror: ReleaseServer) -> None:
    world.write('package = "demo"\nversion = "==1.0.0"\nplatforms = ["linux-x86_64"]\nbackends = ["slow"]\n')
    world.setenv(ETFETCH_BASE_URL=mirror.url, ETFETCH_BLOCK_ORIGIN="1")
    world.ok("install")
    assert mirror.asked_for("backend_slow-linux-x86_64.tar.gz.sha256") == 1


def test_offline_asks_no_mirror(world: World, mirror: ReleaseServer) -> None:
    world.write()
    world.setenv(ETFETCH_BASE_URL=mirror.url)
    assert world.run("install", "--offline").code == 6
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    world.ok("install")
    assert mirror.requests == []


# Logins

DATA = release_tree.pack_tar([release_tree.Entry("x.h", b"/* */")])
PRIVATE = "/et/one/1.0/a.tar.gz"


def _project(world: World, source: str = "https://origin.invalid/a.tar.gz") -> None:
    manifest = world.project / "manifests/one/1.0.toml"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(
        'schema = 1\npackage = "one"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n'
        f'[[artifacts]]\nname = "a.tar.gz"\nsource = "{source}"\nsha256 = "{of_bytes(DATA)}"\n'
        '[[artifacts.parts]]\ncomponent = "runtime"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
    )
    world.write('package = "one"\nplatforms = ["linux-x86_64"]\n')


def _guarded(header: str, then: fault_server.Fault | None = None) -> fault_server.Fault:
    """401 without exactly this header."""

    async def fault(exchange: fault_server.Exchange) -> None:
        granted = exchange.asked.headers.get("authorization") == header
        await ((then or serve()) if granted else status(401))(exchange)

    return fault


def _index() -> bytes:
    return json.dumps({"schema": 1, "packages": {}}).encode()


def test_the_token_goes_to_the_base_url_and_nowhere_else(world: World) -> None:
    with FaultServer({PRIVATE: DATA, "/et/index.json": _index()}) as server, FaultServer() as origin:
        _project(world, f"{origin.url}/a.tar.gz")
        server.faults = {path: [_guarded(bearer("hush"))] * 9 for path in server.files}
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/et")
        ran = world.run("install")
        assert ran.code == 5
        assert "answered 401" in ran.err
        assert "`ETFETCH_TOKEN`" in ran.err
        world.setenv(ETFETCH_TOKEN="hush")
        ran = world.ok("install", "-v")
        assert "hush" not in ran.err + ran.out + world.lock.read_text()
        # What the mirror does not have is asked for at the origin, which learns nothing.
        del server.files[PRIVATE]
        server.faults[PRIVATE] = [status(404)]
        shutil.rmtree(world.destination)
        world.ok("cache", "clean")
        origin.files["/a.tar.gz"] = DATA
        world.ok("install")
        [asked] = origin.requests
        assert "authorization" not in asked.headers


def test_a_login_in_the_base_url(world: World) -> None:
    with FaultServer({PRIVATE: DATA, "/et/index.json": _index()}) as server:
        _project(world)
        server.faults = {path: [_guarded(basic("me", "se:cret"))] * 9 for path in server.files}
        address = server.url.replace("://", "://me:se%3Acret@")
        ran = world.ok("install", "-v", "--base-url", f"{address}/et")
        assert "cret" not in ran.err + ran.out + world.lock.read_text()
        for asked in server.requests:
            assert "cret" not in asked.path
    shutil.rmtree(world.destination)
    world.ok("cache", "clean")
    ran = world.run("install", "--base-url", f"{address}/et")
    assert ran.code == 5
    assert "cret" not in ran.err


def test_a_redirect_elsewhere_drops_the_login_for_good(world: World) -> None:
    with FaultServer({PRIVATE: DATA, "/et/index.json": _index(), "/back": DATA}) as server:
        with FaultServer({"/bucket/a": DATA}) as bucket:
            _project(world)
            world.setenv(ETFETCH_BASE_URL=f"{server.url}/et", ETFETCH_TOKEN="hush")
            server.faults[PRIVATE] = [redirect(f"{bucket.url}/bucket/a")]
            bucket.faults["/bucket/a"] = [redirect(f"{server.url}/back")]
            world.ok("install")
            assert [asked.headers.get("authorization") for asked in bucket.requests] == [None]
        sent = {asked.path: asked.headers.get("authorization") for asked in server.requests}
        assert sent == {"/et/index.json": bearer("hush"), PRIVATE: bearer("hush"), "/back": None}


def test_a_redirect_on_the_same_server_keeps_the_login(world: World) -> None:
    with FaultServer({"/moved": DATA, "/et/index.json": _index()}) as server:
        _project(world)
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/et", ETFETCH_TOKEN="hush")
        server.faults = {PRIVATE: [redirect("/moved")], "/moved": [_guarded(bearer("hush"))]}
        world.ok("install")


def test_netrc(world: World) -> None:
    netrc = world.root / "logins"
    netrc.write_text("machine 127.0.0.1 login me password hush\n")
    world.setenv(NETRC=str(netrc))
    with FaultServer({"/a.tar.gz": DATA}) as server:
        _project(world, f"{server.url}/a.tar.gz")
        server.faults["/a.tar.gz"] = [_guarded(basic("me", "hush"))]
        world.ok("install")


# Private releases on GitHub


def _forge(token: str) -> FaultServer:
    """An Enterprise server with a private release: the plain address is 404 for everybody."""
    release = {"assets": [{"id": 3, "name": "other"}, {"id": 7, "name": "a.tar.gz"}]}
    api = "/api/v3/repos/o/r/releases"
    server = FaultServer({f"{api}/tags/v1%2F0": json.dumps(release).encode(), f"{api}/assets/7": DATA})
    server.faults = {path: [_guarded(bearer(token))] * 9 for path in server.files}
    return server


def test_a_private_release(world: World) -> None:
    with _forge("hush") as server:
        base = f"{server.url}/o/r/releases/download/v1%2F0"
        _project(world)
        world.setenv(ETFETCH_BASE_URL=base, ETFETCH_TOKEN="hush", ETFETCH_BLOCK_ORIGIN="1")
        world.ok("install")
        assert [asked.path for asked in server.requests] == [
            "/o/r/releases/download/v1%2F0/index.json",
            "/o/r/releases/download/v1%2F0/a.tar.gz",
            "/api/v3/repos/o/r/releases/tags/v1%2F0",
            "/api/v3/repos/o/r/releases/assets/7",
        ]
        assert server.requests[-1].headers["accept"] == "application/octet-stream"


def test_a_private_release_whose_asset_lies_in_a_bucket(world: World) -> None:
    with _forge("hush") as server, FaultServer({"/signed": DATA}) as bucket:
        path = "/api/v3/repos/o/r/releases/assets/7"
        cut = serve(cut=50)
        server.faults[path] = [redirect(f"{bucket.url}/signed?sig={n}") for n in range(2)]
        bucket.faults["/signed"] = [cut]
        _project(world)
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/o/r/releases/download/v1%2F0", ETFETCH_TOKEN="hush")
        world.ok("install")
        assert [asked.headers.get("authorization") for asked in bucket.requests] == [None, None]
        assert bucket.requests[1].range.startswith("bytes=50-")


def test_without_a_token_nobody_looks_behind_the_404(world: World) -> None:
    with _forge("hush") as server:
        _project(world)
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/o/r/releases/download/v1%2F0", ETFETCH_BLOCK_ORIGIN="1")
        assert world.run("install").code == 6
        assert len(server.requests) == 2


def test_an_asset_that_the_release_does_not_have(world: World) -> None:
    with _forge("hush") as server:
        server.files["/api/v3/repos/o/r/releases/tags/v1%2F0"] = b'{"assets": []}'
        _project(world)
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/o/r/releases/download/v1%2F0", ETFETCH_TOKEN="hush")
        world.setenv(ETFETCH_BLOCK_ORIGIN="1")
        assert world.run("install").code == 6


def test_an_api_that_answers_nonsense(world: World) -> None:
    with _forge("hush") as server:
        server.files["/api/v3/repos/o/r/releases/tags/v1%2F0"] = b"[]"
        _project(world)
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/o/r/releases/download/v1%2F0", ETFETCH_TOKEN="hush")
        ran = world.run("install")
        assert ran.code == 5
        assert "did not answer with a release" in ran.err


def test_the_sidecar_of_a_private_release(world: World) -> None:
    with _forge("hush") as server:
        tags, api = "/api/v3/repos/o/r/releases/tags/v1%2F0", "/api/v3/repos/o/r/releases/assets"
        assets = [{"id": 7, "name": "a.tar.gz"}, {"id": 8, "name": "a.tar.gz.sha256"}]
        server.files[tags] = json.dumps({"assets": assets}).encode()
        server.files[f"{api}/8"] = f"{of_bytes(DATA)}\n".encode()
        server.faults[f"{api}/8"] = [_guarded(bearer("hush"))]
        _project(world)
        manifest = world.project / "manifests/one/1.0.toml"
        manifest.write_text(
            manifest.read_text().replace(f'sha256 = "{of_bytes(DATA)}"', 'checksum = "sidecar"')
        )
        world.setenv(ETFETCH_BASE_URL=f"{server.url}/o/r/releases/download/v1%2F0", ETFETCH_TOKEN="hush")
        world.ok("install")
        assert of_bytes(DATA) in world.lock.read_text()


@pytest.mark.parametrize(
    ("url", "release"),
    [
        (
            "https://github.com/o/r.x/releases/download/v1.0/a%20b.zip",
            "https://api.github.com/repos/o/r.x/releases/tags/v1.0",
        ),
        (
            "https://git.internal:8443/o/r/releases/download/v%2B1/a%20b.zip",
            "https://git.internal:8443/api/v3/repos/o/r/releases/tags/v%2B1",
        ),
    ],
)
def test_where_a_private_asset_is_looked_up(url: str, release: str) -> None:
    assert github.asset_of(url) == github.Asset(release, "a b.zip")


@pytest.mark.parametrize(
    "url",
    ["https://github.com/o/r/archive/v1.zip", "https://h/releases/download/v1/a.zip", "file:///o/r/releases"],
)
def test_what_is_no_asset(url: str) -> None:
    assert github.asset_of(url) is None


# Certificates


@pytest.fixture
def authority(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A private authority: a server's context, and the certificate to trust."""
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    path = tmp_path / "ca.pem"
    ca.cert_pem.write_to_path(str(path))
    return context, path


def test_a_private_authority(world: World, authority: tuple[ssl.SSLContext, Path]) -> None:
    context, path = authority
    with FaultServer({"/a.tar.gz": DATA}, tls=context) as server:
        _project(world, f"{server.url}/a.tar.gz")
        ran = world.run("install")
        assert ran.code == 5
        assert "its certificate is not trusted" in ran.err
        assert "hint: if your company signs its own" in ran.err
        assert server.requests == []
        world.setenv(SSL_CERT_FILE=str(path))
        world.ok("install")
    shutil.rmtree(world.destination)


def test_npms_certificate_file(world: World, authority: tuple[ssl.SSLContext, Path]) -> None:
    context, path = authority
    with FaultServer({"/a.tar.gz": DATA}, tls=context) as server:
        _project(world, f"{server.url}/a.tar.gz")
        world.setenv(npm_config_user_agent="npm/11", npm_config_cafile=str(path), SSL_CERT_FILE="")
        world.ok("install")


@pytest.mark.parametrize("name", ["/no/such/ca.pem", __file__])
def test_certificates_that_cannot_be_read(world: World, name: str) -> None:
    _project(world, "https://127.0.0.1:9/a.tar.gz")
    world.setenv(SSL_CERT_FILE=name)
    ran = world.run("install")
    assert ran.code == 2
    assert f"cannot read the certificates in `{name}`" in ran.err


@pytest.mark.parametrize(
    ("proxy", "told"),
    [("gopher://me:hush@p:1", "it is no address"), ("socks5://me:hush@p:1", "it is SOCKS, which needs")],
)
def test_a_proxy_that_cannot_be_used(world: World, proxy: str, told: str) -> None:
    _project(world, "https://127.0.0.1:9/a.tar.gz")
    world.setenv(ALL_PROXY=proxy, NO_PROXY="", no_proxy="")
    ran = world.run("install")
    assert ran.code == 2
    assert told in ran.err
    assert "hush" not in ran.err


def test_encryption_is_never_given_up(world: World, authority: tuple[ssl.SSLContext, Path]) -> None:
    context, path = authority
    with FaultServer(tls=context) as server, FaultServer({"/a.tar.gz": DATA}) as plain:
        server.faults["/a.tar.gz"] = [redirect(f"{plain.url}/a.tar.gz")]
        _project(world, f"{server.url}/a.tar.gz")
        world.setenv(SSL_CERT_FILE=str(path))
        ran = world.run("install")
        assert ran.code == 5
        assert "redirects to an address without encryption" in ran.err
        assert plain.requests == []


# Secrets

SECRETS = ("hush-url", "hush-token", "hush-netrc", "hush-config", "hush-query")


@pytest.mark.parametrize(
    "fault",
    [
        serve(),
        status(401),
        status(500),
        status(404),
        fault_server.reset_before_headers,
        fault_server.bytes_instead(b"<!DOCTYPE html><p>log in</p>"),
        fault_server.bytes_instead(b"wrong bytes"),
        redirect("gopher://elsewhere/?x=hush-query"),
        redirect("http://127.0.0.1:9/?x=hush-query"),
        fault_server.stall(10),
    ],
)
@pytest.mark.parametrize("words", [["-v"], ["--json"]])
def test_no_secret_anywhere(world: World, fault: fault_server.Fault, words: list[str]) -> None:
    """Whatever goes wrong: not in what is said, not in a file that is written, not at another server."""
    netrc, configuration = world.root / "netrc", world.root / "config.toml"
    netrc.write_text("machine 127.0.0.1 login me password hush-netrc\n")
    configuration.write_text('[credentials."other.internal"]\ntoken = "hush-config"\n')
    world.setenv(
        NETRC=str(netrc),
        ETFETCH_CONFIG=str(configuration),
        ETFETCH_TOKEN="hush-token",
        ETFETCH_READ_TIMEOUT="0.5",
    )
    with FaultServer({PRIVATE: DATA, "/et/index.json": _index()}) as server, FaultServer() as origin:
        _project(world, f"{origin.url.replace('127.0.0.1', 'localhost')}/a.tar.gz")
        server.faults[PRIVATE] = [fault] * 9
        address = server.url.replace("://", "://me:hush-url@")
        world.setenv(ETFETCH_MIRRORS=f"{address}/et|origin")
        ran = world.run("install", *words)
        said = ran.out + ran.err
        for asked in origin.requests:
            said += repr(asked)
    for folder in (world.project, world.cache):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                said += f"{path}\n{path.read_bytes()!r}"
    assert [secret for secret in SECRETS if secret in said] == []
