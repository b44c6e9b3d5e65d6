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
#if defined(__APPLE__) && TARGET_OS_IOS && !TARGET_OS_SIMULATOR
    {"backend_coreml", kDelegate, "CoreMLBackend"},
    {"backend_xnnpack", kDelegate, "XnnpackBackend"},
    {"kernels_optimized", kOperator, "aten::add.out"},
    {"kernels_quantized", kOperator, "quantized_decomposed::add.out"},
#endif
#if defined(__APPLE__) && TARGET_OS_IOS && TARGET_OS_SIMULATOR
    {"backend_coreml", kDelegate, "CoreMLBackend"},
    {"backend_xnnpack", kDelegate, "XnnpackBackend"},
    {"kernels_optimized", kOperator, "aten::add.out"},
    {"kernels_quantized", kOperator, "quantized_decomposed::add.out"},
#endif
    {nullptr, kDelegate, nullptr}, // the end
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
