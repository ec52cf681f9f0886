// Implements run_grid, which checks a launch's shape and runs its blocks in the selected order.
#include "tandem/emulation/grid.h"

#include <optional>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/block.h"

namespace tandem::emulation {

void check_launch_shape(const char* name, dim3 grid, dim3 block, size_t shared_bytes) {
  const auto check = [name](const char* what, uint64_t is, uint64_t least, uint64_t most) {
    TANDEM_CHECK_AS(CudaError, is >= least && is <= most, "kernel ", name, ": ", what, " is ", is,
                    "; accepted: ", least, " to ", most);
  };
  check("grid.x", grid.x, 1, 0x7fffffff);
  check("grid.y", grid.y, 1, 65535);
  check("grid.z", grid.z, 1, 65535);
  check("block.x", block.x, 1, 1024);
  check("block.y", block.y, 1, 1024);
  check("block.z", block.z, 1, 64);
  check("the number of threads in a block", uint64_t{block.x} * block.y * block.z, 1, 1024);
  check("dynamic shared memory in bytes", shared_bytes, 0, SharedMemory::kMaxBytes);
}

static Permutation block_order(OrderSetting setting, uint64_t count) {
  SplitMix64 random(setting.seed);
  switch (setting.order) {
    case ThreadOrder::forward: break;
    case ThreadOrder::reverse: return Permutation::reversed(count);
    case ThreadOrder::shuffle: return Permutation::shuffled(count, random);
  }
  return Permutation(count);
}

void run_grid(const char* name, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread) {
  check_launch_shape(name, grid, block, shared_bytes);
  // The Block is kept for later grids, because its fibers are expensive to create. At the end of the host thread,
  // destructors of other thread-local objects may still run kernels after `cached_block` is destroyed; these kernels
  // use a temporary Block.
  thread_local bool cache_destroyed = false;
  struct CachedBlock : Block {
    ~CachedBlock() { cache_destroyed = true; }
  };
  thread_local CachedBlock cached_block;
  std::optional<Block> own;
  Block& runner = cache_destroyed ? own.emplace() : cached_block;
  const OrderSetting setting = thread_order();
  const uint64_t count = uint64_t{grid.x} * grid.y * grid.z;
  const Permutation order = block_order(setting, count);
  const LaunchParams launch{name, grid, block, shared_bytes, thread};
  runner.begin_grid(launch, setting);
  struct EndGridGuard {
    Block& block;
    ~EndGridGuard() { block.end_grid(); }
  } end{runner};
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = order[i], row = at / grid.x;
    runner.run_block(
        {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(row % grid.y), static_cast<unsigned>(row / grid.y)});
  }
}

}  // namespace tandem::emulation
