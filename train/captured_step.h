// CapturedStep: records a training step as a Graph, and replays it. Internal.
#pragma once
#include "tandem/core/loop/graph.h"
#include "tandem/train/strategy.h"

namespace tandem::train::detail {

/// Runs the steps of one device. The first step runs as it is, because the optimizer allocates its state in it. The
/// second is recorded. Later batches of the same shapes and weight replay the record, and others run as they are.
class CapturedStep {
 public:
  using Step = std::function<BatchResult(MicroBatch&)>;
  CapturedStep(Device device, Step step) : device_(device), step_(std::move(step)) {}
  BatchResult operator()(MicroBatch& micro_batch);

 private:
  Device device_;
  Step step_;
  Graph graph_;
  MicroBatch recorded_;  // its tensors are the inputs of the record
  BatchResult result_;
  int64_t steps_ = 0;
};

}  // namespace tandem::train::detail
