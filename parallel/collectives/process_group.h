// Process groups: ranks that act together. A rank is a process (gloo) or a thread of one process (local).
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::distributed {

enum class ReduceOp { SUM, AVG, MIN, MAX };
const char* to_string(ReduceOp op);

/// An error of the group itself: a rank that is gone, late, or does something else than the others. A group stays
/// failed with its first one.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// A collective under way. The tensors it was given must not be touched before it is complete.
class Work {
 public:
  virtual ~Work() = default;
  virtual bool is_completed() const = 0;
  /// How long the operation itself took, without waiting for its turn; once it is complete.
  virtual double seconds() const = 0;
  /// Returns when the operation is complete; within the group's timeout. @throws what it failed with
  virtual void wait() = 0;
};
using WorkPtr = std::shared_ptr<Work>;

constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);

/// All ranks must call the same collectives in the same order, with tensors of one dtype and size; calls start in that
/// order and run beside the caller. Tensors of any strides and sizes (empty ones too) and of every dtype are taken; MIN
/// and MAX carry NaN on. SUM and AVG add in rank order, so that all ranks get the same bits in every run: ((x0 + x1) +
/// x2) + ..., AVG then times 1 / size (of integers SUM alone; of bool none). Gloo beyond 8 ranks adds round a ring.
/// `about` is what an error says the collective was for.
/// @throws Error at once for arguments that this rank can judge, DistributedError from Work::wait() for the rest
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& backend() const { return backend_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// x = the reduction over all ranks' x
  virtual WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, std::string about = {}) = 0;
  /// x = the x of rank src
  virtual WorkPtr broadcast(const Tensor& x, int src, std::string about = {}) = 0;
  /// On rank dst, x = the reduction; elsewhere x is left as it was.
  virtual WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, std::string about = {}) = 0;
  /// outputs[r] = the input of rank r; one output per rank, each like input
  virtual WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, std::string about = {}) = 0;
  /// output = the reduction over all ranks' inputs[rank()]; one input per rank, each like output
  virtual WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                                 std::string about = {}) = 0;
  /// To and from one other rank; a send is matched by the receives of that rank with the same tag, in order. These do
  /// not count among the collectives: a send between two ranks needs nothing of a third.
  virtual WorkPtr send(const Tensor& x, int dst, int tag = 0) = 0;
  virtual WorkPtr recv(const Tensor& x, int src, int tag = 0) = 0;
  /// Complete when every rank has come.
  virtual WorkPtr barrier() = 0;
  /// Fails everything under way and to come, on this rank and, where the backend can tell them, on the others.
  virtual void abort(const std::string& reason) = 0;

  /// Bytes of tensors that this rank has sent to others (of `local`: that it read from or wrote to their memory).
  virtual int64_t bytes_sent() const = 0;

 protected:
  ProcessGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout)
      : rank_(rank), size_(size), backend_(std::move(backend)), timeout_(timeout) {}

 private:
  int rank_, size_;
  std::string backend_;
  std::chrono::milliseconds timeout_;
};
using ProcessGroupPtr = std::shared_ptr<ProcessGroup>;

}  // namespace tandem::distributed
