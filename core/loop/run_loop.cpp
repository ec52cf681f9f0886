// Runs loops: splits them into chunks for the thread pool.
#include "tandem/core/loop/run_loop.h"

#include <algorithm>
#include <vector>

#include "tandem/core/allocator.h"
#include "tandem/core/storage.h"
#include "tandem/core/threads/thread_pool.h"

namespace tandem {
namespace {

thread_local char* current_loop_scratch = nullptr;

/// Scratch memory for one part of a loop, from the allocator of the device of the loop's first operand.
class LoopScratch {
 public:
  explicit LoopScratch(const Loop& loop)
      : device_(static_cast<const StorageImpl*>(loop.operands[0].buffer)->device.index()),
        bytes_(static_cast<size_t>(loop.scratch)),
        data_(allocate(device_, bytes_)) {
    current_loop_scratch = static_cast<char*>(data_);
  }
  ~LoopScratch() { deallocate(device_, data_, bytes_); }
  LoopScratch(const LoopScratch&) = delete;

 private:
  int device_;
  size_t bytes_;
  void* data_;
};

void run_loop_chunk(const Loop& loop, int64_t begin, int64_t end) {
  if (loop.scratch == 0) return loop.body(loop, begin, end);
  const LoopScratch scratch(loop);
  loop.body(loop, begin, end);
}

int64_t num_chunks(const Loop& loop) {
  TANDEM_CHECK(loop.range <= 0 || loop.grain >= 1, loop.name, ": internal error: the loop's grain is ", loop.grain,
               ", but must be 1 or more; please report it");
  return loop.range <= 0 ? 0 : (loop.range - 1) / loop.grain + 1;
}

}  // namespace

char* loop_scratch() { return current_loop_scratch; }

namespace {
/// Runs `count` loops; at(i) returns loop i.
template <class At> void run_loops(size_t count, At at) {
  if (count == 1) {
    const Loop& loop = at(0);
    return parallel_for(loop.range, loop.grain, [&](int64_t begin, int64_t end) { run_loop_chunk(loop, begin, end); });
  }
  std::vector<int64_t> first(count + 1, 0);  // index of each loop's first chunk among the chunks of all loops
  for (size_t i = 0; i < count; ++i) first[i + 1] = first[i] + num_chunks(at(i));
  parallel_for(first.back(), 1, [&](int64_t chunk, int64_t) {
    const size_t i = static_cast<size_t>(std::upper_bound(first.begin(), first.end(), chunk) - first.begin()) - 1;
    const Loop& loop = at(i);
    const int64_t begin = (chunk - first[i]) * loop.grain;
    run_loop_chunk(loop, begin, loop.range - begin > loop.grain ? begin + loop.grain : loop.range);
  });
}
}  // namespace

void run_loops_unobserved(ArrayRef<Loop> loops) {
  run_loops(loops.size(), [&](size_t i) -> const Loop& { return loops[i]; });
}
void run_loops_unobserved(ArrayRef<const Loop*> loops) {
  run_loops(loops.size(), [&](size_t i) -> const Loop& { return *loops[i]; });
}

}  // namespace tandem
