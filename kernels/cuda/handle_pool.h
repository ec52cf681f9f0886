// A library's handle and what was prepared with it, one per thread and device: the libraries' calls on one handle must
// not overlap, and to make one takes milliseconds and memory of the GPU.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/device.h"
#include "tandem/core/threads/thread_kept.h"

namespace tandem::kernels::cuda {

/// Contexts (made from a device) that threads take on first use and give back when they end, for the next thread; the
/// main thread keeps its own. None is ever destroyed: at the end of the process the driver may be gone before them.
template <class Context> class HandlePool {
 public:
  static Context& of_this_thread(Device device) {
    std::unique_ptr<Context>& mine = ThreadKept<Taken>::get().contexts[device.index()];
    if (!mine) mine = take(device);
    return *mine;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::array<std::vector<std::unique_ptr<Context>>, kMaxDevices> free;
  };
  static Shared& shared() {
    static auto& all = *new Shared;
    return all;
  }
  static std::unique_ptr<Context> take(Device device) {
    {
      const std::lock_guard lock(shared().mutex);
      auto& free = shared().free[static_cast<size_t>(device.index())];
      if (!free.empty()) {
        std::unique_ptr<Context> context = std::move(free.back());
        free.pop_back();
        return context;
      }
    }
    const gpu::UnsafeCallsGuard guard;  // a library may allocate, whether this thread captures or not
    return std::make_unique<Context>(device);
  }
  struct Taken {
    std::map<int, std::unique_ptr<Context>> contexts;
    ~Taken() {
      const std::lock_guard lock(shared().mutex);
      for (auto& [device, context] : contexts) shared().free[static_cast<size_t>(device)].push_back(std::move(context));
    }
  };
};

}  // namespace tandem::kernels::cuda
