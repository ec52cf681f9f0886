// torch.distributed's functions: the group that a rank belongs to, and collectives over it.
#pragma once
#include <functional>
#include <optional>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

struct InitOptions {
  /// Unset members come from the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as `tandem launch` and
  /// torchrun set them (where torchrun's agent holds MASTER_PORT itself, rank 0 takes another port and leaves word of
  /// it there), or what mpirun, PMI or srun set (docs/launch.md says in which order); ranks that are threads
  /// (run_ranks) know theirs.
  std::optional<int> rank = {}, world_size = {};
  /// The host of rank 0, where the ranks find each other.
  std::optional<std::string> master_addr = {};
  /// The port of rank 0's store there.
  std::optional<int> master_port = {};
  /// How long a call waits for other ranks before it fails.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  /// What this rank computes on. For nccl, unless given: the GPU that LOCAL_RANK counts, of threads their rank.
  std::optional<Device> device = {};
};
/// Makes this rank part of a group, the default of everything below; returns when all ranks have come.
///   local  ranks are threads that run_ranks started, with tensors on the CPU or on GPUs, one rank to a GPU or several
///   gloo   processes, or threads of run_ranks; over TCP
///   nccl   the same, each with a GPU of its own
/// "" is what PyTorch takes: nccl for GPUs, gloo for the CPU (for threads: local). Options::device says which; without
/// it nccl counts where there are GPUs, and emulated ones do not.
///
/// With gloo and nccl a rank that is lost fails the group on all others at once: what waits is woken with an error that
/// names the rank, and a process that is thrown no error within half a second, as it waits for nothing, ends with the
/// error on its standard error and status 1. A rank that hangs, or is stopped, does so to those who wait for it when
/// the timeout is over.
/// @throws Error for an unknown backend, missing or impossible settings, or when there is a group already;
/// DistributedError when the ranks do not come together within the timeout
void init_process_group(const std::string& backend = "", InitOptions options = {});
/// Whether this rank is part of a default group.
bool is_initialized();
/// Whether this build has the backend gloo; whether there are GPUs here, and NCCL's library.
bool is_gloo_available();
/// Whether there are GPUs here, and NCCL's library.
bool is_nccl_available();
/// Leaves the group; what is under way is completed first. Who holds the group (a DistributedDataParallel does) keeps
/// it until its own end.
void destroy_process_group();
/// @throws Error before init_process_group
ProcessGroupPtr default_group();
/// Of the default group. 0 and 1 without one.
int get_rank();
int get_world_size();

/// Runs f(rank) in `size` threads, each a rank of its own (generators, default group, grad mode), with an equal share
/// of the cores, and returns when all are done. When one throws, the groups of the others fail, and the first exception
/// is rethrown with its rank.
void run_ranks(int size, const std::function<void(int rank)>& f);

// Over the default group unless one is given; ProcessGroup has the same as methods. All ranks call them in one order.
// With async_op the work is returned under way, complete otherwise.

/// x becomes the sum over all ranks' x, or their mean, minimum or maximum.
WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false);
/// x becomes the x of rank src.
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, bool async_op = false);
/// On rank dst, x becomes the reduction; elsewhere x stays as it was.
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
               bool async_op = false);
/// outputs[r] becomes the input of rank r; one output for each rank, of the input's sizes and dtype.
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false);
/// output becomes the reduction over all ranks' inputs[this rank]; one input for each rank.
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                       const ProcessGroupPtr& group = nullptr, bool async_op = false);
/// Sends x to rank dst, whose recv() with the same tag takes it; returns when it is done.
void send(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0);
/// x becomes what rank src sends with the same tag; returns when it is there.
void recv(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, int tag = 0);
/// Returns when every rank has come.
void barrier(const ProcessGroupPtr& group = nullptr);

}  // namespace tandem::distributed
