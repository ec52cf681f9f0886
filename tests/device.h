// Where tests run that can run anywhere.
#pragma once
#include "tandem/core/device.h"

namespace tandem::test {

/// What TANDEM_TEST_DEVICE says, or the CPU. Without the GPU that it names, the program ends as skipped.
Device test_device();

}  // namespace tandem::test
