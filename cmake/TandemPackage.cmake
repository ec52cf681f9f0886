# `cpack` in a build folder makes a package: a .deb if dpkg is installed, else a .tar.gz.
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_CONTACT "The authors of Tandem")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
find_program(TANDEM_DPKG_QUERY dpkg-query)
if(TANDEM_DPKG_QUERY)
  set(CPACK_GENERATOR DEB)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # depend on the libraries that are loaded
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # folder of libtandem.so
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # with a shared library: for packages that use it, and ldconfig
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS dataset-fashion-mnist)  # for `tandem demo`
# A program that links the static library needs the libraries that this build found, so their packages are dependencies.
set(packages "")
if(TANDEM_DPKG_QUERY AND NOT BUILD_SHARED_LIBS)
  foreach(library ${TANDEM_LINKED})
    execute_process(COMMAND ${TANDEM_DPKG_QUERY} -S ${TANDEM_${library}_LIBRARY} OUTPUT_VARIABLE says ERROR_QUIET)
    if(says MATCHES "^([a-z0-9.+-]+)(:[a-z0-9]+)?: ")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
endif()
list(JOIN packages ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
include(CPack)
