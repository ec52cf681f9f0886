// Settings and state of all emulated devices. Tests change them through the functions of emulation.h.
#include "tandem/emulation/emulation.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tandem/emulation/protection.h"
#include "tandem/emulation/state.h"

namespace tandem::emulation {
namespace {

/// Functions that inject_call_failure() accepts. The list excludes noexcept functions, and functions that only describe
/// the build.
constexpr std::array<std::string_view, 28> kFailableCalls{
    "allocate",           "allocate_host",     "allow_shared_memory",
    "begin_capture",      "call_on_host",      "can_access_peer",
    "check_launch",       "copy_async",        "copy_peer_async",
    "create_event",       "create_stream",     "elapsed_milliseconds",
    "enable_peer_access", "end_capture",       "fill_bytes_async",
    "is_capturing",       "is_done",           "launch",
    "launch_graph",       "memory_info",       "pointer_info",
    "properties",         "record_event",      "set_device",
    "synchronize",        "synchronize_event", "synchronize_stream",
    "wait_event"};

/// Reads a number from 0 to `max_value` from an environment variable. Returns `default_value` if the variable is unset.
/// If the value is invalid, describes the problem in `invalid_variable`.
uint64_t read_env_number(const char* variable, uint64_t default_value, uint64_t max_value,
                         std::string& invalid_variable) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return default_value;
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (*end == 0 && *text != '-' && number <= max_value) return number;
  invalid_variable = std::string(variable) + " is '" + text + "'; accepted: 0 to " + std::to_string(max_value);
  return default_value;
}

void check_device_index(const char* call, int device) {
  TANDEM_CHECK(device >= 0 && device < kMaxDevices, call, ": device ", device, "; accepted: 0 to ", kMaxDevices - 1);
}

}  // namespace

Settings::Settings() {
  num_devices = static_cast<int>(read_env_number("TANDEM_EMULATED_DEVICES", 8, kMaxDevices, invalid_variable));
  has_peer_access = read_env_number("TANDEM_EMULATED_PEERS", 1, 1, invalid_variable) == 1;
  stream_seed = read_env_number("TANDEM_EMULATION_STREAMS", 0, UINT64_MAX, invalid_variable);
  wait_for_launches = read_env_number("TANDEM_SYNC_LAUNCHES", 0, 1, invalid_variable) == 1;
  read_env_number("TANDEM_EMULATION_GUARD", 0, 1, invalid_variable);  // protection.cpp reads it
  if (!invalid_variable.empty()) num_devices = 0;
  memory_limit_bytes.fill(size_t(1) << 30);
}

State& state() {
  static State& only = *new State;
  return only;
}
Arena& State::arena(int device) {
  std::unique_ptr<Arena>& mine = arenas[static_cast<size_t>(device)];
  if (!mine) mine = std::make_unique<Arena>(device);
  return *mine;
}
int State::find_memory_device(const void* memory) const {
  if (page_locked.contains(memory)) return kPageLocked;
  for (size_t i = 0; i < arenas.size(); ++i)
    if (arenas[i] && arenas[i]->contains(memory)) return static_cast<int>(i);
  return kPageable;
}
std::string State::describe_problem(const MemoryRange& range) const {
  if (range.device == kPageable) return range.memory ? "" : "null";
  const Arena& arena = range.device == kPageLocked ? page_locked : *arenas[static_cast<size_t>(range.device)];
  return arena.describe_problem(range.memory, range.bytes);
}

void begin_call(const char* call) {
  TANDEM_CHECK_AS(CudaError, !in_host_function(), call, " failed: a host function must not call the runtime");
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto at = all.settings.calls_until_failure.find(call);
  if (at == all.settings.calls_until_failure.end() || --at->second > 0) return;
  all.settings.calls_until_failure.erase(at);
  TANDEM_CHECK_AS(CudaError, false, call, " failed: requested by emulation::inject_call_failure");
}
void check_valid_device(const char* call, int device) {
  const int count = state().settings.num_devices;
  TANDEM_CHECK_AS(CudaError, device >= 0 && device < count, call, " failed: there is no cuda:", device, "; there are ",
                  count, " emulated devices");
}
void check_device_usable(const char* call, int device) {
  check_valid_device(call, device);
  const std::string& error = state().streams.device_errors[static_cast<size_t>(device)];
  TANDEM_CHECK_AS(CudaError, error.empty(), call, " failed: ", error);
}

void set_device_count(int count) {
  TANDEM_CHECK(count >= 0 && count <= kMaxDevices, "set_device_count: got ", count, "; accepted: 0 to ", kMaxDevices);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.settings.num_devices = count;
}
void set_peer_access(bool possible) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.settings.has_peer_access = possible;
  if (!possible) all.peers.fill(0);
}
void set_memory_limit(int device, size_t bytes) {
  check_device_index("set_memory_limit", device);
  TANDEM_CHECK(bytes <= kArenaBytes, "set_memory_limit: got ", bytes, " bytes; accepted: at most ", kArenaBytes,
               " bytes");
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.settings.memory_limit_bytes[static_cast<size_t>(device)] = bytes;
}
void set_stream_seed(uint64_t seed) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.streams.set_seed(seed);
}
void inject_call_failure(const std::string& function, int n) {
  TANDEM_CHECK(
      std::find(kFailableCalls.begin(), kFailableCalls.end(), function) != kFailableCalls.end(),
      "inject_call_failure: '", function,
      "' is not a function of gpu_runtime.h that can fail; accepted: the names in kFailableCalls, in emulation.cpp");
  TANDEM_CHECK(n >= 1, "inject_call_failure: n is ", n, "; accepted: 1 or more");
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.settings.calls_until_failure[function] = n;
}
void reset_runtime() {
  State& all = state();
  Lock lock(all.mutex);
  all.captures.clear_captures();
  all.streams.run_or_drop_items(lock);
  all.streams.device_errors.fill({});
  all.settings = Settings();
  all.streams.set_seed(all.settings.stream_seed);
  all.peers.fill(0);
}
size_t num_pending_items(int device) {
  check_device_index("pending", device);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  return all.streams.num_pending_items(device);
}

StreamBarrier::StreamBarrier(const std::string& name, int streams, std::function<void()> work)
    : name_(name), sync_event_(std::make_shared<SyncEvent>()) {
  TANDEM_CHECK(streams >= 1, "StreamBarrier ", name, ": the number of streams is ", streams, "; accepted: 1 or more");
  sync_event_->pending_arrivals = streams;
  sync_event_->work = std::move(work);
}
void StreamBarrier::join(gpu::StreamHandle stream) {
  State& all = state();
  Lock lock(all.mutex);
  const auto at = all.streams.find_stream(stream, "StreamBarrier::join");
  all.streams.enqueue_item(at, {.name = name_, .arrival = sync_event_, .devices = kAllDevices});
  all.streams.enqueue_item(at, {.name = "wait for " + name_, .awaited_event = sync_event_});
  all.streams.run_random_items(lock);
}
void StreamBarrier::cancel() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.streams.mark_reached(sync_event_);
}

}  // namespace tandem::emulation
