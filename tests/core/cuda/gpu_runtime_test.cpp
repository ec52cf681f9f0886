// Tests the GPU runtime interface, also on a machine without a GPU. Emulated devices have additional tests.
#include "tandem/core/cuda/cuda.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

TEST_CASE("without a GPU a build works on the CPU, and an error says why there is none", "[gpu]") {
  const int count = gpu::device_count();
  REQUIRE(count >= 0);  // the runtime sets -1 if there is no driver
  CHECK(cuda::is_available() == (count > 0));
  CHECK(ones({3}).sum().item<float>() == 3);
  if (count > 0) return;
  CHECK_FALSE(gpu::unavailable_reason().empty());
  CHECK_THROWS_WITH(ones({3}, Device("cuda")), Contains("cuda:0") && Contains(gpu::unavailable_reason()));
  CHECK_THROWS_AS(gpu::properties(0), CudaError);
  gpu::release(0, nullptr);
  gpu::destroy_stream(nullptr);
  gpu::destroy_event(nullptr);
}

#if TANDEM_HAS_CUDA
TEST_CASE("a failed call names itself, its bytes and its device", "[gpu]") {
  if (!cuda::is_available()) {
    WARN("SKIPPED: " << gpu::unavailable_reason());
    return;
  }
  const cuda::Stream stream = cuda::current_stream();
  void* const memory = gpu::allocate(0, 4096);
  REQUIRE(memory);
  CHECK(gpu::pointer_info(memory).kind == gpu::MemoryKind::device);
  CHECK(gpu::pointer_info(memory).device == 0);
  std::vector<char> there(4096, 'x'), back(4096);
  gpu::copy_async(memory, there.data(), there.size(), stream.handle());
  gpu::copy_async(back.data(), memory, back.size(), stream.handle());
  stream.synchronize();
  CHECK(there == back);
  gpu::release(0, memory);
  CHECK(gpu::allocate(0, size_t(1) << 60) == nullptr);
  CHECK_THROWS_AS(gpu::set_device(gpu::device_count()), CudaError);
}

#if !TANDEM_TEST_EMULATED
TEST_CASE("when kernels are loaded is what the environment says, or chosen", "[gpu]") {
  gpu::device_count();  // the first call of the runtime
  const char* const mode = std::getenv("CUDA_MODULE_LOADING");
  REQUIRE(mode);
  CHECK((mode == std::string("EAGER") || mode == std::string("LAZY")));
  CHECK(gpu::loads_kernels_eagerly() == (mode == std::string("EAGER")));
}
#endif

TEST_CASE("a guard makes a device the thread's and goes back", "[gpu]") {
  if (gpu::device_count() < 2) {
    WARN("SKIPPED: it needs two GPUs");
    return;
  }
  gpu::set_device(0);
  {
    const gpu::DeviceGuard guard(1);
    CHECK(gpu::current_device() == 1);
  }
  CHECK(gpu::current_device() == 0);
}
#endif
