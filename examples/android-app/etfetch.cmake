# Written by etfetch. Do not edit: `etfetch install` and `etfetch generate` write it again.
#
#   include(etfetch.cmake)
#   find_package(executorch CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE executorch::runtime executorch::backend_xnnpack)
#   etfetch_install_libraries(app)

include_guard(DIRECTORY)
set(executorch_DIR "${CMAKE_CURRENT_LIST_DIR}/third-party/share/cmake/executorch")
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
