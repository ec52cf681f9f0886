// Selects the device for tests that can run on any device.
#pragma once
#include "tandem/core/device.h"

namespace tandem::test {

/// Returns the device named by the environment variable TANDEM_TEST_DEVICE, by default the CPU. If it names a GPU that
/// is not available, the program exits with status 77, which ctest counts as skipped.
Device test_device();

}  // namespace tandem::test
