// Threads that run the replicas of a module side by side, one per device.
#pragma once
#include <vector>

#include "tandem/core/device.h"
#include "tandem/core/owned.h"

namespace tandem::detail {
class WorkerThread;
}

namespace tandem::nn::parallel::detail {

/// A thread per device but the first, whose work the caller does.
class DeviceThreads {
 public:
  explicit DeviceThreads(std::vector<Device> devices);
  ~DeviceThreads();
  /// Calls job(0) to job(count - 1) at the same time, job r on the thread of device r, and returns when all are done.
  /// Each has the caller's grad mode and rank, and an equal share of its cores. Job r > 0 draws its random numbers from
  /// default_generator(first device, r); job 0 from where the caller would. So manual_seed repeats all of them, and one
  /// device gets the numbers of shard r under `const GeneratorGuard guard(default_generator(device, r));`.
  /// @throws what the lowest job that failed threw, with replica and device in front
  void run(size_t count, const std::function<void(size_t)>& job);

 private:
  std::vector<Device> devices_;
  std::vector<tandem::detail::Owned<tandem::detail::WorkerThread>> threads_;
};

}  // namespace tandem::nn::parallel::detail
