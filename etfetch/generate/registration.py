"""A C++ source that asks ExecuTorch's registry, at start-up, for everything that is locked.

A backend or a kernel library that the linker dropped is missed only when a model needs it, on a device. The
generated function asks for each delegate, and for one operator of each kernels library, and tells what is not
there; an app calls it where it wants to know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from etfetch.generate import linking
from etfetch.generate.linking import Linked
from etfetch.lockfile import Lock

HEADER, SOURCE = "etfetch_registration_check.h", "etfetch_registration_check.cpp"

_CONDITIONS = {
    "linux-x86_64": "defined(__linux__) && !defined(__ANDROID__) && defined(__x86_64__)",
    "linux-aarch64": "defined(__linux__) && !defined(__ANDROID__) && defined(__aarch64__)",
    "android-arm64-v8a": "defined(__ANDROID__) && defined(__aarch64__)",
    "android-x86_64": "defined(__ANDROID__) && defined(__x86_64__)",
    "macos-arm64": "defined(__APPLE__) && TARGET_OS_OSX",
    "ios": "defined(__APPLE__) && TARGET_OS_IOS && !TARGET_OS_SIMULATOR",
    "ios-simulator": "defined(__APPLE__) && TARGET_OS_IOS && TARGET_OS_SIMULATOR",
    "windows-x86_64": "defined(_WIN32) && defined(_M_X64)",
}
"""How a compiler says for what platform it compiles."""

_USUAL = "aten::add.out"
"""Asked for where a library has it: the operator that everybody knows."""


def render(lock: Lock, operators: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """The header and the source by their names. `operators` has the names in each known operator set."""
    blocks = "".join(_block(lock, platform, operators) for platform in linking.platforms(lock))
    return {HEADER: _HEADER, SOURCE: _SOURCE.replace("@BLOCKS@", blocks)}


def _block(lock: Lock, platform: str, operators: Mapping[str, frozenset[str]]) -> str:
    lines = "".join(
        f"    {{{json.dumps(component)}, {kind}, {json.dumps(name)}}},\n"
        for component, kind, name in _expected(linking.linked(lock, platform), operators)
    )
    return f"#if {_CONDITIONS[platform]}\n{lines}#endif\n"


def _expected(
    components: tuple[Linked, ...], operators: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str, str]]:
    """A component, what is asked for and its name: each delegate, and one operator of each library."""
    taken: set[str] = set()
    for component in components:
        if component.delegate is not None:
            yield component.name, "kDelegate", component.delegate
        known = {name for operator_set in component.operators for name in operators.get(operator_set, ())}
        own = sorted(known - taken)
        if own and component.kind == "kernels":
            yield component.name, "kOperator", _USUAL if _USUAL in own else own[0]
        taken |= known


_HEADER = """\
// Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#pragma once

#include <cstddef>

namespace etfetch {

// Something that etfetch.lock holds for this platform, and that is not registered in this program.
struct MissingRegistration {
  const char* component; // as `etfetch add` takes it, with its kind: "backend_xnnpack"
  const char* kind;      // "delegate" or "operator"
  const char* name;      // "XnnpackBackend", "aten::add.out"
};

// Asks ExecuTorch's registry for everything that is locked. Calls `report`, if there is one, with what is
// missing; `context` is handed through. Returns how much is missing: 0 when all is linked as it should be.
std::size_t etfetch_check_registration(
    void (*report)(const MissingRegistration& missing, void* context) = nullptr,
    void* context = nullptr);

} // namespace etfetch
"""

_SOURCE = """\
// Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#include "etfetch_registration_check.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

namespace etfetch {
namespace {

enum Kind { kDelegate, kOperator };

struct Expected {
  const char* component;
  Kind kind;
  const char* name;
};

const Expected kExpected[] = {
@BLOCKS@    {nullptr, kDelegate, nullptr}, // the end
};

bool is_registered(const Expected& expected) {
  if (expected.kind == kDelegate) {
    return executorch::runtime::get_backend_class(expected.name) != nullptr;
  }
  return executorch::runtime::registry_has_op_function(expected.name);
}

} // namespace

std::size_t etfetch_check_registration(
    void (*report)(const MissingRegistration& missing, void* context),
    void* context) {
  executorch::runtime::runtime_init();
  std::size_t missing = 0;
  for (const Expected* expected = kExpected; expected->component != nullptr; ++expected) {
    if (is_registered(*expected)) {
      continue;
    }
    ++missing;
    if (report != nullptr) {
      const char* kind = expected->kind == kDelegate ? "delegate" : "operator";
      report({expected->component, kind, expected->name}, context);
    }
  }
  return missing;
}

} // namespace etfetch
"""
