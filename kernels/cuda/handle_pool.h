// Pool of library handles and the plans made with them. Each thread has its own handle per device, because calls with
// the same handle must not overlap. The pool reuses handles, because creating one takes milliseconds and GPU memory.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/device.h"
#include "tandem/core/threads/late_thread_local.h"

namespace tandem::kernels::cuda {

/// Pool of Contexts, each constructed from a Device. A thread takes a Context at its first use, and returns it to the
/// pool when the thread ends. The main thread keeps its own. Contexts are never destroyed: at process exit the driver
/// may already be gone.
template <class Context> class HandlePool {
 public:
  static Context& for_this_thread(Device device) {
    std::unique_ptr<Context>& mine = LateThreadLocal<ThreadHandles>::get().contexts[device.index()];
    if (!mine) mine = acquire(device);
    return *mine;
  }

 private:
  struct FreeHandles {
    std::mutex mutex;
    std::array<std::vector<std::unique_ptr<Context>>, kMaxDevices> available;
  };
  static FreeHandles& shared() {
    static auto& all = *new FreeHandles;
    return all;
  }
  static std::unique_ptr<Context> acquire(Device device) {
    {
      const std::lock_guard lock(shared().mutex);
      auto& available = shared().available[static_cast<size_t>(device.index())];
      if (!available.empty()) {
        std::unique_ptr<Context> context = std::move(available.back());
        available.pop_back();
        return context;
      }
    }
    const gpu::UnsafeCallsGuard guard;  // permits the library's allocations while this thread captures a stream
    return std::make_unique<Context>(device);
  }
  struct ThreadHandles {
    std::map<int, std::unique_ptr<Context>> contexts;
    ~ThreadHandles() {
      const std::lock_guard lock(shared().mutex);
      for (auto& [device, context] : contexts)
        shared().available[static_cast<size_t>(device)].push_back(std::move(context));
    }
  };
};

}  // namespace tandem::kernels::cuda
