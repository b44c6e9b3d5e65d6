"""The library's verbs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import etfetch
from tests import demo_models
from tests.world import World


def test_install_lock_verify(world: World) -> None:
    project = world.project
    report = etfetch.install("demo[fast]==1.0.0", project=project, platforms=["linux-x86_64"])
    assert report.status == "installed"
    assert report.written == 7
    assert report.destination == project / "third-party"
    assert {artifact.origin for artifact in report.artifacts} == {"network"}
    assert etfetch.verify(project=project, deep=True) == 7
    again = etfetch.install(project=project, locked=True)
    assert (again.status, again.unchanged) == ("unchanged", 7)
    lock = etfetch.lock(project=project)
    assert lock.release == "1.0.0"
    assert world.server.asked_for("headers.tar.gz") == 1


def test_another_destination_and_cache(world: World) -> None:
    target = world.root / "elsewhere"
    etfetch.install(
        "demo==1.0.0",
        project=world.project,
        platforms=["linux-x86_64"],
        destination=target,
        cache_dir=world.root / "other cache",
        jobs=1,
        link_mode="copy",
    )
    assert etfetch.verify(project=world.project, destination=target) == 5
    assert not world.cache.exists()
    assert not world.destination.exists()


def test_what_models_need(world: World) -> None:
    model = world.root / "m.pte"
    model.write_bytes(demo_models.delegates())
    report = etfetch.install("demo==1.0.0", project=world.project, platforms=["linux-x86_64"], models=[model])
    names = {component.name for component in report.lock.components}
    assert names == {"runtime", "headers", "backend_fast", "kernels_plain"}
    again = etfetch.lock("demo==1.0.0", project=world.project, platforms=["linux-x86_64"], models=[model])
    assert again == report.lock


def test_failures_are_exceptions_with_the_exit_code(world: World) -> None:
    with pytest.raises(etfetch.EtfetchError) as caught:
        etfetch.install("demo[nope]", project=world.project, platforms=["linux-x86_64"])
    assert caught.value.code == 7
    with pytest.raises(etfetch.EtfetchError) as caught:
        etfetch.verify(project=world.project)
    assert caught.value.code == 10
    assert "hint: " in str(caught.value)


def test_nothing_is_printed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    etfetch.install("demo", project=world.project, platforms=["linux-x86_64"])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_importing_is_cheap() -> None:
    script = "import sys, etfetch; print(sorted({'httpx', 'rich', 'dataclasses'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False)
    if ran.returncode:  # an etfetch that is installed, not in the working directory, needs `site`
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "httpx" not in ran.stdout


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'etfetch' has no attribute 'nope'"):
        etfetch.nope  # noqa: B018
