# What a shared library is called, and which names it shows. Within 0.x a minor version may change what programs were
# compiled against, so it is part of the name that they ask for: libtandem.so.0.1.
set_target_properties(tandem PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      CXX_VISIBILITY_PRESET default)  # whatever the project around this one has
if(BUILD_SHARED_LIBS AND NOT TANDEM_BUILD_TESTS)
  set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  target_link_options(tandem PRIVATE LINKER:--version-script=${exports})
  set_property(TARGET tandem APPEND PROPERTY LINK_DEPENDS ${exports})
endif()
