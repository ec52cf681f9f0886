// A step that is recorded once and run many times, without the work that surrounds its kernels.
#pragma once
#include <functional>
#include <memory>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/owned.h"

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
/// On a GPU it is a CUDA graph, as torch.cuda.CUDAGraph. Work that would go to a default stream is captured on a stream
/// of the graph's own; work on another stream that is current where the capture begins is captured on that one. Others
/// take part if they wait for an event of it (wait_stream), and it has to wait for them before the end. Whatever waits
/// on the host cannot be recorded: synchronize(), and copies between host and GPU but for those of page-locked memory
/// with non_blocking. What is allocated comes from a memory pool of the graph's, which nobody else gets before reset();
/// so the outputs hold until then. An index out of range is thrown by the synchronization that follows the replay. A
/// step may use several GPUs, and CPU devices too, whose loops a replay runs before it launches the rest.
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
  /// @param pool  of a GPU's memory: another graph's pool(), or what cuda::graph_pool_handle() returned, for graphs
  /// that are replayed in the order of their captures and whose outputs are not needed past the next one's replay
  void capture_begin(cuda::MempoolId_t pool = {});
  /// Ends what capture_begin() began. @throws Error when no capture is under way
  void capture_end();
  /// Runs the record, of GPUs in the order of their current streams. Everything that was captured happens once, in its
  /// order; the versions of the tensors that it writes are raised. One replay at a time. @throws Error before a
  /// capture; what a kernel throws (an index out of range), where the rest of the step is left out
  void replay();
  /// Drops the record and its memory.
  void reset();
  /// Of the record's memory on GPUs. @throws Error before a capture, and where it used no GPU
  cuda::MempoolId_t pool() const;

  /// Whether the CPU's part of what is captured from now on is rearranged, which changes no result; true at first.
  /// Elementwise kernels that follow each other over the same elements then run together, a few hundred elements at a
  /// time, so that what they hand on stays in the cache; those whose results nothing reads are left out.
  void set_optimize(bool optimize) { optimize_ = optimize; }

  /// What a replay does, and the memory that it keeps.
  struct Summary {
    /// Kernels' loops of CPU devices; bytes that its temporaries share; bytes that these would take side by side.
    int64_t loops = 0, bytes = 0, unshared_bytes = 0;
    /// Those of the loops that run together with others, tile by tile.
    int64_t chained_loops = 0;
    /// Kernels' calls for GPUs; bytes that their pool holds.
    int64_t gpu_calls = 0, gpu_bytes = 0;
  };
  /// The figures of what is recorded, zeros where nothing is.
  Summary summary() const;

 private:
  class Record;
  class Recorder;
  detail::Owned<Record> stop(bool keep);
  std::shared_ptr<Recorder> recorder_;
  detail::Owned<Record> record_;
  bool optimize_ = true;
};

namespace cuda {
using CUDAGraph = Graph;
}  // namespace cuda

}  // namespace tandem
