// Graph: records a step once and replays its kernels many times, without the work around them.
#pragma once
#include <functional>
#include <memory>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/owned_ptr.h"

namespace tandem {

/// A record of the kernels that a step runs, with their shapes and memory: zero_grad, forward, loss, backward, gradient
/// clipping, an optimizer's step. A replay runs the same kernels on the same memory. It reads inputs where they were at
/// capture (copy a new batch into them: `x.copy_(batch)`) and writes outputs to the same memory as then.
///
/// Random numbers advance from replay to replay, and the learning rate is read before each replay. Code in which the
/// host looks at values (item(), nonzero, a loop that ends when the loss is small) cannot be recorded, nor can
/// collectives, DataParallel, or the first step of an optimizer, which creates its state. clip_grad_norm_() returns a
/// number to the host, so use get_total_norm() and clip_grads_with_norm_() instead. Operations that cannot be recorded
/// throw an Error that names them. Tensors that nothing refers to after the capture share memory, according to when
/// they are used.
///
/// On a GPU a Graph is a CUDA graph, as torch.cuda.CUDAGraph. Work for a default stream is captured on a stream of the
/// graph; work for another stream that is current at capture_begin() is captured on that stream. Further streams take
/// part if they wait for an event of a capturing stream (wait_stream), which must wait for them before the capture
/// ends. Operations that block the host cannot be recorded: synchronize(), and copies between host and GPU, except
/// non_blocking ones of page-locked memory. Allocations come from a private memory pool of the graph, which nothing
/// else uses until reset(), so outputs stay valid until then. An index out of range throws at the synchronization after
/// the replay. A step may use several GPUs, and CPU devices too; a replay runs the loops of the CPU devices first.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Records what `step` runs on this thread and on threads that work for it (autograd's), without executing any
  /// kernel. Replaces an earlier record. @throws Error for operations that cannot be recorded, and rethrows exceptions
  /// of `step`; nothing is recorded then
  void capture(const std::function<void()>& step);
  /// capture() in two halves: records the code between capture_begin() and capture_end() on this thread. @throws Error
  /// if a capture is under way
  /// @param pool  memory pool on GPUs: another graph's pool(), or a result of cuda::graph_pool_handle(). Graphs may
  /// share a pool if they are replayed in the order of their captures and the outputs of one are not needed after the
  /// replay of the next
  void capture_begin(cuda::MempoolId_t pool = {});
  /// Ends the capture that capture_begin() started. @throws Error if no capture is under way
  void capture_end();
  /// Runs the recorded step; GPU work is queued on the current streams. Raises the versions of the tensors that it
  /// writes. Only one replay may run at a time. @throws Error before a capture. A kernel's exception (an index out of
  /// range) is rethrown, and the rest of the step is skipped
  void replay();
  /// Drops the record and its memory.
  void reset();
  /// ID of the record's memory pool on GPUs. @throws Error before a capture, or if the record uses no GPU
  cuda::MempoolId_t pool() const;

  /// Sets whether later captures optimize the CPU part, which changes no result; default true. Consecutive elementwise
  /// kernels over the same range then run together, a few hundred elements at a time, so that intermediate results stay
  /// in the cache. Elementwise kernels whose results nothing reads are removed.
  void set_optimize(bool optimize) { optimize_ = optimize; }

  /// Amount of work and memory in a record.
  struct Summary {
    /// `loops`: number of loops on CPU devices. `bytes`: size of the memory that their temporaries share.
    /// `unshared_bytes`: size of the memory that the temporaries would need without sharing.
    int64_t loops = 0, bytes = 0, unshared_bytes = 0;
    /// Number of loops that run as part of a chain: elementwise loops fused into one pass.
    int64_t chained_loops = 0;
    /// `gpu_calls`: number of kernel calls on GPUs. `gpu_bytes`: size of their memory pool.
    int64_t gpu_calls = 0, gpu_bytes = 0;
  };
  /// Summary of the current record; zeros if there is none.
  Summary summary() const;

 private:
  class RecordedCalls;
  class Recorder;
  detail::OwnedPtr<RecordedCalls> stop_capture(bool keep);
  std::shared_ptr<Recorder> recorder_;
  detail::OwnedPtr<RecordedCalls> recorded_calls_;
  bool optimize_ = true;
};

namespace cuda {
using CUDAGraph = Graph;
}  // namespace cuda

}  // namespace tandem
