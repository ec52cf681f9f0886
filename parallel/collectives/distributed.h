// torch.distributed's functions: the group that a rank belongs to, and collectives over it.
#pragma once
#include <functional>
#include <optional>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

struct InitOptions {
  /// Unset members come from the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as `tandem launch` and
  /// torchrun set them (where torchrun's agent holds MASTER_PORT itself, rank 0 takes another port and leaves word of
  /// it there); ranks that are threads (run_ranks) know theirs.
  std::optional<int> rank = {}, world_size = {};
  std::optional<std::string> master_addr = {};
  std::optional<int> master_port = {};
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
bool is_initialized();
/// Whether this build has the backend gloo; whether there are GPUs here, and NCCL's library.
bool is_gloo_available();
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

// Over the default group unless one is given. With async_op the work is returned under way, complete otherwise.
WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false);
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, bool async_op = false);
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
               bool async_op = false);
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false);
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                       const ProcessGroupPtr& group = nullptr, bool async_op = false);
void send(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0);
void recv(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, int tag = 0);
void barrier(const ProcessGroupPtr& group = nullptr);

}  // namespace tandem::distributed
