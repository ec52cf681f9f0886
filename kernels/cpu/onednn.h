// Helpers for calling oneDNN. Each primitive runs in the calling thread only.
#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>

#include "tandem/core/threads/delay_exit_guard.h"

namespace tandem::kernels::cpu {

/// Functions of the OpenMP runtime that oneDNN uses. They are looked up by name instead of linked, so that any OpenMP
/// runtime works.
struct OpenMp {
  int (*get_max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set_num_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
};
inline const OpenMp& openmp() {
  static const OpenMp found;
  return found;
}

/// Limits oneDNN to one thread in this scope. oneDNN asks OpenMP for the number of threads when a primitive is created
/// and when it runs, and its threads would compete with Tandem's for the cores. The setting is local to this thread;
/// the destructor restores it. A oneDNN built without OpenMP has no threads to limit.
class SingleOpenMpThreadGuard {
 public:
  SingleOpenMpThreadGuard() : saved_num_threads_(openmp().get_max_threads ? openmp().get_max_threads() : 1) {
    if (saved_num_threads_ != 1) openmp().set_num_threads(1);
  }
  ~SingleOpenMpThreadGuard() {
    if (saved_num_threads_ != 1) openmp().set_num_threads(saved_num_threads_);
  }
  SingleOpenMpThreadGuard(const SingleOpenMpThreadGuard&) = delete;

 private:
  int saved_num_threads_;
};

inline const dnnl::engine& onednn_engine() {
  // The engine is never destroyed, and neither are the primitives that use it.
  static const auto* const made = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *made;
}

struct OnednnArgument {
  int index;
  dnnl::memory value;
};
/// Runs a primitive through oneDNN's C API, which avoids the map of arguments that the C++ interface would build each
/// time.
inline void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                    std::initializer_list<OnednnArgument> arguments) {
  dnnl_exec_arg_t list[8];
  int count = 0;
  for (const OnednnArgument& a : arguments) list[count++] = {a.index, a.value.get()};
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream.get(), count, list),
                          "oneDNN could not run a primitive");
}

/// Cache of the most recently used primitives, with the problem as key. Creating a primitive takes about a millisecond.
template <class Problem, class Primitive> class OnednnCache {
 public:
  /// Returns the primitive of a problem. Creates the primitive if it is not in the cache. Returns null if oneDNN has no
  /// implementation of the problem, or exit() has begun.
  std::shared_ptr<const Primitive> get(const Problem& problem) {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(problem); known != entries_.end()) {
      known->second.last_used = ++use_clock_;
      return known->second.primitive;
    }
    const detail::DelayExitGuard inside(detail::ExitStage::exit_began);
    if (!inside.allowed()) return nullptr;
    const auto at = entries_.try_emplace(problem).first;
    at->second.last_used = ++use_clock_;
    if (entries_.size() > kMaxEntries)
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.last_used < b.second.last_used;
      }));
    try {
      const SingleOpenMpThreadGuard guard;
      at->second.primitive = std::make_shared<Primitive>(problem);
    } catch (const dnnl::error&) {
      // The entry keeps the null pointer, so that later calls do not ask oneDNN again.
    }
    return at->second.primitive;
  }

 private:
  static constexpr size_t kMaxEntries = 128;
  struct Entry {
    std::shared_ptr<const Primitive> primitive;
    uint64_t last_used = 0;
  };
  std::mutex mutex_;
  std::map<Problem, Entry> entries_;
  uint64_t use_clock_ = 0;
};

}  // namespace tandem::kernels::cpu
