#include "tandem/parallel/collectives/watchdog.h"

namespace tandem::distributed {

Watchdog::Watchdog(std::unique_ptr<StoreClient> store, std::function<void(const std::string&)> failed)
    : store_(std::move(store)), failed_(std::move(failed)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  stop_ = true;
  store_->interrupt();
  thread_.join();
}

void Watchdog::watch() {
  std::optional<std::string> cause;
  try {
    while (!cause && !stop_) cause = store_->find(kFailureKey, std::chrono::hours(1));
  } catch (const std::exception& error) {
    cause = error.what();
  }
  if (cause && !stop_) failed_(*cause);
}

}  // namespace tandem::distributed
