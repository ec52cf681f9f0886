// DeviceThreads: threads that run the replicas of a module at the same time, one per device.
#pragma once
#include <vector>

#include "tandem/core/device.h"
#include "tandem/core/owned_ptr.h"

namespace tandem::detail {
class WorkerThread;
}

namespace tandem::nn::parallel::detail {

/// Threads for all devices but the first. The calling thread does the work of the first device.
class DeviceThreads {
 public:
  explicit DeviceThreads(std::vector<Device> devices);
  ~DeviceThreads();
  /// Calls job(0) to job(count - 1) at the same time, job r on the thread of device r, and returns when all are done.
  /// Each job has the caller's grad mode and rank, and an equal share of the caller's cores. Job 0 draws random numbers
  /// from the caller's generator, and job r > 0 from default_generator(first device, r). So manual_seed makes all jobs
  /// repeatable, and a single device reproduces the numbers of shard r under `const GeneratorGuard
  /// guard(default_generator(device, r));`.
  /// @throws the exception of the first failed job (by number), with the replica's number and device in front of its
  /// message
  void run_on_devices(size_t count, const std::function<void(size_t)>& job);

 private:
  std::vector<Device> devices_;
  std::vector<tandem::detail::OwnedPtr<tandem::detail::WorkerThread>> threads_;
};

}  // namespace tandem::nn::parallel::detail
