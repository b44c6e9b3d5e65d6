"""The other commands, and what every command owes its user."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from etfetch import __version__, arguments, cli, durable
from tests.world import REQUEST, World


def _commands(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group of commands."""
    yield words
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from _commands(child, (*words, name))


def test_every_command_is_run_by_something() -> None:
    named = set()
    for words in _commands(arguments.parser()):
        parser: argparse.ArgumentParser = arguments.parser()
        for word in words:
            [action] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
            parser = action.choices[word]
        named.add(parser.get_default("command"))
    assert named - {None} == set(cli._COMMANDS)


@pytest.mark.parametrize("command", list(_commands(arguments.parser())), ids=" ".join)
def test_help(world: World, command: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        world.run(*command, "--help")
    assert caught.value.code == 0


def test_every_flag_with_a_variable_says_so() -> None:
    text = arguments.parser().format_help()
    assert "ETFETCH_CACHE_DIR" in text
    assert "Exit codes" in text


def test_version(world: World) -> None:
    assert world.ok("--version").out == f"etfetch {__version__}\n"


@pytest.mark.parametrize(
    "words", [["instal"], ["install", "--frozn"], [], ["cache"], ["install", "--jobs", "0"]]
)
def test_bad_words_are_exit_2(world: World, words: list[str]) -> None:
    ran = world.run(*words)
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert "hint: run `etfetch" in ran.err


def test_a_slip_in_a_command(world: World) -> None:
    ran = world.run("instal")
    first, second, *_ = ran.err.splitlines()
    assert first == "error: COMMAND: `instal` is not one of them; did you mean `install`?"
    assert second.startswith("  install, lock, add")
    assert "did you mean `debug`?" in world.run("install", "--variant", "debgu").err


def test_errors_as_json(world: World) -> None:
    world.write(REQUEST.replace("fast", "fsat"))
    ran = world.run("install", "--json")
    assert ran.code == 7
    assert ran.err == ""
    error = ran.json["error"]
    assert (error["code"], error["kind"]) == (7, "resolution")
    assert "did you mean `fast`?" in error["message"]
    assert error["hint"]


def test_an_unknown_word_with_json_is_json_too(world: World) -> None:
    assert world.run("install", "--json", "--nope").json["error"]["kind"] == "usage"


def test_quiet_says_nothing(world: World) -> None:
    world.write()
    assert world.ok("install", "-q") == world.ok("install", "--quiet")
    assert world.ok("install", "-q").err == ""


def test_verbose_says_where_things_came_from(world: World) -> None:
    world.write()
    ran = world.ok("install", "-v")
    assert "using `etfetch.toml`" in ran.err
    assert "headers.tar.gz: network, sha256 " in ran.err


# lock


def test_lock_check(world: World) -> None:
    world.write()
    assert world.run("lock", "--check").code == 3
    ran = world.ok("lock")
    assert ran.err == "wrote `etfetch.lock`: demo 1.0.0 for linux-x86_64, 3 artifacts\n"
    assert "is up to date: demo 1.0.0" in world.ok("lock", "--check").err
    assert "unchanged: `etfetch.lock`" in world.ok("lock").err


def test_lock_check_shows_what_changed_in_the_request(world: World) -> None:
    world.write()
    world.ok("lock")
    world.write(REQUEST.replace('["fast"]', '["fast", "slow"]'))
    ran = world.run("lock", "--check")
    assert ran.code == 3
    assert "  backends: + slow\n" in ran.err


def test_lock_check_finds_a_forged_digest(world: World) -> None:
    world.write()
    world.ok("lock")
    text = world.lock.read_text()
    digest = text.partition('sha256 = "')[2][:64]
    world.lock.write_text(text.replace(digest, "0" * 64))
    ran = world.run("lock", "--check")
    assert ran.code == 3
    assert f'  -sha256 = "{"0" * 64}"' in ran.err
    assert f'  +sha256 = "{digest}"' in ran.err


def test_lock_keeps_the_release_until_it_is_told_otherwise(world: World) -> None:
    world.write(REQUEST.replace("==1.0.0", "<2"))
    newer = world.project / "manifests/demo/1.1.0.toml"
    kept = newer.read_text()
    newer.unlink()
    world.ok("lock")
    newer.write_text(kept)
    assert "demo 1.0.0" in world.ok("lock").err
    assert world.ok("outdated").out.splitlines()[1].split() == ["demo", "1.0.0", "1.1.0", "1.1.0"]
    assert "demo 1.1.0" in world.ok("lock", "--upgrade").err


def test_a_damaged_lock_is_never_overwritten(world: World) -> None:
    world.write()
    world.ok("lock")
    world.lock.write_text(world.lock.read_text() + "x")
    before = world.lock.read_bytes()
    for command in ("install", "lock", "verify", "list"):
        ran = world.run(command)
        assert ran.code == 2, command
        assert "restore `etfetch.lock` from version control" in ran.err
    assert world.lock.read_bytes() == before


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_the_same_lock_on_every_host(world: World, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = REQUEST.replace('"linux-x86_64"', '"linux-x86_64", "ios", "android-arm64-v8a"')
    world.write(request)
    world.ok("lock")
    expected = world.lock.read_bytes()
    world.lock.unlink()
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    world.ok("lock")
    assert world.lock.read_bytes() == expected


# add and remove


def test_add_keeps_comments(world: World) -> None:
    world.write()
    ran = world.ok("add", "slow", "kernels_quick")
    assert (world.project / "etfetch.toml").read_text() == REQUEST.replace(
        '["fast"]  #', '["fast", "slow"]  #'
    ) + 'kernels = ["quick"]\n'
    assert "backends: + slow" in ran.err
    assert "kernels: + quick" in ran.err
    assert "nothing to change" in world.ok("add", "slow").err


def test_add_before_a_table(world: World) -> None:
    world.write(
        '[project]\nname = "x"\n\n[tool.etfetch]\n' + REQUEST + "\n[tool.other]\nx = 1\n", "pyproject.toml"
    )
    world.ok("add", "quick", "speed")
    text = (world.project / "pyproject.toml").read_text()
    assert text.index('kernels = ["quick"]') < text.index("[tool.other]")
    assert 'features = ["speed"]' in text
    assert text.endswith("[tool.other]\nx = 1\n")


def test_add_and_remove_in_package_json(world: World) -> None:
    request = '"etfetch": {\n        "package": "demo",\n        "backends": []\n    }'
    before = f'{{\n    "name": "äpp",\n    {request}\n}}\n'
    world.write(before, "package.json")
    world.ok("add", "fast", "--project", ".")
    assert json.loads((world.project / "package.json").read_text())["etfetch"]["backends"] == ["fast"]
    world.ok("remove", "fast")
    assert (world.project / "package.json").read_text() == before


def test_remove(world: World) -> None:
    world.write(REQUEST.replace('["fast"]', '[\n  "fast",  # quick\n  "slow",  # not\n]'))
    world.ok("remove", "backend_slow")
    text = (world.project / "etfetch.toml").read_text()
    assert '"fast",  # quick' in text
    assert "slow" not in text.replace("# not", "")
    ran = world.run("remove", "slow")
    assert ran.code == 2
    assert "`etfetch.toml` does not ask for `slow`" in ran.err


def test_add_refuses_what_cannot_be(world: World) -> None:
    world.write()
    assert world.run("add", "never").code == 7
    ran = world.run("add", "fastt")
    assert ran.code == 2
    assert "demo 1.0.0 has nothing called `fastt`; did you mean `fast`?" in ran.err
    world.write(REQUEST + 'kernels = ["plain"]\n')
    assert world.run("add", "quick").code == 7
    assert (world.project / "etfetch.toml").read_text() == REQUEST + 'kernels = ["plain"]\n'


def test_add_without_a_project_file(world: World) -> None:
    ran = world.run("add", "fast")
    assert ran.code == 2
    assert "hint: run `etfetch init` first" in ran.err


# list, verify, why, outdated


def test_list(world: World) -> None:
    world.write()
    world.ok("lock")
    assert "not installed" in world.ok("list").out
    world.ok("install")
    lines = world.ok("list").out.splitlines()
    assert lines[0].split() == ["component", "version", "platform", "size", "sha256"]
    assert [line.split()[0] for line in lines[1:]] == ["backend_fast", "headers", "runtime"]
    rows = world.ok("list", "--json").json
    assert {row["component"] for row in rows} == {"backend_fast", "headers", "runtime"}
    assert all(len(row["sha256"]) == 64 and row["size"] > 0 for row in rows)


def test_list_without_a_lock(world: World) -> None:
    world.write()
    assert world.run("list").code == 3


def test_list_says_what_has_no_files(world: World) -> None:
    world.write(REQUEST.replace("linux-x86_64", "android-arm64-v8a"))
    world.ok("lock")
    assert "built into runtime" in world.ok("list").out


def test_verify(world: World) -> None:
    world.write()
    assert world.run("verify").code == 10
    world.ok("install")
    assert world.ok("verify").err == "7 files verified by size and time\n"
    changed = world.destination / "demo/include/demo/registry.h"
    stat = changed.stat()
    data = bytearray(changed.read_bytes())
    data[0] ^= 1
    changed.write_bytes(data)
    os.utime(changed, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    world.ok("verify")
    ran = world.run("verify", "--deep")
    assert ran.code == 10
    assert "  changed: demo/include/demo/registry.h\n" in ran.err
    changed.unlink()
    assert "  missing: demo/include/demo/registry.h\n" in world.run("verify").err


def test_verify_knows_another_lock(world: World) -> None:
    world.write()
    world.ok("install")
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    world.ok("lock")
    assert "the lock has changed since the last install" in world.run("verify").err


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fast", "  asked for by `backends` in `etfetch.toml`"),
        ("headers", "  required by `runtime`"),
        ("runtime", "  the runtime, which is always in"),
        ("slow", "`backend_slow` is not in: nothing asks for it, and nothing that is in requires it"),
        ("never", "`backend_never` cannot be had: nobody builds it"),
        ("1.1.0", "`1.1.0` was not taken: `==1.0.0` does not admit it"),
    ],
)
def test_why(world: World, name: str, line: str) -> None:
    world.write()
    assert line in world.ok("why", name).out.splitlines()


def test_why_an_unknown_name(world: World) -> None:
    world.write()
    ran = world.run("why", "fats")
    assert ran.code == 7
    assert "did you mean `fast`?" in ran.err


def test_outdated(world: World) -> None:
    world.write()
    world.ok("lock")
    assert world.ok("outdated", "--json").json == {
        "package": "demo",
        "locked": "1.0.0",
        "wanted": "1.0.0",
        "latest": "1.1.0",
        "newer": True,
    }


# doctor, cache, completion


def test_doctor(world: World) -> None:
    world.write()
    world.ok("install")
    ran = world.ok("doctor")
    assert str(world.cache) in ran.out
    (world.destination / "demo/include/demo/registry.h").unlink()
    ran = world.run("doctor", "--json")
    assert ran.code == 2
    assert any("1 missing or changed" in finding["detail"] for finding in ran.json)


def test_doctor_with_a_broken_project(world: World) -> None:
    world.write("backends = 1")
    ran = world.run("doctor")
    assert ran.code == 2
    assert "expected a list of strings" in world.run("install").err


def test_cache_commands(world: World) -> None:
    world.write()
    assert world.ok("cache", "dir").out == f"{world.cache}\n"
    world.ok("install")
    info = world.ok("cache", "info", "--json").json
    assert (info["blobs"]["entries"], info["trees"]["entries"]) == (3, 3)
    assert "3 archives and 3 trees verified by digest" in world.ok("cache", "verify").err
    assert "removed 0 old or damaged entries" in world.ok("cache", "prune").err
    assert "blobs" in world.ok("cache", "info").out
    world.ok("cache", "clean")
    assert world.ok("cache", "info", "--json").json["blobs"]["entries"] == 0
    assert "nothing to do" in world.ok("install").err


def test_cache_verify_finds_damage(world: World) -> None:
    world.write()
    world.ok("install")
    blob = next(path for path in (world.cache / "v1/blobs").rglob("*") if path.is_file())
    blob.write_bytes(b"x")
    file = next(path for path in (world.cache / "v1/trees").rglob("*.h"))
    file.write_bytes(bytes(file.stat().st_size))
    ran = world.run("cache", "verify")
    assert ran.code == 4
    assert "2 damaged in the cache, and set aside" in ran.err
    assert world.ok("cache", "info", "--json").json["damaged"]["entries"] == 2
    assert "removed 2 old or damaged entries" in world.ok("cache", "prune").err


def test_the_cache_is_tagged(world: World) -> None:
    world.write()
    world.ok("install")
    tag = (world.cache / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion(world: World, shell: str) -> None:
    assert "etfetch" in world.ok("completion", shell).out


def test_bash_takes_the_completion(world: World) -> None:
    script = world.ok("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


# What the world does


def test_a_read_only_project(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Simulated, because root may write everywhere.
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    world.write()
    monkeypatch.setattr(Path, "mkdir", refuse)
    ran = world.run("install")
    assert ran.code == 2
    assert "error: the file system refused: Permission denied" in ran.err
    assert ran.err.count("hint:") == 1
    assert not world.lock.exists()


@contextmanager
def _small_disk(folder: Path, options: str) -> Iterator[None]:
    """A tmpfs at `folder`; the test is skipped where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount here: {mounted.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(world: World) -> None:
    small = world.root / "small"
    with _small_disk(small, "size=32k"):
        world.write()
        (small / "filler").write_bytes(bytes(16 << 10))
        ran = world.run("install", "--destination", str(small / "third-party"))
        assert ran.code == 2
        assert "No space left on device" in ran.err
        assert not world.lock.exists()
        assert [path.name for path in small.iterdir()] == ["filler"]
        world.ok("cache", "verify")


def test_a_read_only_disk(world: World) -> None:
    small = world.root / "small"
    with _small_disk(small, "ro"):
        world.write()
        ran = world.run("install", "--destination", str(small / "third-party"))
        assert ran.code == 2
        assert "error: the file system refused: Read-only file system" in ran.err
        assert f"  {small / 'third-party'}" in ran.err
        assert not world.lock.exists()


def test_a_full_disk_in_the_cache(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    world.write()
    monkeypatch.setattr(durable, "fsync", full)
    ran = world.run("install")
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert not world.destination.exists()
    assert not world.lock.exists()


def test_a_fault_is_said_to_be_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etfetch.operations.caring.doctor", lambda _: 1 / 0)
    ran = world.run("doctor")
    assert ran.code == 1
    assert "this is a fault in etfetch" in ran.err


def test_a_closed_pipe_is_no_error(world: World) -> None:
    world.write()
    world.ok("lock")
    with world.spawn("list") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == ""


def test_names_from_outside_cannot_move_the_cursor(world: World) -> None:
    ran = world.run("why", "x\x1b[2J")
    assert "\x1b" not in ran.err


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "etfetch", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("etfetch ")
