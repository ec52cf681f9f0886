// Staging: moves batches to page-locked memory or to a GPU. Copies to a GPU run on a separate stream, while the model
// computes the previous batch.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/tensor_tree.h"

namespace tandem::data::detail {

template <class Batch> struct StagedBatch {
  Batch batch;
  // event that follows the copies of the batch to a GPU; nullopt if there are none
  std::optional<cuda::Event> copy_done;
};

/// Moves a batch to the memory that a DataLoader's options ask for. A worker calls start_transfer() when it has made
/// the batch. The consumer calls finish_transfer() before it returns the batch.
class Staging {
 public:
  /// @throws Error if there is no such device
  Staging(bool pin_memory, std::optional<Device> device);
  bool is_noop() const { return !pin_memory_ && !device_; }

  /// Starts moving the batch. Called on the thread that made the batch.
  template <class Batch> StagedBatch<Batch> start_transfer(Batch batch) const {
    StagedBatch<Batch> out{std::move(batch), {}};
    if (pin_memory_) for_each_defined(out.batch, pin);
    if (!device_) return out;
    if (copy_stream_) {
      for_each_defined(out.batch, [this](Tensor& x) { wait_for_producer_stream(x); });
      const cuda::StreamGuard guard(*copy_stream_);
      for_each_defined(out.batch, [this](Tensor& x) { x = x.to(*device_, /*non_blocking=*/true); });
      out.copy_done = copy_stream_->record_event();
    } else {
      for_each_defined(out.batch, [this](Tensor& x) { x = x.to(*device_); });
    }
    return out;
  }
  /// Makes the consumer's stream wait for the batch, and keeps the allocator from reusing the batch's memory before the
  /// consumer's stream is done with it. Called on the consumer's thread.
  template <class Batch> Batch finish_transfer(StagedBatch<Batch> staged) const {
    if (staged.copy_done) {
      const cuda::Stream stream = cuda::current_stream(*device_);
      staged.copy_done->wait(stream);
      for_each_defined(staged.batch, [&](Tensor& x) { x.record_stream(stream); });
    }
    return std::move(staged.batch);
  }

 private:
  /// Calls f with the defined tensors of a batch.
  template <class Batch, class F> static void for_each_defined(Batch& batch, const F& f) {
    tandem::detail::visit_tensors(batch, [&](Tensor& x) {
      if (x.defined()) f(x);
    });
  }
  static void pin(Tensor& x) {
    if (x.is_cpu()) x = x.pin_memory();
  }
  /// If x is on a GPU, makes the copy stream wait for this thread's current stream, which may still be computing x.
  void wait_for_producer_stream(const Tensor& x) const {
    if (x.is_cuda()) copy_stream_->wait_stream(cuda::current_stream(x.device()));
  }

  bool pin_memory_;
  std::optional<Device> device_;
  std::optional<cuda::Stream> copy_stream_;  // stream for copies; set if the device is a GPU
};

}  // namespace tandem::data::detail
