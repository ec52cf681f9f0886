// What a backend of the CPU provides: blocking collectives. QueuedGroup makes a ProcessGroup of it. Internal.
#pragma once
#include <atomic>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// What a call is, for comparing ranks and for errors.
struct Call {
  const char* name = "";  // "all_reduce"
  int64_t sequence = 0;   // how-manieth collective of the group, from 1; 0 for send and recv
  std::string about = {};
  DType dtype = kFloat32;
  int64_t numel = -1;    // of one tensor; -1 where there is none
  int other = -1;        // root, destination or source
  bool reduces = false;  // `op` counts
  ReduceOp op = ReduceOp::SUM;
  /// "all_reduce #12 (bucket 0 of 3) of float32, 1000 elements, SUM"
  std::string str() const;
  /// What all ranks must agree on; `about` is no part of it.
  bool agrees(const Call& other_rank) const;
};

/// Called from one thread at a time, in the same order on all ranks. Tensors are contiguous, on virtual CPU devices,
/// and of the size and dtype that the call says. Every wait ends within the timeout. @throws DistributedError
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual void all_reduce(const Call& call, Tensor& x) = 0;
  virtual void broadcast(const Call& call, Tensor& x) = 0;
  virtual void reduce(const Call& call, Tensor& x) = 0;
  virtual void all_gather(const Call& call, std::vector<Tensor>& outputs, const Tensor& input) = 0;
  virtual void reduce_scatter(const Call& call, Tensor& output, const std::vector<Tensor>& inputs) = 0;
  /// May be called beside a collective, from other threads.
  virtual void send(const Call& call, const Tensor& x, int tag) = 0;
  virtual void recv(const Call& call, Tensor& x, int tag) = 0;
  virtual void barrier(const Call& call) = 0;
  /// From any thread: ends the calls under way with an error that says `reason`.
  virtual void abort(const std::string& reason) = 0;

  std::atomic<int64_t> bytes_sent{0};
};

/// y = the reduction of parts[0], parts[1], ... in this order, AVG included; y may be one of them. Contiguous tensors
/// of one size and dtype.
void reduce_in_order(const std::vector<Tensor>& parts, ReduceOp op, Tensor& y);

/// A group whose collectives run one after the other on a thread of its own.
ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator);

}  // namespace tandem::distributed
