// Where tests run that can run anywhere.
#pragma once
#include "tandem/core/device.h"

namespace tandem::test {

/// What TANDEM_TEST_DEVICE says, or the CPU.
Device test_device();

}  // namespace tandem::test
