#include "tandem/tests/device.h"

#include <cstdlib>

namespace tandem::test {

Device test_device() {
  static const char* const name = std::getenv("TANDEM_TEST_DEVICE");
  return name && *name ? Device(name) : Device(kCPU);
}

}  // namespace tandem::test
