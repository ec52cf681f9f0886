// Helpers for tests of the emulated CUDA runtime: streams, events and memory owned by a scope, two small kernels, and a
// check of how a child process dies.
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

/// Sets fixed emulation settings for a test, independent of the environment, and restores those of the environment when
/// destroyed.
struct Reset {
  Reset() {
    emulation::reset_runtime();
    emulation::set_device_count(8);
    emulation::set_peer_access(true);
    emulation::set_stream_seed(0);
  }
  ~Reset() { emulation::reset_runtime(); }
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
/// An array of ints on a device, or in page-locked host memory
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

/// Launches to[i] = from[i] + amount on one block.
inline void add(int* to, const int* from, int amount, unsigned count, gpu::StreamHandle stream) {
  const gpu::DeviceGuard guard(stream->device);
  emulation::launch("add", dim3(1), dim3(count), 0, stream, [=] { to[threadIdx.x] = from[threadIdx.x] + amount; });
}
/// Launches to[i] = value on one block.
inline void set(int* to, int value, unsigned count, gpu::StreamHandle stream) {
  const gpu::DeviceGuard guard(stream->device);
  emulation::launch("set", dim3(1), dim3(count), 0, stream, [=] { to[threadIdx.x] = value; });
}
/// Returns `count` ints of device memory after all earlier work of the stream.
inline std::vector<int> read(const int* from, size_t count, gpu::StreamHandle stream) {
  std::vector<int> values(count);
  gpu::copy_async(values.data(), from, count * sizeof(int), stream);
  gpu::synchronize_stream(stream);
  return values;
}
inline int read_one(const int* from, gpu::StreamHandle stream) { return read(from, 1, stream).front(); }

/// How a forked process that called f ended
struct Death {
  bool died;
  std::string words;  // output of the process
};
Death death_of(const std::function<void()>& f);

constexpr bool kAddressSanitizer = TANDEM_TEST_ASAN;

}  // namespace tandem::test
