// What all uses of oneDNN share. Each of its primitives works for one thread, the one that calls it.
#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>

#include "tandem/core/threads/library_calls.h"

namespace tandem::kernels::cpu {

/// The runtime of OpenMP that oneDNN brings, whichever it is: its functions are looked up by name, and not linked.
struct OpenMp {
  int (*get_max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set_num_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
};
inline const OpenMp& openmp() {
  static const OpenMp found;
  return found;
}

/// The library asks OpenMP how many threads to use, when a primitive is made and when it runs. One: its own threads
/// would fight ours for the cores. The setting is this thread's alone, and it gets its own back. A oneDNN that was
/// built without OpenMP has no threads to keep back.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : saved_(openmp().get_max_threads ? openmp().get_max_threads() : 1) {
    if (saved_ != 1) openmp().set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (saved_ != 1) openmp().set_num_threads(saved_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;

 private:
  int saved_;
};

inline const dnnl::engine& onednn_engine() {
  static const auto* const made = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // for ever, as the primitives
  return *made;
}

struct OnednnArgument {
  int index;
  dnnl::memory value;
};
/// Without the map of arguments that the C++ interface would build each time.
inline void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                    std::initializer_list<OnednnArgument> arguments) {
  dnnl_exec_arg_t list[8];
  int count = 0;
  for (const OnednnArgument& a : arguments) list[count++] = {a.index, a.value.get()};
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream.get(), count, list),
                          "oneDNN could not run a primitive");
}

/// The latest primitives, by all that they depend on: making one takes about a millisecond.
template <class Problem, class Primitive> class OnednnCache {
 public:
  /// Made now if need be. Null where oneDNN has no implementation of this problem, or exit() has begun.
  std::shared_ptr<const Primitive> get(const Problem& problem) {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(problem); known != entries_.end()) {
      known->second.used = ++clock_;
      return known->second.primitive;
    }
    const detail::LibraryCall inside(detail::Ending::exit_began);
    if (!inside.allowed()) return nullptr;
    const auto at = entries_.try_emplace(problem).first;
    at->second.used = ++clock_;
    if (entries_.size() > kEntries)
      entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                      [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    try {
      const OneOpenMpThread guard;
      at->second.primitive = std::make_shared<Primitive>(problem);
    } catch (const dnnl::error&) {
      // The null pointer stays, and says so.
    }
    return at->second.primitive;
  }

 private:
  static constexpr size_t kEntries = 128;
  struct Entry {
    std::shared_ptr<const Primitive> primitive;
    uint64_t used = 0;
  };
  std::mutex mutex_;
  std::map<Problem, Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace tandem::kernels::cpu
