// One pool of threads for the process. Work is cut into chunks by size alone, so no result depends on who runs them.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "tandem/core/version.h"

namespace tandem {

/// How many threads a parallel loop may use, the calling one among them: usable_cores(), TANDEM_NUM_THREADS, or what
/// set_num_threads said last. The threads start with the first loop that needs them.
int get_num_threads();
/// Loops in progress on other threads finish undisturbed. @throws Error unless 1 <= n <= 1024, or inside a chunk
void set_num_threads(int n);

namespace detail {

/// How many threads the loops that this thread starts may use, itself among them; 0, the default: get_num_threads().
/// RankContext keeps it, so that devices and ranks can divide the cores among them.
int get_thread_share();
/// Sets this thread's share until it goes out of scope. @throws Error when negative
class ThreadShareGuard {
 public:
  explicit ThreadShareGuard(int share);
  ~ThreadShareGuard();
  ThreadShareGuard(const ThreadShareGuard&) = delete;
  ThreadShareGuard& operator=(const ThreadShareGuard&) = delete;

 private:
  int saved_;
};

/// A reference to a callable void(int64_t begin, int64_t end) that outlives the call.
class ChunkFunction {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ChunkFunction>) ChunkFunction(F&& f)
      : target_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* target, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(target))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(target_, begin, end); }

 private:
  void* target_;
  void (*call_)(void*, int64_t, int64_t);
};

void parallel_chunks(int64_t range, int64_t grain, ChunkFunction f);

}  // namespace detail

/// Calls f on [0, grain), [grain, 2 grain), ... up to `range`, in any order on any threads, this one among them, and
/// returns when all are done. The chunks are the same for any number of threads; inside a chunk, or with a share of 1,
/// they run here one after the other. Any number of threads may call this at once.
/// When chunks throw, those not begun are skipped and the exception of the lowest chunk is rethrown: always the same.
/// @throws Error unless grain >= 1
template <class F> void parallel_for(int64_t range, int64_t grain, F&& f) {
  if (range > grain) return detail::parallel_chunks(range, grain, f);
  if (range > 0) f(int64_t(0), range);
}
/// The same over begin, ... end - 1, as LibTorch's. A grain of 0 is 1.
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  parallel_for(end - begin, grain < 1 ? 1 : grain, [&](int64_t from, int64_t to) { f(begin + from, begin + to); });
}
/// Reduces begin, ... end - 1 chunk by chunk: reduce(from, to, identity) gives a chunk's result, and combine(a, b)
/// joins two, in the order of the chunks.
template <class T, class F, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T identity, const F& reduce, const Combine& combine) {
  if (begin >= end) return identity;
  grain = grain < 1 ? 1 : grain;
  struct Part {
    T value;
  };
  std::vector<Part> parts(static_cast<size_t>((end - begin + grain - 1) / grain), Part{identity});
  parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
    parts[static_cast<size_t>((from - begin) / grain)].value = reduce(from, to, identity);
  });
  T result = identity;
  for (const Part& part : parts) result = combine(result, part.value);
  return result;
}

}  // namespace tandem
