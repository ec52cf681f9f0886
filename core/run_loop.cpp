#include "tandem/core/run_loop.h"

#include <algorithm>

#include "tandem/core/thread_pool.h"

namespace tandem {
namespace {
std::atomic<LoopObserver> observer{nullptr};
inline void observe(const Loop& loop) {
  if (const LoopObserver seen = observer.load(std::memory_order_relaxed)) [[unlikely]] seen(loop);
}
}  // namespace

void set_loop_observer(LoopObserver seen) { observer = seen; }

void run(const Loop& loop) {
  observe(loop);
  parallel_for(loop.range, loop.grain, [&loop](int64_t begin, int64_t end) { loop.body(loop, begin, end); });
}

void run_all(ArrayRef<Loop> loops) {
  std::vector<int64_t> first_chunk(1, 0);  // chunk numbers run through all loops
  for (const Loop& loop : loops) {
    observe(loop);
    first_chunk.push_back(first_chunk.back() + (loop.range + loop.grain - 1) / loop.grain);
  }
  parallel_for(first_chunk.back(), 1, [&](int64_t chunk, int64_t chunk_end) {
    for (; chunk < chunk_end; ++chunk) {
      const auto at = std::upper_bound(first_chunk.begin(), first_chunk.end(), chunk) - first_chunk.begin() - 1;
      const Loop& loop = loops[static_cast<size_t>(at)];
      const int64_t begin = (chunk - first_chunk[static_cast<size_t>(at)]) * loop.grain;
      loop.body(loop, begin, std::min(begin + loop.grain, loop.range));
    }
  });
}

}  // namespace tandem
