// Batches on their way to a GPU: through page-locked memory, by a stream of their own, while the last one is computed.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/tensor_tree.h"

namespace tandem::data::detail {

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
    if (pin_) each_defined(out.batch, pin);
    if (!device_) return out;
    if (copies_) {
      each_defined(out.batch, [this](Tensor& x) { await_source(x); });
      const cuda::StreamGuard guard(*copies_);
      each_defined(out.batch, [this](Tensor& x) { x = x.to(*device_, /*non_blocking=*/true); });
      out.arrived = copies_->record_event();
    } else {
      each_defined(out.batch, [this](Tensor& x) { x = x.to(*device_); });
    }
    return out;
  }
  /// On the consumer's thread: its stream waits for the batch, and the batch's memory for the stream.
  template <class Batch> Batch receive(StagedBatch<Batch> staged) const {
    if (staged.arrived) {
      const cuda::Stream stream = cuda::current_stream(*device_);
      staged.arrived->wait(stream);
      each_defined(staged.batch, [&](Tensor& x) { x.record_stream(stream); });
    }
    return std::move(staged.batch);
  }

 private:
  /// Calls f with the tensors of a batch that are defined.
  template <class Batch, class F> static void each_defined(Batch& batch, const F& f) {
    tandem::detail::visit_tensors(batch, [&](Tensor& x) {
      if (x.defined()) f(x);
    });
  }
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

}  // namespace tandem::data::detail
