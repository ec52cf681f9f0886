// Implements set_thread_order and thread_order. The order is set by a test, or by the environment variable
// TANDEM_EMULATION_ORDER.
#include "tandem/emulation/thread_order.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "tandem/core/error.h"

namespace tandem::emulation {

static std::atomic<int> order_override{-1};  // order passed to the last set_thread_order(); -1 before the first call
static std::atomic<uint64_t> seed_override{0};

void set_thread_order(ThreadOrder order, uint64_t seed) {
  seed_override = seed;
  order_override = static_cast<int>(order);
}

static OrderSetting from_environment() {
  const char* const text = std::getenv("TANDEM_EMULATION_ORDER");
  const std::string name = text ? text : "forward";
  if (name == "forward") return {ThreadOrder::forward, 0};
  if (name == "reverse") return {ThreadOrder::reverse, 0};
  const std::string shuffle = "shuffle:";
  char* end = nullptr;
  const uint64_t seed = name.rfind(shuffle, 0) == 0 ? std::strtoull(name.c_str() + shuffle.size(), &end, 10) : 0;
  TANDEM_CHECK(end && !*end && end != name.c_str() + shuffle.size(), "TANDEM_EMULATION_ORDER is '", name,
               "'; accepted: forward, reverse, shuffle:SEED with a number as SEED");
  return {ThreadOrder::shuffle, seed};
}

OrderSetting thread_order() {
  const int order = order_override;
  return order < 0 ? from_environment() : OrderSetting{static_cast<ThreadOrder>(order), seed_override};
}

}  // namespace tandem::emulation
