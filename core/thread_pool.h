// One pool of threads for the process. Work is cut into chunks by size only, so results do not depend on who runs them.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tandem {

/// Threads that one parallel loop may use, the calling one among them: usable_cores(), TANDEM_NUM_THREADS, or what
/// set_num_threads said. @throws Error unless n >= 1
void set_num_threads(int n);
int get_num_threads();

/// A reference to a callable void(int64_t begin, int64_t end) that outlives the call.
class ChunkFunction {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, ChunkFunction>)
  ChunkFunction(F&& f)
      : target_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* t, int64_t b, int64_t e) { (*static_cast<std::remove_reference_t<F>*>(t))(b, e); }) {}
  void operator()(int64_t begin, int64_t end) const { call_(target_, begin, end); }

 private:
  void* target_;
  void (*call_)(void*, int64_t, int64_t);
};

/// Calls f on [0, grain), [grain, 2 grain), ... of [0, range), on any threads in any order, and returns when all are
/// done. A call from inside a chunk, or with a thread share of 1, runs its chunks in turn. The first exception is
/// rethrown; chunks not begun by then are skipped.
void parallel_for(int64_t range, int64_t grain, ChunkFunction f);

/// Called once in every thread of the pool, before its first chunk (set up in kernels/).
void set_worker_start_hook(void (*hook)());

}  // namespace tandem
