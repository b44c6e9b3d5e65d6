"""Static libraries that only register, linked for real: native and for other processors and systems.

With the generated flags the registration is in the program, once; without them the linker drops it.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from tests import native
from tests.native import SYMBOL
from tests.programs import need

HERE = f"linux-{'aarch64' if platform.machine() in {'aarch64', 'arm64'} else 'x86_64'}"
CMAKE = """
cmake_minimum_required(VERSION 3.19)
project(app C)
include(etfetch.cmake)
find_package(executorch CONFIG REQUIRED)
add_executable(app main.c)
target_link_libraries(app PRIVATE @LIBRARIES@)
"""


def _project(folder: Path, libraries: str, where: str = HERE, *compiler: str) -> Path:
    """A project with the two libraries installed for one platform."""
    command = compiler or (need("cc"),)
    third_party = folder / "third-party" / where
    archiver = "llvm-ar" if compiler else "ar"
    native.archive(third_party, "executorch", native.RUNTIME, command, archiver)
    native.archive(third_party, "backend_demo", native.REGISTERING, command, archiver)
    native.write(folder, native.lock((where,)), "cmake", "xcconfig")
    (folder / "main.c").write_text(native.APP)
    (folder / "CMakeLists.txt").write_text(CMAKE.replace("@LIBRARIES@", libraries))
    return folder


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
@pytest.mark.parametrize("build_type", ["Debug", "Release"])
def test_it_registers_once(tmp_path: Path, generator: str, build_type: str) -> None:
    need("ninja" if generator == "Ninja" else "make")
    # Named under several names, and needed by one of them: still taken once.
    project = _project(
        tmp_path / "a b,c", "executorch executorch::backend_demo executorch::runtime extension_module"
    )
    flags = ["-G", generator, f"-DCMAKE_BUILD_TYPE={build_type}", "-S", ".", "-B", "build"]
    native.run(project, need("cmake"), *flags)
    native.run(project, need("cmake"), "--build", "build")
    assert native.run(project, str(project / "build/app")).stdout == "registered\n"


def test_without_the_flags_it_is_dropped(tmp_path: Path) -> None:
    project = _project(tmp_path, "executorch")
    libraries = [f"third-party/{HERE}/lib{name}.a" for name in ("backend_demo", "executorch")]
    native.run(project, need("cc"), "main.c", *libraries, "-o", "plain")
    assert native.run(project, str(project / "plain")).stdout == ""


def test_a_changed_archive_is_linked_again(tmp_path: Path) -> None:
    need("ninja")
    project = _project(tmp_path, "executorch executorch::backend_demo")
    native.run(project, need("cmake"), "-G", "Ninja", "-S", ".", "-B", "build")
    native.run(project, need("cmake"), "--build", "build")
    other = native.REGISTERING.replace('"registered"', '"registered anew"')
    native.archive(project / "third-party" / HERE, "backend_demo", other, (need("cc"),), "ar")
    native.run(project, need("cmake"), "--build", "build")
    assert native.run(project, str(project / "build/app")).stdout == "registered anew\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "target_link_libraries(app PRIVATE xnnpack_backend)",
            (
                "`app` links `xnnpack_backend`, which etfetch.lock does not hold for {here}. "
                "hint: run `etfetch add xnnpack`, then `etfetch install`"
            ),
        ),
        (
            "target_link_libraries(app PRIVATE executorch::kernels_torchao)",
            (
                "`app` links `executorch::kernels_torchao`, which etfetch.lock does not hold for {here}. "
                "hint: run `etfetch add torchao`, then `etfetch install`"
            ),
        ),
        (
            "target_link_libraries(app PRIVATE quantized_ops_lib)",
            (
                "`app` links `quantized_ops_lib`, and this release has its kernels inside its runtime. "
                "hint: leave `quantized_ops_lib` out: `executorch::runtime` holds what there is"
            ),
        ),
        (
            "add_subdirectory(lib)",
            (
                "`part` links `vulkan_backend`, which etfetch.lock does not hold for {here}. "
                "hint: run `etfetch add vulkan`, then `etfetch install`"
            ),
        ),
        (
            "find_package(executorch CONFIG REQUIRED COMPONENTS backend_demo kernels_llm)",
            (
                "etfetch.lock does not hold `kernels_llm` for {here}. "
                "hint: run `etfetch add llm`, then `etfetch install`"
            ),
        ),
        (
            "find_package(executorch 2 CONFIG REQUIRED)",
            'that is compatible with requested version "2"',
        ),
    ],
)
def test_what_is_not_locked_stops_at_configure(tmp_path: Path, words: str, message: str) -> None:
    project = _project(tmp_path, "executorch")
    (project / "lib").mkdir()
    part = "add_library(part STATIC ../main.c)\ntarget_link_libraries(part PUBLIC vulkan_backend)\n"
    (project / "lib/CMakeLists.txt").write_text(part)
    text = (project / "CMakeLists.txt").read_text()
    if words.startswith("find_package"):
        text = text.replace("find_package(executorch CONFIG REQUIRED)", words)
    else:
        text += words + "\n"
    (project / "CMakeLists.txt").write_text(text)
    done = native.run(project, need("cmake"), "-S", ".", "-B", "build", check=False)
    assert done.returncode != 0
    assert message.format(here=HERE) in " ".join(done.stderr.split())


def test_it_may_be_looked_for_again(tmp_path: Path) -> None:
    project = _project(tmp_path, "executorch")
    (project / "lib").mkdir()
    again = (
        "find_package(executorch CONFIG REQUIRED COMPONENTS backend_demo)\n"
        "add_executable(part ../main.c)\n"
        "target_link_libraries(part PRIVATE ${EXECUTORCH_LIBRARIES})\n"
    )
    (project / "lib/CMakeLists.txt").write_text(again)
    find = "find_package(executorch CONFIG REQUIRED)\n"
    text = (project / "CMakeLists.txt").read_text().replace(find, 2 * find)
    (project / "CMakeLists.txt").write_text(f"{text}add_subdirectory(lib)\n")
    native.run(project, need("cmake"), "-S", ".", "-B", "build")
    native.run(project, need("cmake"), "--build", "build")
    assert native.run(project, str(project / "build/lib/part")).stdout == "registered\n"
    assert native.run(project, str(project / "build/app")).stdout == ""
    lists = project / "lib/CMakeLists.txt"
    lists.write_text(again.replace("backend_demo", "kernels_llm"))
    done = native.run(project, need("cmake"), "-S", ".", "-B", "build", check=False)
    assert "etfetch.lock does not hold `kernels_llm`" in " ".join(done.stderr.split())


def test_subfolders_that_look_for_it_each_on_their_own(tmp_path: Path) -> None:
    project = _project(tmp_path, "executorch")
    part = (
        "find_package(executorch CONFIG REQUIRED)\n"
        "add_executable({name} ../main.c)\n"
        "target_link_libraries({name} PRIVATE executorch::runtime executorch::backend_demo)\n"
        'message(STATUS "{name}: ${{EXECUTORCH_LIBRARIES}} on ${{EXECUTORCH_PLATFORM}}")\n'
    )
    lines = ["cmake_minimum_required(VERSION 3.19)", "project(app C)", "include(etfetch.cmake)"]
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "CMakeLists.txt").write_text(part.format(name=name))
        lines.append(f"add_subdirectory({name})")
    (project / "CMakeLists.txt").write_text("\n".join(lines))
    said = native.run(project, need("cmake"), "-S", ".", "-B", "build").stdout
    for name in ("one", "two"):
        assert f"-- {name}: executorch::runtime;executorch::backend_demo on {HERE}\n" in said
    native.run(project, need("cmake"), "--build", "build")
    for name in ("one", "two"):
        assert native.run(project, str(project / f"build/{name}/{name}")).stdout == "registered\n"


def test_another_platform_stops_at_configure(tmp_path: Path) -> None:
    project = _project(tmp_path, "executorch")
    words = ["-DETFETCH_PLATFORM=android-x86_64", "-S", ".", "-B", "build"]
    done = native.run(project, need("cmake"), *words, check=False)
    assert done.returncode != 0
    assert f"etfetch.lock is for {HERE}, and this build is for android-x86_64." in " ".join(
        done.stderr.split()
    )


def _defines(program: Path) -> bool:
    return f" {SYMBOL}\n" in native.run(program.parent, need("llvm-nm"), program.name).stdout.replace(
        "_etf", " etf"
    )


@pytest.mark.parametrize("where", ["linux-aarch64", "android-arm64-v8a"])
def test_for_another_processor(tmp_path: Path, where: str) -> None:
    """clang and lld for aarch64, through the generated package, without a C library."""
    need("ld.lld")
    target = "aarch64-linux-android26" if where.startswith("android") else "aarch64-linux-gnu"
    compiler = (need("clang"), f"--target={target}")
    project = _project(tmp_path, "executorch executorch::backend_demo", where, *compiler)
    (project / "main.c").write_text(
        f"{native.APP}int puts(const char* s) {{ return s != 0; }}\nvoid _start(void) {{ main(); }}\n"
    )
    linking = "-fuse-ld=lld -nostdlib -static"
    settings = [
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        f"-DCMAKE_C_COMPILER={compiler[0]}",
        f"-DCMAKE_C_COMPILER_TARGET={target}",
        f"-DCMAKE_EXE_LINKER_FLAGS={linking}",
        f"-DETFETCH_PLATFORM={where}",
    ]
    native.run(project, need("cmake"), *settings, "-S", ".", "-B", "build")
    native.run(project, need("cmake"), "--build", "build")
    assert _defines(project / "build/app")
    archives = [f"third-party/{where}/lib{name}.a" for name in ("backend_demo", "executorch")]
    native.run(project, *compiler, *linking.split(), "main.c", *archives, "-o", "plain")
    assert not _defines(project / "plain")


STUB = """\
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos, arm64-ios, arm64-ios-simulator ]
install-name: /usr/lib/libSystem.B.dylib
exports:
  - targets: [ arm64-macos, arm64-ios, arm64-ios-simulator ]
    symbols: [ _puts, dyld_stub_binder ]
...
"""


@pytest.mark.parametrize(
    ("where", "sdk", "target", "built_for"),
    [
        ("macos-arm64", "macosx", "arm64-apple-macos13", "macos"),
        ("ios", "iphoneos", "arm64-apple-ios17", "ios"),
        ("ios-simulator", "iphonesimulator", "arm64-apple-ios17-simulator", "iossimulator"),
    ],
)
def test_for_apples_systems(tmp_path: Path, where: str, sdk: str, target: str, built_for: str) -> None:
    """Mach-O by clang and lld, with the flags that Xcode would read from `etfetch.xcconfig`."""
    need("ld64.lld", *(f"ld64.lld-{number}" for number in range(14, 30)))
    compiler = (need("clang"), "-target", target)
    project = _project(tmp_path / "a b,c", "executorch", where, *compiler)
    (project / "libSystem.tbd").write_text(STUB)
    flags = _xcode_flags((project / "etfetch.xcconfig").read_text(), sdk, project)
    assert flags.count("-force_load") == 1
    linking = ["-fuse-ld=lld", "-nostdlib", "main.c", "libSystem.tbd"]
    native.run(project, *compiler, *linking, *flags, "-o", "app")
    assert _defines(project / "app")
    sections = native.run(project, need("llvm-objdump"), "--macho", "--private-headers", "app").stdout
    assert "__mod_init_func" in sections
    assert f"platform {built_for}\n" in sections
    plain = [word for word in flags if word != "-force_load"]
    native.run(project, *compiler, *linking, *plain, "-o", "plain")
    assert not _defines(project / "plain")
    sections = native.run(project, need("llvm-objdump"), "--macho", "--private-headers", "plain").stdout
    assert "__mod_init_func" not in sections


def _xcode_flags(text: str, sdk: str, project: Path) -> list[str]:
    """What Xcode makes of `OTHER_LDFLAGS[sdk=…*]`: variables put in, quoted words kept together."""
    settings = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line and line[0] != "/")
    value = settings[f"OTHER_LDFLAGS[sdk={sdk}*]"]
    known = {**settings, "inherited": "", "SRCROOT": str(project)}
    while "$(" in value:
        value = re.sub(r"\$\((\w+)\)", lambda found: known[found[1]], value)
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]+)"|(\S+)', value)]
