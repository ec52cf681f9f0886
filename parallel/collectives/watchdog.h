// Hears of the job's first failure from the launcher's store. Internal.
#pragma once
#include <atomic>
#include <functional>
#include <thread>

#include "tandem/parallel/collectives/rendezvous.h"

namespace tandem::distributed {

/// Waits, on a thread of its own, for the published failure, and hands it over once. That the store is gone counts as
/// one: whoever starts ranks lives as long as they do.
class Watchdog {
 public:
  Watchdog(std::unique_ptr<StoreClient> store, std::function<void(const std::string& cause)> failed);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

 private:
  void watch();
  std::unique_ptr<StoreClient> store_;
  std::function<void(const std::string&)> failed_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tandem::distributed
