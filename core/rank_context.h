// What belongs to one rank or one device's thread: generators, grad mode, observers, the autograd sequence.
// Thread-local; worker threads of the engine and of loaders take over their creator's. Nothing else that affects
// results is global.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <typeindex>
#include <utility>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/core/owned.h"

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

class Observer;
class Tracer;

/// What a higher layer keeps for each rank derives from this.
struct RankPart {
  virtual ~RankPart() = default;
  /// Called for the first rank, which is never destroyed, when the process ends: ends the groups that it has joined.
  virtual void end_of_process() {}
};

/// Shared by all threads of one rank.
struct RankState {
  RankState();
  ~RankState();
  Generator& generator(Device device, uint64_t stream);
  void end_of_process();
  void seed_all(uint64_t seed);
  /// This rank's T, made at the first call; T derives from RankPart. It lives as long as the rank.
  template <class T> T& part() {
    return static_cast<T&>(part(typeid(T), []() -> RankPart* { return new T; }));
  }

  int world_size = 1;                   // of the default process group
  int gpu = -1;                         // on which its collectives run; -1: none, or that of each tensor
  std::atomic<int64_t> collectives{0};  // started by this rank
  std::atomic<bool> warned_of_no_collective{false};

 private:
  struct Members;
  RankPart& part(std::type_index type, RankPart* (*make)());
  Owned<Members> members_;
};

enum class Float32Precision : int8_t { highest, high, medium };

struct RankContext {
  std::shared_ptr<RankState> rank;  // null until this thread needs one: then the process's first rank
  bool grad_enabled = true;
  bool inference_mode = false;     // what is made is an inference tensor: InferenceMode
  bool anomaly_mode = false;       // autograd/anomaly_mode.h has these two
  bool anomaly_check_nan = false;  // whether backward looks for NaN
  DType default_dtype = DType::float32;
  bool deterministic_algorithms = true;  // core/algorithms.h has these two
  Float32Precision float32_precision = Float32Precision::highest;
  int thread_share = 0;            // of the pool's threads; 0: all
  Generator* generator = nullptr;  // that a GeneratorGuard named
  cuda::detail::Streams streams;   // that cuda::StreamGuard made current; null: the devices' default streams
  std::shared_ptr<cuda::detail::Capture> capture;  // of a Graph: what GPUs are given to do is recorded; null: it is run
  std::shared_ptr<Observer> observer;              // the innermost that an ObserverGuard named
  std::shared_ptr<Tracer> tracer;                  // of the trace that is on, or null
  int lane = 0;                                    // in a trace: which of DataParallel's devices this thread works for
  std::shared_ptr<const autograd::detail::SavedTensorHooks> saved_tensor_hooks;  // the innermost; null: none
  uint64_t next_sequence = 0;  // of autograd nodes: a node comes after every node that it consumes

  RankContext();
  RankContext(const RankContext&);
  RankContext(RankContext&&) noexcept;
  RankContext& operator=(const RankContext&);
  RankContext& operator=(RankContext&&) noexcept;
  ~RankContext();
  /// This thread's.
  static RankContext& current();
  RankState& state();
};

/// Null until the thread asks for its context.
inline constinit thread_local RankContext* rank_context = nullptr;
RankContext& first_rank_context();

inline RankContext& RankContext::current() { return rank_context ? *rank_context : first_rank_context(); }

/// Makes a context this thread's until it goes out of scope. Worker threads wrap their creator's context in it.
class RankContextGuard {
 public:
  explicit RankContextGuard(RankContext context);
  ~RankContextGuard();
  RankContextGuard(const RankContextGuard&) = delete;

 private:
  RankContext mine_, *saved_;
};

}  // namespace detail

/// Whether operations on this thread are recorded for backward.
inline bool is_grad_enabled() { return detail::RankContext::current().grad_enabled; }
/// Sets the grad mode of this thread until it goes out of scope. Under an InferenceMode nothing is recorded either way.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : saved_(detail::RankContext::current().grad_enabled) {
    detail::RankContext& context = detail::RankContext::current();
    context.grad_enabled = enabled && !context.inference_mode;
  }
  ~AutoGradMode() { detail::RankContext::current().grad_enabled = saved_; }
  AutoGradMode(const AutoGradMode&) = delete;

 private:
  bool saved_;
};
/// Nothing is recorded on this thread while one lives.
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
/// Operations are recorded on this thread while one lives, within a NoGradGuard too.
struct EnableGradGuard : AutoGradMode {
  EnableGradGuard() : AutoGradMode(true) {}
};
/// Whether this thread records operations, as LibTorch's class: the guards restore what was.
struct GradMode {
  /// Whether operations are recorded.
  static bool is_enabled() { return is_grad_enabled(); }
  /// Switches recording; it stays off in inference mode.
  static void set_enabled(bool enabled) {
    detail::RankContext& context = detail::RankContext::current();
    context.grad_enabled = enabled && !context.inference_mode;
  }
};
/// While one lives, this thread records nothing, and the tensors that it makes are inference tensors, as LibTorch's:
/// they cost less, having neither history nor a count of changes. Outside they may be read, but not be changed in
/// place, be given requires_grad, or be saved for a backward; a clone() is an ordinary tensor. A view is what its
/// tensor is. InferenceMode(false) makes ordinary tensors again within one.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)
      : inference_(detail::RankContext::current().inference_mode), grad_(detail::RankContext::current().grad_enabled) {
    detail::RankContext::current().inference_mode = enabled;
    detail::RankContext::current().grad_enabled = !enabled;
  }
  ~InferenceMode() {
    detail::RankContext::current().inference_mode = inference_;
    detail::RankContext::current().grad_enabled = grad_;
  }
  InferenceMode(const InferenceMode&) = delete;
  /// Whether this thread is in inference mode.
  static bool is_enabled() { return detail::RankContext::current().inference_mode; }

 private:
  bool inference_, grad_;
};

}  // namespace tandem
