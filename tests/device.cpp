#include "tandem/tests/device.h"

#include <cstdio>
#include <cstdlib>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::test {

Device test_device() {
  static const Device device = [] {
    const char* const name = std::getenv("TANDEM_TEST_DEVICE");
    const Device asked = name && *name ? Device(name) : Device(kCPU);
    if (asked.is_cuda() && !cuda::is_available()) {
      std::printf("SKIPPED: TANDEM_TEST_DEVICE is %s: %s\n", name, gpu::unavailable_reason().c_str());
      std::exit(77);  // ctest's SKIP_RETURN_CODE
    }
    return asked;
  }();
  return device;
}

}  // namespace tandem::test
