"""Project files, flags and environment: what a request becomes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from etfetch import config
from etfetch.config import Options
from etfetch.errors import ConfigError, EtfetchError, UsageError
from etfetch.lockfile import parse
from etfetch.request import Request, find_line, normal_specifier, parse_requirement
from tests.demo_models import MODELS
from tests.world import REQUEST, World


def _request(options: Options | None = None) -> Request:
    options = options or Options()
    return config.request_of(config.find_project(options), options, None)


def _everything() -> None:
    project = config.find_project(Options())
    config.destination_of(project, Options())
    config.request_of(project, Options(), None)


def _error(world: World, text: str, name: str = "etfetch.toml") -> EtfetchError:
    world.write(text, name)
    with pytest.raises(EtfetchError) as caught:
        _request()
    assert caught.value.code == 2
    return caught.value


FULL = Request(
    "demo",
    "==1.0.0",
    ("linux-x86_64",),
    backends=("fast",),
    kernels=("plain",),
    libraries=("a", "b"),
    features=("speed",),
)


def test_etfetch_toml(world: World) -> None:
    world.write(REQUEST + 'kernels = ["plain"]\nlibraries = ["b", "a", "b"]\nfeatures = ["speed"]\n')
    assert _request() == FULL


def test_pyproject(world: World) -> None:
    world.write("[project]\nname = 'x'\n[tool.etfetch]\n" + REQUEST, "pyproject.toml")
    assert _request().backends == ("fast",)


def test_package_json(world: World) -> None:
    world.write('{"name": "x", "etfetch": {"package": "demo", "backends": ["fast"]}}', "package.json")
    assert _request(Options(platforms=("ios",))).backends == ("fast",)


def test_a_dependency_on_etfetch_is_no_request(world: World) -> None:
    world.write('{"devDependencies": {"etfetch": "^1.0"}, "etfetch": "x"}', "package.json")
    world.write("[tool.other]\nuses = 'etfetch'\n", "pyproject.toml")
    assert config.find_project(Options()).file is None


def test_found_upwards(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write()
    below = world.project / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert config.find_project(Options()).folder == world.project


def test_two_files_at_once(world: World) -> None:
    world.write("[tool.etfetch]\n", "pyproject.toml")
    error = _error(world, REQUEST)
    assert error.message == "two files hold a request for etfetch"
    assert error.data == (
        str(world.project / "etfetch.toml"),
        str(world.project / "pyproject.toml"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REQUEST + "backend = []\n", "etfetch.toml:6: backend: unknown key; did you mean `backends`?"),
        (
            REQUEST.replace('"linux-x86_64"', '"linux-x86-64"'),
            "etfetch.toml:4: platforms[0]: `linux-x86-64` is not one of",
        ),
        ('variant = "fast"', "etfetch.toml:1: variant: `fast` is not one of `release`, `debug`"),
        ('backends = "fast"', "etfetch.toml:1: backends: expected a list of strings, not a string"),
        ('version = "1.x.y"', "etfetch.toml:1: version: `1.x.y` is not a version or a specifier"),
        ("version = 1", "etfetch.toml:1: version: expected a string, not an integer"),
        ("backends = [", "etfetch.toml: not valid TOML: "),
        ('destination = "../x"', "etfetch.toml:1: destination: `../x`: `..` is not allowed in a path"),
        ('destination = "/etc"', "etfetch.toml:1: destination: `/etc`: the path is absolute"),
        ('models = ["/m.pte"]', "etfetch.toml:1: models: `/m.pte`: expected a path relative to the project"),
        ('models = ["C:/m.pte"]', "etfetch.toml:1: models: `C:/m.pte`: expected a path relative to the"),
        ('models = ["a\\\\m.pte"]', "etfetch.toml:1: models: `a\\m.pte`: a backslash separates folders on"),
        ('models = ["a\\u0000"]', "etfetch.toml:1: models: `a\x00`: it holds a control character"),
        (
            'generate = ["gradle-gard"]',
            "etfetch.toml:1: generate[0]: `gradle-gard` is not one of `build-config`",
        ),
        ("[mirror]\nurl = []", "etfetch.toml:2: mirror.url: unknown key; did you mean `urls`?"),
    ],
)
def test_errors_name_file_line_and_key(world: World, text: str, message: str) -> None:
    world.write(text)
    with pytest.raises(EtfetchError) as caught:
        _everything()
    assert caught.value.message.startswith(message)
    assert caught.value.code == 2


def test_a_key_below_a_table_in_pyproject(world: World) -> None:
    error = _error(world, "[project]\nname = 'x'\n\n[tool.etfetch]\nbakends = []\n", "pyproject.toml")
    assert error.message == "pyproject.toml:5: bakends: unknown key; did you mean `backends`?"


def test_a_line_in_package_json(world: World) -> None:
    error = _error(world, '{\n "etfetch": {\n  "backends": 1\n }\n}', "package.json")
    assert error.message == ("package.json:3: backends: expected a list of strings, not an integer")


def test_not_utf8(world: World) -> None:
    (world.project / "etfetch.toml").write_bytes(b"version = '\xff'")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        config.find_project(Options())


def test_a_requirement_beside_a_project_file(world: World) -> None:
    world.write()
    ran = world.run("install", "demo[fast]")
    assert ran.code == 2
    assert "`demo[fast]` on the command line, but `etfetch.toml` already holds the request" in ran.err


def test_nothing_says_what_to_install(world: World) -> None:
    ran = world.run("install")
    assert ran.code == 2
    assert "no project file here or above, no lock, no requirement" in ran.err
    assert "hint: run `etfetch init`" in ran.err


def test_flags_change_a_request(world: World) -> None:
    world.write()
    request = _request(Options(platforms=("ios", "all"), variant="debug", features=("speed",)))
    assert (request.platforms, request.variant) == (("ios",), "debug")
    assert request.features == ("speed",)


def test_platforms_from_the_environment(world: World) -> None:
    world.write()
    world.setenv(ETFETCH_PLATFORMS="linux-aarch64, ios")
    assert _request().platforms == ("ios", "linux-aarch64")


def test_an_unknown_platform(world: World) -> None:
    world.write()
    ran = world.run("install", "--platform", "linux-amd64")
    assert ran.code == 2
    assert ran.err.startswith("error: no platform `linux-amd64`; did you mean `linux-")
    assert "platforms: linux-x86_64, linux-aarch64, macos-arm64" in ran.err


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("darwin", "arm64", "macos-arm64"),
        ("darwin", "x86_64", None),
        ("win32", "AMD64", "windows-x86_64"),
        ("freebsd14", "amd64", None),
    ],
)
def test_host_platform(system: str, machine: str, expected: str | None) -> None:
    from etfetch.platforms import host_platform

    assert host_platform(system, machine) == expected


def test_a_host_without_a_platform(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    ran = world.run("install", "demo")
    assert ran.code == 2
    assert "riscv64) is no platform of ExecuTorch's" in ran.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ETFETCH_JOBS", "many"),
        ("ETFETCH_JOBS", "0"),
        ("ETFETCH_READ_TIMEOUT", "-1"),
        ("ETFETCH_LOCK_TIMEOUT", "nan"),
    ],
)
def test_numbers_in_the_environment(world: World, name: str, value: str) -> None:
    world.setenv(**{name: value})
    ran = world.run("cache", "dir")
    assert ran.code == 2
    assert ran.err == f"error: `{name}` is `{value}`, which is not a number above 0\n"


def test_a_wrong_link_mode(world: World) -> None:
    world.setenv(ETFETCH_LINK_MODE="hardlinks")
    ran = world.run("cache", "dir")
    assert ran.code == 2
    assert "did you mean `hardlink`?" in ran.err


def test_a_project_that_is_no_folder(world: World) -> None:
    ran = world.run("install", "--project", "nowhere")
    assert (ran.code, "`nowhere` is not a folder" in ran.err) == (2, True)


def test_the_cache_is_the_users_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ETFETCH_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert config.settings_of(Options()).cache_dir.name == "etfetch"
    assert config.settings_of(Options(cache_dir="here")).cache_dir == Path.cwd() / "here"


# Requirements and specifiers


def test_a_requirement() -> None:
    parsed = parse_requirement("executorch[xnnpack, optimized]>=1.4,<2")
    assert (parsed.package, parsed.extras) == ("executorch", ("optimized", "xnnpack"))
    assert parsed.version == "<2,>=1.4"


@pytest.mark.parametrize("text", ["executorch[", "a b", "demo @ https://host/x", "demo; python_version>'3'"])
def test_bad_requirements(text: str) -> None:
    with pytest.raises(UsageError):
        parse_requirement(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5.1", "==1.5.1"),
        ("~=1.5.0", "~=1.5.0"),
        (" <2, >=1 ", "<2,>=1"),
        ("", ""),
        ("1.5.0RC1", "==1.5.0rc1"),
    ],
)
def test_normal_specifier(text: str, expected: str) -> None:
    assert normal_specifier(text) == expected


def test_differences() -> None:
    older = Request("demo", "", ("ios",), backends=("a",))
    newer = Request("demo", "==1", ("ios",), "debug", backends=("b",))
    assert newer.differences(older) == [
        "version: any -> ==1",
        "variant: release -> debug",
        "backends: - a",
        "backends: + b",
    ]


def test_fingerprints_differ() -> None:
    one = Request("demo", "", ("ios",), backends=("a",))
    two = Request("demo", "", ("ios",), kernels=("a",))
    assert one.fingerprint != two.fingerprint
    assert len(one.fingerprint) == 64


@pytest.mark.parametrize(
    ("text", "key", "value", "line"),
    [
        ('a = 1\nb = ["x",\n "y"]', "b", "y", 3),
        ('a = 1\nb = ["x"]', "b", None, 2),
        ('{\n"b": ["x"]}', "b", "x", 2),
        ("a = 1", "b", None, None),
    ],
)
def test_find_line(text: str, key: str, value: str | None, line: int | None) -> None:
    assert find_line(text, key, value) == line


# What `init` finds


def test_init_with_models(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "this_platform", lambda: "linux-x86_64")
    world.chdir(world.root)
    for name in ("b.pte", "assets/deep/a.pte", "[x]/c.pte", "node_modules/lib/d.pte"):
        path = world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((MODELS / "b_linear_xnnpack.pte").read_bytes())
    ran = world.ok("init")
    assert ran.err.startswith("found models: [x]/c.pte, assets/deep/a.pte, b.pte\n")
    assert ran.out.splitlines()[-1] == 'models = ["*.pte", "[[]x]/**/*.pte", "assets/**/*.pte"]'
    world.ok("lock")
    lock = parse(world.lock.read_text())
    assert [model.path for model in lock.models] == ["[x]/c.pte", "assets/deep/a.pte", "b.pte"]


REACT = '{"dependencies": {"react-native": "0.80"}}'


@pytest.mark.parametrize(
    ("name", "text", "platform", "line"),
    [
        ("CMakeLists.txt", "", "linux-x86_64", 'version = "1.5.1"'),
        ("Package.swift", "", "ios", 'version = "1.4.1"'),
        ("package.json", REACT, "android-arm64-v8a", 'package = "react-native-executorch"'),
        ("README", "", "linux-x86_64", 'version = "1.5.1"'),
    ],
    ids=["cmake", "swift", "react-native", "nothing"],
)
def test_init(
    world: World, name: str, text: str, platform: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "this_platform", lambda: "linux-x86_64")
    world.write(text, name)
    dry = world.ok("init", "--dry-run")
    assert not (world.project / "etfetch.toml").exists()
    ran = world.ok("init")
    assert ran.out == dry.out == (world.project / "etfetch.toml").read_text()
    assert platform in ran.out
    assert line in ran.out
    if name != "package.json":  # whose digests stand in sidecars, on a network
        world.ok("lock", "--offline")
    assert world.run("init").code == 2
