# Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
#   find_package(executorch CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE executorch::runtime executorch::backend_xnnpack ...)

cmake_minimum_required(VERSION 3.19)
get_filename_component(_etfetch_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_etfetch_platforms android-arm64-v8a android-x86_64)
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
    "etfetch.lock is for ${_etfetch_names}, and this build is for ${_etfetch_platform}.\n"
    "hint: add it to `platforms` in the project file, then run `etfetch install`")
  return()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/etfetch-functions.cmake")

if(TARGET executorch::runtime)
  # Found before, in any folder: the targets are global.
elseif(_etfetch_platform STREQUAL "android-arm64-v8a")
  _etfetch_interface(executorch::runtime)
  _etfetch_shared(executorch::runtime_1 "android/libs/executorch/arm64-v8a/libexecutorch.so")
  _etfetch_usage(executorch::runtime
    NEEDS
      "executorch::runtime_1"
  )
  _etfetch_shared(executorch::runtime_2 "android/libs/pthreadpool/arm64-v8a/libpthreadpool.so")
  _etfetch_usage(executorch::runtime
    NEEDS
      "executorch::runtime_2"
  )
  _etfetch_shared(executorch::runtime_3 "android/libs/cpuinfo/arm64-v8a/libcpuinfo.so")
  _etfetch_usage(executorch::runtime
    NEEDS
      "executorch::runtime_3"
  )
  _etfetch_usage(executorch::runtime
    HEADERS
      "include"
  )
  _etfetch_interface(executorch::backend_xnnpack)
  _etfetch_usage(executorch::backend_xnnpack
    NEEDS
      "executorch::runtime"
  )
  _etfetch_alias(executorch executorch::runtime)
  _etfetch_alias(extension_module executorch::runtime)
  _etfetch_alias(extension_module_static executorch::runtime)
  _etfetch_alias(extension_tensor executorch::runtime)
  _etfetch_alias(extension_data_loader executorch::runtime)
  _etfetch_within_runtime(optimized_native_cpu_ops_lib)
  _etfetch_within_runtime(portable_ops_lib)
  _etfetch_within_runtime(quantized_ops_lib)
  _etfetch_alias(xnnpack_backend executorch::backend_xnnpack)
  _etfetch_not_locked(coremldelegate coreml)
  _etfetch_not_locked(mpsdelegate mps)
  _etfetch_not_locked(vulkan_backend vulkan)
  _etfetch_not_locked(etdump etdump)
elseif(_etfetch_platform STREQUAL "android-x86_64")
  _etfetch_shared(executorch::runtime "android/libs/executorch/x86_64/libexecutorch.so")
  _etfetch_usage(executorch::runtime
    HEADERS
      "include"
  )
  _etfetch_interface(executorch::backend_xnnpack)
  _etfetch_usage(executorch::backend_xnnpack
    NEEDS
      "executorch::runtime"
  )
  _etfetch_alias(executorch executorch::runtime)
  _etfetch_alias(extension_module executorch::runtime)
  _etfetch_alias(extension_module_static executorch::runtime)
  _etfetch_alias(extension_tensor executorch::runtime)
  _etfetch_alias(extension_data_loader executorch::runtime)
  _etfetch_within_runtime(optimized_native_cpu_ops_lib)
  _etfetch_within_runtime(portable_ops_lib)
  _etfetch_within_runtime(quantized_ops_lib)
  _etfetch_alias(xnnpack_backend executorch::backend_xnnpack)
  _etfetch_not_locked(coremldelegate coreml)
  _etfetch_not_locked(mpsdelegate mps)
  _etfetch_not_locked(vulkan_backend vulkan)
  _etfetch_not_locked(etdump etdump)
endif()

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
      "etfetch.lock does not hold `${_etfetch_component}` for ${_etfetch_platform}.\n"
      "hint: run `etfetch add ${_etfetch_short}`, then `etfetch install`\n")
  endif()
endforeach()

get_property(_etfetch_checked GLOBAL PROPERTY _etfetch_checked)
if(NOT _etfetch_checked)
  set_property(GLOBAL PROPERTY _etfetch_checked TRUE)
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _etfetch_check_links "${CMAKE_SOURCE_DIR}")
endif()
