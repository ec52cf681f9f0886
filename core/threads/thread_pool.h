// The process's thread pool. Work is split into chunks by size alone, so results do not depend on which threads run
// them.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "tandem/core/version.h"

namespace tandem {

/// Number of threads that a parallel loop may use, including the caller: the last set_num_threads(), else the
/// environment variable TANDEM_NUM_THREADS, else num_usable_cores(). The threads start with the first loop that needs
/// them.
int get_num_threads();
/// Sets the number of threads; loops in progress still finish. @throws Error unless 1 <= n <= 1024, or inside a chunk
void set_num_threads(int n);

namespace detail {

/// Number of threads that loops of this thread may use, including itself; 0 (the default) means get_num_threads(). Part
/// of ThreadContext, so that devices and ranks can divide the cores between them.
int get_thread_share();
/// Sets this thread's share until the guard goes out of scope. @throws Error if `share` is negative
class ThreadShareGuard {
 public:
  explicit ThreadShareGuard(int share);
  ~ThreadShareGuard();
  ThreadShareGuard(const ThreadShareGuard&) = delete;
  ThreadShareGuard& operator=(const ThreadShareGuard&) = delete;

 private:
  int saved_share_;
};

/// Non-owning reference to a callable void(int64_t begin, int64_t end), which must outlive it.
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

/// Calls f on [0, grain), [grain, 2 grain), ... up to `range`, in any order on any threads of the pool and this one,
/// and returns when all chunks are done. The chunks are the same for any number of threads. Inside a chunk, or with a
/// share of 1, they run on this thread in order. Any number of threads may call this at once.
/// If a chunk throws, higher chunks that have not started are skipped. The exception of the lowest chunk that throws is
/// rethrown, so the error is deterministic.
/// @throws Error unless grain >= 1
template <class F> void parallel_for(int64_t range, int64_t grain, F&& f) {
  if (range > grain) return detail::parallel_chunks(range, grain, f);
  if (range > 0) f(int64_t(0), range);
}
/// parallel_for() over begin, ..., end - 1, as in LibTorch. A grain of 0 counts as 1.
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  parallel_for(end - begin, grain < 1 ? 1 : grain, [&](int64_t from, int64_t to) { f(begin + from, begin + to); });
}
/// Reduces begin, ..., end - 1 in chunks: reduce(from, to, identity) returns the result of a chunk, and combine(a, b)
/// joins two results, in the order of the chunks.
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
