// Keeps oneDNN from starting threads of its own.
#pragma once
#include <dlfcn.h>

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

}  // namespace tandem::kernels::cpu
