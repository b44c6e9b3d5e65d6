"""The lock: the same bytes for the same answer, and nothing but those bytes is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from etfetch import lockfile, shelf
from etfetch.errors import LockfileError
from etfetch.lockfile import Lock, build, parse, render
from etfetch.needs import ModelNeeds
from etfetch.request import Request
from etfetch.resolve import resolve
from etfetch.toml import loads
from tests.strategies import LOCKS

GOLDEN = Path(__file__).parent / "golden"
CARRIED = shelf.read_folder(shelf.carried_folder(), "manifests")


def _lock(request: Request) -> Lock:
    return build(resolve(request, CARRIED), {})


LINUX = _lock(Request("executorch", "==1.5.1", ("linux-x86_64",), backends=("xnnpack",)))
MOBILE = _lock(
    Request("react-native-executorch", "==0.9.2", ("android-arm64-v8a", "ios"), libraries=("opencv",))
)

NEEDS = ModelNeeds("assets/a.pte", "12" * 32, ("XnnpackBackend",), ("aten::addmm.out", "aten::cumsum.out"))
WITH_MODELS = Request("executorch", "==1.5.1", ("linux-x86_64",), models=("assets/**/*.pte",))
MODELS = build(resolve(WITH_MODELS, CARRIED, models=[NEEDS]), {})


@settings(max_examples=200, deadline=None)
@given(LOCKS)
def test_round_trip(lock: Lock) -> None:
    assert parse(render(lock)) == lock


@settings(max_examples=100, deadline=None)
@given(LOCKS)
def test_it_is_toml_with_lf(lock: Lock) -> None:
    text = render(lock)
    assert loads(text)["version"] == (2 if lock.request.models or lock.models else 1)
    assert "\r" not in text
    assert text.endswith("\n")


@pytest.mark.parametrize(("name", "lock"), [("linux", LINUX), ("mobile", MOBILE), ("models", MODELS)])
def test_the_bytes_never_change(name: str, lock: Lock) -> None:
    # A change here breaks the locks of everybody: it needs a new lock version.
    assert render(lock).encode() == (GOLDEN / f"{name}.lock").read_bytes()


def test_the_order_of_a_request_does_not_matter() -> None:
    wanted = Request("executorch", "==1.4.1", ("ios", "macos-arm64"), extras=("coreml", "xnnpack"))
    other = replace(wanted, platforms=("macos-arm64", "ios"), extras=("xnnpack", "coreml"))
    one, two = build(resolve(wanted, CARRIED), {}), build(resolve(other, CARRIED), {})
    assert one.artifacts == two.artifacts
    assert one.components[0].name == two.components[0].name


def test_nothing_of_this_machine_is_in_it() -> None:
    text = render(MOBILE)
    assert str(Path.home()) not in text
    assert "/tmp" not in text


def test_one_backend_more_is_a_small_difference() -> None:
    request = replace(LINUX.request, backends=("openvino", "xnnpack"))
    before, after = render(LINUX).splitlines(), render(_lock(request)).splitlines()
    assert len(set(before) - set(after)) <= 3
    assert len(after) - len(before) < 25


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'strip = 1\nto = "executorch/linux-x86_64"',
            'strip = 1\nto = "../x"',
            "`../x`: `..` is not allowed",
        ),
        ('to = "executorch', 'to = "/executorch', "the path is absolute"),
        ("executorch/lib/libexecutorch.so", "../../etc/passwd", "`..` is not allowed in a path"),
        ('sha256 = "2', 'sha256 = "', "artifacts[0].sha256: expected 64 hex digits"),
        ("pypi:", "gopher:", "artifacts[0].source: `gopher:"),
        ("size = 18887977", "size = 18887978\n", "not what etfetch wrote: edited by hand or damaged"),
        ('kind = "backend"', 'kind = "backend" # mine', "not what etfetch wrote"),
        ('release = "1.5.1"', 'release = "1.5.1"\nmore = 1', "etfetch.lock: more: unknown key"),
        ('variant = "release"', 'variant = "debug"', "fingerprint: is not that of the request"),
        ('version = "==1.5.1"', 'version = "=1.5.1"', "request.version: `=1.5.1` is not a version"),
        ("version = 1\n", "version = [\n", "etfetch.lock: damaged: "),
        ("[request]", "<<<<<<< HEAD\n[request]", "etfetch.lock: damaged: "),
        ('name = "executorch-1.5.1', 'name = "../executorch-1.5.1', "is not a file name: it holds a slash"),
    ],
)
def test_what_is_refused(old: str, new: str, message: str) -> None:
    _refused(LINUX, old, new, message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("assets/a.pte", "/etc/passwd", "models[0].path: `/etc/passwd`: the path is absolute"),
        ("assets/a.pte", "assets/../../a", "models[0].path: `assets/../../a`: `..` is not allowed in a path"),
        ('"assets/**', '"/assets/**', "request.models: `/assets/**/*.pte`: expected a path relative to"),
        ('sha256 = "12', 'sha256 = "', "models[0].sha256: expected 64 hex digits"),
        ("version = 2", "version = 1", "etfetch.lock:3: not what etfetch wrote"),
        ("aten::cumsum", "aten::addmm\ncumsum", "etfetch.lock: damaged: "),
    ],
)
def test_what_is_refused_of_models(old: str, new: str, message: str) -> None:
    _refused(MODELS, old, new, message)


def _refused(lock: Lock, old: str, new: str, message: str) -> None:
    """A lock's text with one change is not read, with this message."""
    text = render(lock)
    assert old in text
    with pytest.raises(LockfileError) as caught:
        parse(text.replace(old, new, 1))
    assert message in caught.value.message
    assert caught.value.hint == lockfile._REPAIR
    assert caught.value.code == 2


def test_without_models_nothing_changes() -> None:
    # Their fingerprints were computed before a request could name models.
    assert LINUX.request.fingerprint == "ab1a11fad6296ba8082f66f4189edf6f2d7c3dca7c05a4f1434cd1515cc67288"
    assert LINUX.version == 1
    assert MODELS.version == 2


def test_a_newer_lock_is_refused_with_a_hint() -> None:
    with pytest.raises(LockfileError) as caught:
        parse(render(LINUX).replace("version = 1\n", "version = 3\n", 1))
    assert caught.value.message == (
        "etfetch.lock: lock version 3 is not known to this etfetch, which reads versions 1 and 2"
    )
    assert caught.value.hint == "upgrade etfetch to the version that wrote the lock"


def test_the_line_of_a_hand_edit_is_named() -> None:
    text = render(LINUX).replace('kind = "backend"', 'kind =   "backend"', 1)
    line = text.splitlines().index('kind =   "backend"') + 1
    with pytest.raises(LockfileError, match=rf"etfetch\.lock:{line}: not what etfetch wrote"):
        parse(text)


def test_a_truncated_lock_is_refused() -> None:
    text = render(LINUX)
    with pytest.raises(LockfileError):
        parse(text[: text.rindex("[[artifacts.parts.links]]")])


def test_crlf_is_accepted() -> None:
    assert parse(render(LINUX).replace("\n", "\r\n")) == LINUX


def test_for_platforms() -> None:
    android = MOBILE.for_platforms(["android-arm64-v8a"])
    [artifact] = android.artifacts
    assert {part.component for part in artifact.parts} == {"core", "headers", "opencv"}
    assert {p for part in artifact.parts for p in part.platforms} == {"android-arm64-v8a", "any"}
    assert MOBILE.for_platforms([]).artifacts == ()


def test_tree_keys_differ_by_what_is_selected() -> None:
    [artifact] = LINUX.artifacts
    keys = {lockfile.tree_key(artifact.sha256, part) for part in artifact.parts}
    assert len(keys) == len(artifact.parts)
    moved = replace(artifact.parts[0], to="elsewhere")
    assert lockfile.tree_key(artifact.sha256, moved) in keys
