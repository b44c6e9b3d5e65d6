# Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
#   find_package(executorch CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE executorch::runtime executorch::backend_xnnpack ...)

cmake_minimum_required(VERSION 3.19)
get_filename_component(_etfetch_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_etfetch_platforms android-arm64-v8a android-x86_64)
set(executorch_FOUND TRUE)
if(NOT TARGET executorch::runtime)
  set(_etfetch_targets)
  set(_etfetch_shared_libraries)
endif()

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
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${_etfetch_root}/${file}")
  if(WIN32)
    string(REGEX REPLACE "[.]dll$" ".lib" import "${_etfetch_root}/${file}")
    set_target_properties(${target} PROPERTIES IMPORTED_IMPLIB "${import}")
  endif()
  if("REGISTERS" IN_LIST ARGN AND NOT APPLE AND NOT WIN32)
    set(path "-Xlinker \"${_etfetch_root}/${file}\"")
    target_link_options(${target} INTERFACE
      "SHELL:-Xlinker --push-state -Xlinker --no-as-needed ${path} -Xlinker --pop-state")
  endif()
  set(_etfetch_shared_libraries ${_etfetch_shared_libraries} "${_etfetch_root}/${file}" PARENT_SCOPE)
endfunction()

function(_etfetch_interface target)
  add_library(${target} INTERFACE IMPORTED)
endfunction()

# A static library that registers: all of it, once. As an ordinary library besides it would be taken twice.
function(_etfetch_whole target file)
  set(path "${_etfetch_root}/${file}")
  if(APPLE)
    target_link_options(${target} INTERFACE "SHELL:-Xlinker -force_load -Xlinker \"${path}\"")
  elseif(MSVC)
    target_link_options(${target} INTERFACE "LINKER:/WHOLEARCHIVE:${path}")
  else()
    target_link_options(${target} INTERFACE
      "SHELL:-Xlinker --push-state -Xlinker --whole-archive -Xlinker \"${path}\" -Xlinker --pop-state")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_DEPENDS "${path}")
endfunction()

function(_etfetch_archive piece file target)
  add_library(${piece} STATIC IMPORTED)
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
    "SHELL:-F \"${_etfetch_root}/${file}/${slice}\"" "SHELL:-framework ${name}")
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
  if(NOT target IN_LIST _etfetch_targets)
    set(_etfetch_targets ${_etfetch_targets} ${target} PARENT_SCOPE)
  endif()
endfunction()

function(_etfetch_alias name target)
  if(NOT TARGET ${name})
    add_library(${name} INTERFACE IMPORTED)
    target_link_libraries(${name} INTERFACE ${target})
  endif()
endfunction()

function(_etfetch_not_locked name component)
  set_property(GLOBAL PROPERTY "_etfetch_add_${name}" ${component})
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
      get_property(component GLOBAL PROPERTY "_etfetch_add_${item}")
      if(item MATCHES "^executorch::(backend_|kernels_)?(.+)$" AND NOT TARGET ${item})
        set(component "${CMAKE_MATCH_2}")
      endif()
      if(component AND NOT TARGET ${item})
        message(FATAL_ERROR
          "`${target}` links `${item}`, which etfetch.lock does not hold for ${_etfetch_platform}.\n"
          "hint: run `etfetch add ${component}`, then `etfetch install`")
      endif()
    endforeach()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS folders)
    _etfetch_check_links("${subfolder}")
  endforeach()
endfunction()

if(TARGET executorch::runtime)
  # Found before, in this folder or above it.
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
  _etfetch_not_locked(optimized_native_cpu_ops_lib optimized)
  _etfetch_not_locked(portable_ops_lib portable)
  _etfetch_not_locked(quantized_ops_lib quantized)
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
  _etfetch_not_locked(optimized_native_cpu_ops_lib optimized)
  _etfetch_not_locked(portable_ops_lib portable)
  _etfetch_not_locked(quantized_ops_lib quantized)
  _etfetch_alias(xnnpack_backend executorch::backend_xnnpack)
  _etfetch_not_locked(coremldelegate coreml)
  _etfetch_not_locked(mpsdelegate mps)
  _etfetch_not_locked(vulkan_backend vulkan)
  _etfetch_not_locked(etdump etdump)
endif()

set(EXECUTORCH_LIBRARIES ${_etfetch_targets})
set(EXECUTORCH_SHARED_LIBRARIES ${_etfetch_shared_libraries})
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
