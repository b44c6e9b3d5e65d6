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
