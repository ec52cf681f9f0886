// A step that is recorded once and run many times, without the work that surrounds its kernels.
#pragma once
#include <functional>
#include <memory>

#include "tandem/core/device.h"

namespace tandem {

/// A record of the kernels that a piece of code runs, with their shapes and memory: zero_grad, forward, loss, backward,
/// clipping, an optimizer's step. A replay runs the same kernels on the same memory: it reads its inputs where they lay
/// when it was captured (copy a new batch into them: `x.copy_(batch)`) and writes its outputs where they lay then.
///
/// What changes from step to step keeps doing so: random numbers go on, and an optimizer's rate is read before each
/// replay. What the host decides by looking at values (item(), nonzero, a loop that ends when the loss is small) cannot
/// be recorded, nor can collectives, DataParallel, or an optimizer's first step, which makes its state: these throw an
/// Error that names them. Tensors that nobody refers to after the capture share memory, laid out by when they are used.
///
/// Steps of CPU devices. As torch.cuda.CUDAGraph.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Records what `step` runs, on this thread and those that work for it (autograd's), without running any of it. What
  /// was recorded before is dropped. @throws Error for what cannot be recorded, and what `step` throws; nothing is
  /// recorded then
  void capture(const std::function<void()>& step);
  /// The same in two halves, for code between them on one thread. @throws Error when a capture is under way, or none
  void capture_begin();
  void capture_end();
  /// Runs the record. Everything that was captured happens once, in its order; the versions of the tensors that it
  /// writes are raised. One replay at a time. @throws Error before a capture; what a kernel throws (an index out of
  /// range), where the rest of the step is left out
  void replay();
  /// Drops the record and its memory.
  void reset();

  /// Kernels' loops that a replay runs, bytes of the memory that its temporaries share, and what they would take side
  /// by side.
  struct Summary {
    int64_t loops = 0, bytes = 0, unshared_bytes = 0;
  };
  Summary summary() const;

 private:
  class Record;
  class Recorder;
  std::unique_ptr<Record> stop();
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<Record> record_;
};

}  // namespace tandem
