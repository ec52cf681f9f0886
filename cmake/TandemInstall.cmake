# Install: the public headers under include/tandem, the library, and a package for find_package(Tandem).
include(CMakePackageConfigHelpers)
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/tandem\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake)
install(TARGETS tandem EXPORT TandemTargets)
set(TANDEM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
install(EXPORT TandemTargets NAMESPACE Tandem:: DESTINATION ${TANDEM_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TandemConfig.cmake.in ${CMAKE_BINARY_DIR}/TandemConfig.cmake
                              INSTALL_DESTINATION ${TANDEM_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TandemConfig.cmake ${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake
        DESTINATION ${TANDEM_PACKAGE_DIR})
