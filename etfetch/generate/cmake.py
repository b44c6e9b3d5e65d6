"""CMake: a package that `find_package(executorch CONFIG)` finds, and `etfetch.cmake`, which leads there.

Rules, all seen by linking (docs/linking.md):

- A shared library that only registers is dropped by `--as-needed`, Debian's default: it is named once between
  `--push-state --no-as-needed` and `--pop-state`. A static one is taken whole, once, and never also as
  an ordinary library. The options go through `-Xlinker`, since `-Wl,` splits paths at commas.
- Targets have the names of the wheel's own package (`executorch::backend_xnnpack`), for which that wants
  CMake 3.28, and those of ExecuTorch's source build (`xnnpack_backend`), so that a project which had it as a
  subdirectory goes on as it was.
- Linking what is not locked is an error at configure time, with the command that adds it. A name without `::`
  would otherwise be looked for by the linker, and one with it fails without a word of what to do.

All paths are relative to the file they stand in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from etfetch.generate import linking
from etfetch.generate.linking import Linked
from etfetch.lockfile import Lock
from etfetch.manifest import Link

RUNTIME = "executorch::runtime"
"""What the wheel's package calls the runtime, whatever its publisher does."""

RUNTIME_NAMES = (
    *("executorch", "extension_module", "extension_module_static"),
    *("extension_tensor", "extension_data_loader"),
)
"""Targets of ExecuTorch's source build that the runtime of every release holds."""

SOURCE_NAMES = {
    "optimized_native_cpu_ops_lib": ("kernels_optimized",),
    "portable_ops_lib": ("kernels_portable", "kernels_optimized"),
    "quantized_ops_lib": ("kernels_quantized",),
    "xnnpack_backend": ("backend_xnnpack",),
    "coremldelegate": ("backend_coreml",),
    "mpsdelegate": ("backend_mps",),
    "vulkan_backend": ("backend_vulkan",),
    "etdump": ("etdump",),
}
"""Other targets of the source build that apps link, and the components that hold them.

The first that is locked is meant: from 0.7.0 on the portable kernels are inside the optimized ones.
"""

_FOLDER = "share/cmake/executorch"
_UP = "../../.."
FUNCTIONS = "etfetch-functions.cmake"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of one of the functions in `_FUNCTIONS`, with its arguments."""

    function: str
    words: tuple[str, ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def lines(self) -> Iterator[str]:
        head = f"  {self.function}({' '.join(self.words)}"
        given = [(name, values) for name, values in self.lists if values]
        if not given:
            yield f"{head})"
            return
        yield head
        for name, values in given:
            yield f"    {name}"
            yield from (f"      {_quoted(value)}" for value in values)
        yield "  )"


def render(lock: Lock, destination: str) -> dict[str, str]:
    """The files by their paths below the project; `destination` is the installed tree's."""
    folder = f"{destination}/{_FOLDER}"
    return {
        f"{folder}/executorch-config.cmake": _config(lock),
        f"{folder}/{FUNCTIONS}": _FUNCTIONS,
        f"{folder}/executorch-config-version.cmake": _VERSION.replace("@VERSION@", lock.release),
        "etfetch.cmake": _ETFETCH.replace("@FOLDER@", folder),
    }


def _config(lock: Lock) -> str:
    locked = linking.platforms(lock)
    pieces = [_HEAD.replace("@UP@", _UP).replace("@PLATFORMS@", " ".join(locked))]
    pieces.append(
        "if(TARGET executorch::runtime)\n  # Found before, in any folder: the targets are global.\n"
    )
    for platform in locked:
        pieces.append(f'elseif(_etfetch_platform STREQUAL "{platform}")\n')
        pieces += [f"{line}\n" for line in _platform(lock, platform)]
    return "".join([*pieces, "endif()\n", _TAIL])


def _platform(lock: Lock, platform: str) -> Iterator[str]:
    components = linking.linked(lock, platform)
    targets = {c.name: RUNTIME if c.kind == "runtime" else f"executorch::{c.name}" for c in components}
    for component in components:
        for call in _calls(component, targets):
            yield from call.lines()
    yield from (f"  _etfetch_alias({source} {RUNTIME})" for source in RUNTIME_NAMES)
    for source, candidates in SOURCE_NAMES.items():
        target = next((targets[name] for name in candidates if name in targets), None)
        if target is not None:
            yield f"  _etfetch_alias({source} {target})"
            continue
        short = candidates[0].partition("_")[2] or candidates[0]
        if candidates[0].startswith("kernels_") and not any(c.operators for c in lock.components):
            # A release that lists no operators, not even the runtime's own, has its kernels inside of it.
            yield f"  _etfetch_within_runtime({source})"
            continue
        yield f"  _etfetch_not_locked({source} {short})"


def _calls(component: Linked, targets: Mapping[str, str]) -> Iterator[_Call]:
    target = targets[component.name]
    files = [(link, file) for link in component.links for file in link.files]
    if len(files) == 1 and component.links[0].kind == "shared":
        link, file = files[0]
        words = (target, _quoted(file), *(["REGISTERS"] if link.registers else []))
        yield _Call("_etfetch_shared", words)
    else:
        yield _Call("_etfetch_interface", (target,))
        for number, (link, file) in enumerate(files, start=1):
            yield from _piece(target, f"{target}_{number}", link, file)
    needs = [name for name in component.needs if name in targets]
    if component.within:
        needs = [component.within]
    standards = [link.cxx_standard for link in component.links if link.cxx_standard]
    yield _Call(
        "_etfetch_usage",
        (target,),
        (
            ("NEEDS", tuple(targets[name] for name in needs)),
            ("HEADERS", linking.once(link.headers for link in component.links)),
            ("DEFINITIONS", linking.once(link.definitions for link in component.links)),
            ("FRAMEWORKS", linking.once(link.frameworks for link in component.links)),
            ("LIBRARIES", linking.once(link.libraries for link in component.links)),
            ("STANDARD", (str(max(standards)),) if standards else ()),
        ),
    )


def _piece(target: str, piece: str, link: Link, file: str) -> Iterator[_Call]:
    """One of several files of a component, or one that is no plain shared library."""
    if link.kind == "static" and link.registers:
        yield _Call("_etfetch_whole", (target, _quoted(file)))
    elif link.kind == "framework":
        yield _Call("_etfetch_framework", (target, _quoted(file)))
    elif link.kind == "static":
        yield _Call("_etfetch_archive", (piece, _quoted(file), target))
    else:
        words = (piece, _quoted(file), *(["REGISTERS"] if link.registers else []))
        yield _Call("_etfetch_shared", words)
        yield _Call("_etfetch_usage", (target,), (("NEEDS", (piece,)),))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace(";", "\\;")
    return f'"{escaped}"'


_HEAD = """\
# Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
#   find_package(executorch CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE executorch::runtime executorch::backend_xnnpack ...)

cmake_minimum_required(VERSION 3.19)
get_filename_component(_etfetch_root "${CMAKE_CURRENT_LIST_DIR}/@UP@" ABSOLUTE)
set(_etfetch_platforms @PLATFORMS@)
set(executorch_FOUND TRUE)

if(DEFINED ETFETCH_PLATFORM)
  set(_etfetch_platform "${ETFETCH_PLATFORM}")
elseif(ANDROID)
  set(_etfetch_platform "android-${ANDROID_ABI}")
  if(NOT ANDROID_ABI)
    set(_etfetch_platform "android-${CMAKE_ANDROID_ARCH_ABI}")
  endif()
elseif(CMAKE_SYSTEM_NAME STREQUAL "iOS")
  set(_etfetch_platform "ios")
  if(CMAKE_OSX_SYSROOT MATCHES "[Ss]imulator")
    set(_etfetch_platform "ios-simulator")
  endif()
elseif(APPLE)
  set(_etfetch_platform "macos-arm64")
elseif(WIN32)
  set(_etfetch_platform "windows-x86_64")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_etfetch_platform "linux-aarch64")
else()
  set(_etfetch_platform "linux-x86_64")
endif()

if(NOT _etfetch_platform IN_LIST _etfetch_platforms)
  set(executorch_FOUND FALSE)
  list(JOIN _etfetch_platforms ", " _etfetch_names)
  set(executorch_NOT_FOUND_MESSAGE
    "etfetch.lock is for ${_etfetch_names}, and this build is for ${_etfetch_platform}.\\n"
    "hint: add it to `platforms` in the project file, then run `etfetch install`")
  return()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/etfetch-functions.cmake")

"""

_FUNCTIONS = """\
# Written by etfetch; the same for every lock. Included by executorch-config.cmake.

# CMake gives run paths to the linker behind `-Wl,`, which ends at the first comma of a path.
if(_etfetch_root MATCHES ",")
  foreach(_etfetch_flag IN ITEMS
      CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG CMAKE_SHARED_LIBRARY_RUNTIME_CXX_FLAG
      CMAKE_EXECUTABLE_RUNTIME_C_FLAG CMAKE_EXECUTABLE_RUNTIME_CXX_FLAG)
    if("${${_etfetch_flag}}" STREQUAL "-Wl,-rpath,")
      set(${_etfetch_flag} "-Xlinker -rpath -Xlinker ")
    endif()
  endforeach()
endif()

# A shared library. One that only registers must be kept where the linker drops what nobody refers to.
function(_etfetch_shared target file)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${_etfetch_root}/${file}")
  if(WIN32)
    string(REGEX REPLACE "[.]dll$" ".lib" import "${_etfetch_root}/${file}")
    set_target_properties(${target} PROPERTIES IMPORTED_IMPLIB "${import}")
  endif()
  if("REGISTERS" IN_LIST ARGN AND NOT APPLE AND NOT WIN32)
    set(path "-Xlinker \\"${_etfetch_root}/${file}\\"")
    target_link_options(${target} INTERFACE
      "SHELL:-Xlinker --push-state -Xlinker --no-as-needed ${path} -Xlinker --pop-state")
  endif()
  set_property(GLOBAL APPEND PROPERTY _etfetch_shared_libraries "${_etfetch_root}/${file}")
endfunction()

function(_etfetch_interface target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endfunction()

# A static library that registers: all of it, once. As an ordinary library besides it would be taken twice.
function(_etfetch_whole target file)
  set(path "${_etfetch_root}/${file}")
  if(APPLE)
    target_link_options(${target} INTERFACE "SHELL:-Xlinker -force_load -Xlinker \\"${path}\\"")
  elseif(MSVC)
    target_link_options(${target} INTERFACE "LINKER:/WHOLEARCHIVE:${path}")
  else()
    target_link_options(${target} INTERFACE
      "SHELL:-Xlinker --push-state -Xlinker --whole-archive -Xlinker \\"${path}\\" -Xlinker --pop-state")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_DEPENDS "${path}")
endfunction()

function(_etfetch_archive piece file target)
  add_library(${piece} STATIC IMPORTED GLOBAL)
  set_target_properties(${piece} PROPERTIES IMPORTED_LOCATION "${_etfetch_root}/${file}")
  target_link_libraries(${target} INTERFACE ${piece})
endfunction()

# An xcframework with a framework in it: the slice of this platform.
function(_etfetch_framework target file)
  get_filename_component(name "${file}" NAME_WE)
  set(slice "ios-arm64")
  if(_etfetch_platform STREQUAL "ios-simulator")
    set(slice "ios-arm64-simulator")
  elseif(_etfetch_platform STREQUAL "macos-arm64")
    set(slice "macos-arm64")
  endif()
  target_link_options(${target} INTERFACE
    "SHELL:-F \\"${_etfetch_root}/${file}/${slice}\\"" "SHELL:-framework ${name}")
endfunction()

function(_etfetch_usage target)
  cmake_parse_arguments(PARSE_ARGV 1 use "" "STANDARD" "NEEDS;HEADERS;DEFINITIONS;FRAMEWORKS;LIBRARIES")
  foreach(header IN LISTS use_HEADERS)
    target_include_directories(${target} INTERFACE "${_etfetch_root}/${header}")
  endforeach()
  foreach(framework IN LISTS use_FRAMEWORKS)
    target_link_libraries(${target} INTERFACE "-framework ${framework}")
  endforeach()
  foreach(library IN LISTS use_LIBRARIES)
    target_link_libraries(${target} INTERFACE "-l${library}")
  endforeach()
  if(use_NEEDS)
    target_link_libraries(${target} INTERFACE ${use_NEEDS})
  endif()
  if(use_DEFINITIONS)
    target_compile_definitions(${target} INTERFACE ${use_DEFINITIONS})
  endif()
  if(use_STANDARD)
    target_compile_features(${target} INTERFACE cxx_std_${use_STANDARD})
  endif()
  get_property(known GLOBAL PROPERTY _etfetch_targets)
  if(NOT target IN_LIST known)
    set_property(GLOBAL APPEND PROPERTY _etfetch_targets ${target})
  endif()
endfunction()

function(_etfetch_alias name target)
  if(NOT TARGET ${name})
    add_library(${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${name} INTERFACE ${target})
  endif()
endfunction()

function(_etfetch_not_locked name component)
  set_property(GLOBAL PROPERTY "_etfetch_add_${name}" ${component})
endfunction()

function(_etfetch_within_runtime name)
  set_property(GLOBAL PROPERTY "_etfetch_within_${name}" TRUE)
endfunction()

# Stops when a target links what is not locked. Called when all targets are known.
function(_etfetch_check_links folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(private ${target} LINK_LIBRARIES)
    get_target_property(public ${target} INTERFACE_LINK_LIBRARIES)
    foreach(item IN LISTS private public)
      if(item MATCHES "^[$]<LINK_ONLY:(.*)>$")
        set(item "${CMAKE_MATCH_1}")
      endif()
      get_property(within GLOBAL PROPERTY "_etfetch_within_${item}")
      if(within AND NOT TARGET ${item})
        message(FATAL_ERROR
          "`${target}` links `${item}`, and this release has its kernels inside its runtime.\\n"
          "hint: leave `${item}` out: `executorch::runtime` holds what there is")
      endif()
      get_property(component GLOBAL PROPERTY "_etfetch_add_${item}")
      if(item MATCHES "^executorch::(backend_|kernels_)?(.+)$" AND NOT TARGET ${item})
        set(component "${CMAKE_MATCH_2}")
      endif()
      if(component AND NOT TARGET ${item})
        message(FATAL_ERROR
          "`${target}` links `${item}`, which etfetch.lock does not hold for ${_etfetch_platform}.\\n"
          "hint: run `etfetch add ${component}`, then `etfetch install`")
      endif()
    endforeach()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS folders)
    _etfetch_check_links("${subfolder}")
  endforeach()
endfunction()
"""

_TAIL = """
get_property(EXECUTORCH_LIBRARIES GLOBAL PROPERTY _etfetch_targets)
get_property(EXECUTORCH_SHARED_LIBRARIES GLOBAL PROPERTY _etfetch_shared_libraries)
set(EXECUTORCH_PLATFORM "${_etfetch_platform}")
get_target_property(EXECUTORCH_INCLUDE_DIRS executorch::runtime INTERFACE_INCLUDE_DIRECTORIES)
get_target_property(EXECUTORCH_COMPILE_DEFINITIONS executorch::runtime INTERFACE_COMPILE_DEFINITIONS)

foreach(_etfetch_component IN LISTS executorch_FIND_COMPONENTS)
  if(TARGET executorch::${_etfetch_component})
    set(executorch_${_etfetch_component}_FOUND TRUE)
  elseif(executorch_FIND_REQUIRED_${_etfetch_component})
    set(executorch_FOUND FALSE)
    string(REGEX REPLACE "^(backend|kernels)_" "" _etfetch_short "${_etfetch_component}")
    string(APPEND executorch_NOT_FOUND_MESSAGE
      "etfetch.lock does not hold `${_etfetch_component}` for ${_etfetch_platform}.\\n"
      "hint: run `etfetch add ${_etfetch_short}`, then `etfetch install`\\n")
  endif()
endforeach()

get_property(_etfetch_checked GLOBAL PROPERTY _etfetch_checked)
if(NOT _etfetch_checked)
  set_property(GLOBAL PROPERTY _etfetch_checked TRUE)
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _etfetch_check_links "${CMAKE_SOURCE_DIR}")
endif()
"""

_VERSION = """\
# Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""

_ETFETCH = """\
# Written by etfetch. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
#   include(etfetch.cmake)
#   find_package(executorch CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE executorch::runtime executorch::backend_xnnpack)
#   etfetch_install_libraries(app)

include_guard(DIRECTORY)
set(executorch_DIR "${CMAKE_CURRENT_LIST_DIR}/@FOLDER@")
set(ETFETCH_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Installs the locked shared libraries to DESTINATION (lib), and lets the targets, which are installed in a
# folder beside it, find them there.
function(etfetch_install_libraries)
  cmake_parse_arguments(PARSE_ARGV 0 use "" "DESTINATION" "")
  if(NOT use_DESTINATION)
    set(use_DESTINATION "lib")
  endif()
  install(FILES ${EXECUTORCH_SHARED_LIBRARIES} DESTINATION "${use_DESTINATION}")
  set(origin "$ORIGIN")
  if(APPLE)
    set(origin "@loader_path")
  endif()
  set_target_properties(${use_UNPARSED_ARGUMENTS} PROPERTIES INSTALL_RPATH "${origin}/../${use_DESTINATION}")
endfunction()

# Compiles the generated registration check into a target; `registration-check` has to be in `generate`.
function(etfetch_add_registration_check target)
  target_sources(${target} PRIVATE "${ETFETCH_DIR}/etfetch_registration_check.cpp")
  target_include_directories(${target} PRIVATE "${ETFETCH_DIR}")
endfunction()
"""
