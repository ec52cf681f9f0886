// What the tests of the emulated CUDA runtime share: streams, events and memory that end with a scope, two small
// kernels, and a way to watch a program die.
#pragma once
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/emulation.h"
#include "tandem/emulation/simt.h"
#include "tandem/emulation/streams.h"

namespace tandem::test {

/// A test's settings, whatever the environment says; those of the environment again after it.
struct Reset {
  Reset() {
    emulation::reset();
    emulation::set_device_count(8);
    emulation::set_peer_access(true);
    emulation::set_stream_seed(0);
  }
  ~Reset() { emulation::reset(); }
};
struct OwnStream {
  gpu::StreamHandle handle;
  explicit OwnStream(int device = 0) : handle(gpu::create_stream(device)) {}
  OwnStream(OwnStream&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  ~OwnStream() { gpu::destroy_stream(handle); }
  operator gpu::StreamHandle() const { return handle; }
};
struct OwnEvent {
  gpu::EventHandle handle;
  explicit OwnEvent(int device = 0, bool timing = false) : handle(gpu::create_event(device, timing)) {}
  OwnEvent(const OwnEvent&) = delete;
  ~OwnEvent() { gpu::destroy_event(handle); }
  operator gpu::EventHandle() const { return handle; }
};
/// Some ints on a device, or page-locked.
struct Ints {
  int device, *data;
  explicit Ints(size_t count, int device = 0)
      : device(device), data(static_cast<int*>(gpu::allocate(device, count * sizeof(int)))) {}
  Ints(const Ints&) = delete;
  ~Ints() { gpu::release(device, data); }
  operator int*() const { return data; }
};
struct HostInts {
  int* data;
  explicit HostInts(size_t count) : data(static_cast<int*>(gpu::allocate_host(count * sizeof(int)))) {}
  HostInts(const HostInts&) = delete;
  ~HostInts() { gpu::release_host(data); }
  operator int*() const { return data; }
};

/// to[i] = from[i] + amount, by one block
inline void add(int* to, const int* from, int amount, unsigned count, gpu::StreamHandle stream) {
  const gpu::DeviceGuard guard(stream->device);
  emulation::launch("add", dim3(1), dim3(count), 0, stream, [=] { to[threadIdx.x] = from[threadIdx.x] + amount; });
}
/// to[i] = value, by one block
inline void set(int* to, int value, unsigned count, gpu::StreamHandle stream) {
  const gpu::DeviceGuard guard(stream->device);
  emulation::launch("set", dim3(1), dim3(count), 0, stream, [=] { to[threadIdx.x] = value; });
}
/// What is in device memory when the stream has got there.
inline std::vector<int> read(const int* from, size_t count, gpu::StreamHandle stream) {
  std::vector<int> values(count);
  gpu::copy_async(values.data(), from, count * sizeof(int), stream);
  gpu::synchronize_stream(stream);
  return values;
}
inline int read_one(const int* from, gpu::StreamHandle stream) { return read(from, 1, stream).front(); }

/// How a copy of this process ended that called f.
struct Death {
  bool died;
  std::string words;  // what it wrote
};
Death death_of(const std::function<void()>& f);

constexpr bool kAddressSanitizer = TANDEM_TEST_ASAN;

}  // namespace tandem::test
