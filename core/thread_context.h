// Thread-local state of a rank, or of one device's thread in a rank: generators, grad mode, autocast, observers, the
// autograd sequence. Worker threads of the autograd engine use a copy of the state of the thread that called
// backward(); threads of data loaders copy the state of the thread that created them. No other global state affects
// results.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <typeindex>
#include <utility>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/core/owned_ptr.h"

namespace tandem {

class Generator;
namespace cuda::detail {
class Capture;
class StreamSet;
using Streams = std::shared_ptr<const StreamSet>;
}  // namespace cuda::detail

namespace autograd::detail {
struct SavedTensorHooks;
}  // namespace autograd::detail

namespace detail {

class AutocastCache;
class Observer;
class Tracer;

/// Base class for per-rank state that a higher layer adds with RankState::extension().
struct RankExtension {
  virtual ~RankExtension() = default;
  /// Called when the process exits, to end activities of this extension: for example, to leave process groups. Only the
  /// process's first rank gets this call, because its state is never destroyed.
  virtual void on_process_exit() {}
};

/// State shared by all threads of one rank.
struct RankState {
  RankState();
  ~RankState();
  Generator& generator(Device device, uint64_t stream);
  void on_process_exit();
  void seed_all(uint64_t seed);
  /// Returns this rank's T, created by the first call. T derives from RankExtension and lives as long as the rank.
  template <class T> T& extension() {
    return static_cast<T&>(extension(typeid(T), []() -> RankExtension* { return new T; }));
  }

  int world_size = 1;  // number of ranks in the default process group
  // Index of the GPU on which the rank's collectives run. -1 if the rank has no GPU, or uses the GPU of each tensor.
  int gpu_index = -1;
  std::atomic<int64_t> num_collectives{0};  // number of collectives that this rank has started
  std::atomic<bool> has_warned_of_no_collective{false};

 private:
  struct Impl;
  RankExtension& extension(std::type_index type, RankExtension* (*make)());
  OwnedPtr<Impl> impl_;
};

enum class Float32Precision : int8_t { highest, high, medium };

/// State of mixed precision, see core/autocast.h. Arrays have an element for each DeviceType.
struct AutocastState {
  std::array<bool, 2> enabled{};
  bool is_any_enabled = false;  // whether autocast is enabled for any device type
  bool cache_enabled = true;
  int nesting = 0;  // number of nested autocast regions that the thread is in
  std::array<DType, 2> dtypes{DType::bfloat16, DType::float16};
  // Cached casts of weights; null until autocast first needs the cache. Copies of the ThreadContext share the cache.
  std::shared_ptr<AutocastCache> cache;
};

struct ThreadContext {
  // State of this thread's rank. If it is null when it is first needed, it is set to the state of the process's first
  // rank.
  std::shared_ptr<RankState> rank;
  bool grad_enabled = true;
  bool inference_mode = false;     // whether InferenceMode is on: new tensors are inference tensors
  bool anomaly_mode = false;       // whether anomaly mode is on: see autograd/anomaly_mode.h
  bool anomaly_check_nan = false;  // whether backward checks gradients for NaN
  DType default_dtype = DType::float32;
  bool deterministic_algorithms = true;  // see core/algorithms.h
  Float32Precision float32_precision = Float32Precision::highest;
  int thread_share = 0;            // number of pool threads that this thread may use; 0 means all
  Generator* generator = nullptr;  // generator of a GeneratorGuard; null means the rank's default generators
  cuda::detail::Streams streams;   // current streams, set by cuda::StreamGuard; null means the devices' default streams
  // Capture that records this thread's GPU work for a Graph; null if the work is executed.
  std::shared_ptr<cuda::detail::Capture> capture;
  std::shared_ptr<Observer> observer;  // innermost observer, set by ObserverGuard
  std::shared_ptr<Tracer> tracer;      // tracer of the current trace, or null
  int lane = 0;  // index of the DataParallel device that this thread works for, recorded in traces
  // hooks of the innermost saved_tensors_hooks guard, or null
  std::shared_ptr<const autograd::detail::SavedTensorHooks> saved_tensor_hooks;
  AutocastState autocast;
  uint64_t next_sequence_nr = 0;  // number of the next autograd node; higher than that of any node it depends on

  ThreadContext();
  ThreadContext(const ThreadContext&);
  ThreadContext(ThreadContext&&) noexcept;
  ThreadContext& operator=(const ThreadContext&);
  ThreadContext& operator=(ThreadContext&&) noexcept;
  ~ThreadContext();
  /// The context of this thread.
  static ThreadContext& current();
  RankState& rank_state();
};

/// This thread's context; null until the thread asks for it.
inline constinit thread_local ThreadContext* thread_context = nullptr;
ThreadContext& create_thread_context();

inline ThreadContext& ThreadContext::current() { return thread_context ? *thread_context : create_thread_context(); }

/// Sets this thread's context until the guard goes out of scope. Worker threads use it with a copy of the context of
/// the thread for which they work.
class ThreadContextGuard {
 public:
  explicit ThreadContextGuard(ThreadContext context);
  ~ThreadContextGuard();
  ThreadContextGuard(const ThreadContextGuard&) = delete;

 private:
  ThreadContext context_, *saved_context_;
};

}  // namespace detail

/// Whether autograd records operations on this thread.
inline bool is_grad_enabled() { return detail::ThreadContext::current().grad_enabled; }
/// Sets the grad mode of this thread until the guard goes out of scope. In InferenceMode nothing is recorded, even if
/// `enabled`.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : saved_grad_enabled_(detail::ThreadContext::current().grad_enabled) {
    detail::ThreadContext& context = detail::ThreadContext::current();
    context.grad_enabled = enabled && !context.inference_mode;
  }
  ~AutoGradMode() { detail::ThreadContext::current().grad_enabled = saved_grad_enabled_; }
  AutoGradMode(const AutoGradMode&) = delete;

 private:
  bool saved_grad_enabled_;
};
/// While this guard lives, autograd records nothing on this thread.
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
/// While this guard lives, autograd records operations on this thread, even within a NoGradGuard.
struct EnableGradGuard : AutoGradMode {
  EnableGradGuard() : AutoGradMode(true) {}
};
/// Grad mode of this thread, as LibTorch's class. Guards restore the previous mode when they end.
struct GradMode {
  /// Whether operations are recorded.
  static bool is_enabled() { return is_grad_enabled(); }
  /// Turns recording on or off; in inference mode it stays off.
  static void set_enabled(bool enabled) {
    detail::ThreadContext& context = detail::ThreadContext::current();
    context.grad_enabled = enabled && !context.inference_mode;
  }
};
/// While this guard lives, autograd records nothing on this thread, and new tensors are inference tensors, as in
/// LibTorch. They cost less, because they have neither history nor version counter. Outside of inference mode an
/// inference tensor may be read, but not changed in place, given requires_grad, or saved for backward; its clone() is
/// an ordinary tensor. A view of an inference tensor is one too, and a view of an ordinary tensor is ordinary.
/// InferenceMode(false) turns the mode off again within another guard.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)
      : saved_inference_mode_(detail::ThreadContext::current().inference_mode),
        saved_grad_enabled_(detail::ThreadContext::current().grad_enabled) {
    detail::ThreadContext::current().inference_mode = enabled;
    detail::ThreadContext::current().grad_enabled = !enabled;
  }
  ~InferenceMode() {
    detail::ThreadContext::current().inference_mode = saved_inference_mode_;
    detail::ThreadContext::current().grad_enabled = saved_grad_enabled_;
  }
  InferenceMode(const InferenceMode&) = delete;
  /// Whether this thread is in inference mode.
  static bool is_enabled() { return detail::ThreadContext::current().inference_mode; }

 private:
  bool saved_inference_mode_, saved_grad_enabled_;
};

}  // namespace tandem
