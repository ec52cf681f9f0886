// Tandem's version. This is the one place that holds it: CMake, and through it the packages, read these three numbers.
#pragma once

#if __cplusplus <= 201703L
#error "Tandem needs C++20: compile with -std=c++20. A CMake target that links Tandem::tandem is compiled with it."
#endif

#include "tandem/core/standard_library.h"

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 1
#define TANDEM_VERSION_PATCH 0

#define TANDEM_VERSION_JOIN_(major, minor, patch) #major "." #minor "." #patch
#define TANDEM_VERSION_TEXT_(major, minor, patch) TANDEM_VERSION_JOIN_(major, minor, patch)
/// The version as text: "0.1.0"
#define TANDEM_VERSION TANDEM_VERSION_TEXT_(TANDEM_VERSION_MAJOR, TANDEM_VERSION_MINOR, TANDEM_VERSION_PATCH)
