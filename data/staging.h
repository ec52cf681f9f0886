// Batches on their way to a GPU: through page-locked memory, by a stream of their own, while the last one is computed.
#pragma once
#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/data/example.h"

namespace tandem::data {

/// Where a batch has its tensors: `each(batch, f)` calls f(Tensor&) on every one. Specialise it for batches of a type
/// of your own, so that a DataLoader can move them.
/// Whether `each` finds all tensors of such a batch; a DataLoader refuses to move others.
template <class Batch> struct BatchTensors {
  static constexpr bool kKnown = !std::is_class_v<Batch>;  // a number has none
  /// Calls the function with each tensor of the batch.
  template <class F> static void each(Batch&, const F&) {}
};
template <> struct BatchTensors<Tensor> {
  static constexpr bool kKnown = true;
  template <class F> static void each(Tensor& x, const F& f) {
    if (x.defined()) f(x);
  }
};
template <class Data, class Target> struct BatchTensors<Example<Data, Target>> {
  static constexpr bool kKnown = BatchTensors<Data>::kKnown && BatchTensors<Target>::kKnown;
  template <class F> static void each(Example<Data, Target>& batch, const F& f) {
    BatchTensors<Data>::each(batch.data, f);
    BatchTensors<Target>::each(batch.target, f);
  }
};
template <class Data> struct BatchTensors<Example<Data, example::NoTarget>> {
  static constexpr bool kKnown = BatchTensors<Data>::kKnown;
  template <class F> static void each(Example<Data, example::NoTarget>& batch, const F& f) {
    BatchTensors<Data>::each(batch.data, f);
  }
};
template <class T> struct BatchTensors<std::vector<T>> {
  static constexpr bool kKnown = BatchTensors<T>::kKnown;
  template <class F> static void each(std::vector<T>& batch, const F& f) {
    for (T& part : batch) BatchTensors<T>::each(part, f);
  }
};
template <class A, class B> struct BatchTensors<std::pair<A, B>> {
  static constexpr bool kKnown = BatchTensors<A>::kKnown && BatchTensors<B>::kKnown;
  template <class F> static void each(std::pair<A, B>& batch, const F& f) {
    BatchTensors<A>::each(batch.first, f);
    BatchTensors<B>::each(batch.second, f);
  }
};
template <class... T> struct BatchTensors<std::tuple<T...>> {
  static constexpr bool kKnown = (BatchTensors<T>::kKnown && ...);
  template <class F> static void each(std::tuple<T...>& batch, const F& f) {
    std::apply([&](T&... part) { (BatchTensors<T>::each(part, f), ...); }, batch);
  }
};

namespace detail {

template <class Batch> struct StagedBatch {
  Batch batch;
  std::optional<cuda::Event> arrived;  // on a GPU; nothing when it is there already
};

/// What a DataLoader does with a batch when it is made, and when it is handed out.
class Staging {
 public:
  /// @throws Error when there is no such device
  Staging(bool pin_memory, std::optional<Device> device);
  bool does_nothing() const { return !pin_ && !device_; }

  /// On the thread that made the batch: puts it on its way.
  template <class Batch> StagedBatch<Batch> send(Batch batch) const {
    StagedBatch<Batch> out{std::move(batch), {}};
    if (pin_) BatchTensors<Batch>::each(out.batch, pin);
    if (!device_) return out;
    if (copies_) {
      BatchTensors<Batch>::each(out.batch, [this](Tensor& x) { await_source(x); });
      const cuda::StreamGuard guard(*copies_);
      BatchTensors<Batch>::each(out.batch, [this](Tensor& x) { x = x.to(*device_, /*non_blocking=*/true); });
      out.arrived = copies_->record_event();
    } else {
      BatchTensors<Batch>::each(out.batch, [this](Tensor& x) { x = x.to(*device_); });
    }
    return out;
  }
  /// On the consumer's thread: its stream waits for the batch, and the batch's memory for the stream.
  template <class Batch> Batch receive(StagedBatch<Batch> staged) const {
    if (staged.arrived) {
      const cuda::Stream stream = cuda::current_stream(*device_);
      staged.arrived->wait(stream);
      BatchTensors<Batch>::each(staged.batch, [&](Tensor& x) { x.record_stream(stream); });
    }
    return std::move(staged.batch);
  }

 private:
  static void pin(Tensor& x) {
    if (x.is_cpu()) x = x.pin_memory();
  }
  /// What is on a GPU already was made by what this thread's stream holds.
  void await_source(const Tensor& x) const {
    if (x.is_cuda()) copies_->wait_stream(cuda::current_stream(x.device()));
  }

  bool pin_;
  std::optional<Device> device_;
  std::optional<cuda::Stream> copies_;  // when the device is a GPU
};

}  // namespace detail
}  // namespace tandem::data
