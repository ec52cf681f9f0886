include(CheckCXXSourceRuns)

# Name and exported symbols of a shared library. Within 0.x a minor version may break the ABI, so the soname contains
# the minor version: libtandem.so.0.1.
set_target_properties(tandem PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      CXX_VISIBILITY_PRESET default)  # overrides a setting of the project around this one
if(BUILD_SHARED_LIBS AND NOT TANDEM_BUILD_TESTS)
  set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  target_link_options(tandem PRIVATE LINKER:--version-script=${exports})
  # The library calls its own functions directly, because no program should replace one. Relative relocations are packed
  # if the C library can read that (glibc 2.36), which makes the library 5 % smaller.
  target_link_options(tandem PRIVATE LINKER:-Bsymbolic-functions)
  if(NOT CMAKE_CROSSCOMPILING)
    set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-z,pack-relative-relocs)
    check_cxx_source_runs("int main() { return 0; }" TANDEM_PACKED_RELOCATIONS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(TANDEM_PACKED_RELOCATIONS)
      target_link_options(tandem PRIVATE LINKER:-z,pack-relative-relocs)
    endif()
  endif()
  set_property(TARGET tandem APPEND PROPERTY LINK_DEPENDS ${exports})
endif()
