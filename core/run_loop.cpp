#include "tandem/core/run_loop.h"

#include <algorithm>
#include <vector>

#include "tandem/core/thread_pool.h"

namespace tandem {
namespace {

int64_t chunk_count(const Loop& loop) {
  TANDEM_CHECK(loop.range <= 0 || loop.grain >= 1, loop.name, ": a loop's grain is ", loop.grain,
               "; accepted: 1 or more");
  return loop.range <= 0 ? 0 : (loop.range - 1) / loop.grain + 1;
}

}  // namespace

LoopObserver* set_loop_observer(LoopObserver* observer) { return detail::loop_observer.exchange(observer); }

void detail::run_observed(ArrayRef<Loop> loops) {
  if (LoopObserver* const observer = loop_observer.load()) return observer->on_run(loops);
  run_unobserved(loops);  // it left since run_all looked
}

void run_unobserved(ArrayRef<Loop> loops) {
  if (loops.size() == 1) {
    const Loop& loop = loops.front();
    return parallel_for(loop.range, loop.grain, [&](int64_t begin, int64_t end) { loop.body(loop, begin, end); });
  }
  std::vector<int64_t> first(loops.size() + 1, 0);  // of all chunks, numbered through, the first of each loop
  for (size_t i = 0; i < loops.size(); ++i) first[i + 1] = first[i] + chunk_count(loops[i]);
  parallel_for(first.back(), 1, [&](int64_t chunk, int64_t) {
    const size_t i = static_cast<size_t>(std::upper_bound(first.begin(), first.end(), chunk) - first.begin()) - 1;
    const Loop& loop = loops[i];
    const int64_t begin = (chunk - first[i]) * loop.grain;
    loop.body(loop, begin, loop.range - begin > loop.grain ? begin + loop.grain : loop.range);
  });
}

}  // namespace tandem
