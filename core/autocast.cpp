// Sets and reads the state of autocast, which is in the thread's context.
#include "tandem/core/autocast.h"

#include "tandem/core/autocast/autocast_cache.h"
#include "tandem/core/error.h"

namespace tandem {
namespace {

AutocastState& autocast_state() { return ThreadContext::current().autocast; }
size_t device_type_index(DeviceType type) { return static_cast<size_t>(type); }

}  // namespace

bool autocast::is_autocast_enabled(DeviceType device_type) {
  return autocast_state().enabled[device_type_index(device_type)];
}
void autocast::set_autocast_enabled(DeviceType device_type, bool enabled) {
  AutocastState& now = autocast_state();
  now.enabled[device_type_index(device_type)] = enabled;
  now.is_any_enabled = now.enabled[0] || now.enabled[1];
}
DType autocast::get_autocast_dtype(DeviceType device_type) {
  return autocast_state().dtypes[device_type_index(device_type)];
}
void autocast::set_autocast_dtype(DeviceType device_type, DType dtype) {
  TANDEM_CHECK(is_reduced_floating_point(dtype), "set_autocast_dtype: got ", dtype, "; accepted: float16 and bfloat16");
  autocast_state().dtypes[device_type_index(device_type)] = dtype;
}
bool autocast::is_autocast_cache_enabled() { return autocast_state().cache_enabled; }
void autocast::set_autocast_cache_enabled(bool enabled) { autocast_state().cache_enabled = enabled; }
void autocast::clear_cache() {
  if (autocast_state().cache) autocast_state().cache->clear();
}
int autocast::increment_nesting() {
  // Creates the cache before any worker thread copies this state, so that the threads share one cache, and the guard of
  // this thread can clear it.
  if (!autocast_state().cache) autocast_state().cache = std::make_shared<AutocastCache>();
  return ++autocast_state().nesting;
}
int autocast::decrement_nesting() {
  TANDEM_CHECK(autocast_state().nesting > 0,
               "decrement_nesting: this thread is in no autocast region; call increment_nesting first");
  return --autocast_state().nesting;
}

AutocastGuard::AutocastGuard(DeviceType device_type, std::optional<DType> dtype, bool enabled, bool cache_enabled)
    : device_type_(device_type),
      dtype_(autocast::get_autocast_dtype(device_type)),
      enabled_(autocast::is_autocast_enabled(device_type)),
      cache_enabled_(autocast::is_autocast_cache_enabled()) {
  autocast::set_autocast_dtype(device_type, dtype.value_or(dtype_));
  autocast::set_autocast_enabled(device_type, enabled);
  autocast::set_autocast_cache_enabled(cache_enabled);
  autocast::increment_nesting();
}
AutocastGuard::~AutocastGuard() {
  if (--autocast_state().nesting == 0) autocast::clear_cache();
  autocast::set_autocast_cache_enabled(cache_enabled_);
  autocast::set_autocast_enabled(device_type_, enabled_);
  autocast::set_autocast_dtype(device_type_, dtype_);
}

}  // namespace tandem
