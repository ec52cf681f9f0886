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
  /// A folder for this rank's record of its last calls, which is written there when the group fails, and read by
  /// `tandem flight` (docs/launch.md); "": what TANDEM_FLIGHT_DIR says, and no file where that is not set.
  std::string flight_folder = {};
};
/// Makes this rank part of a group, the default of everything below; returns when all ranks have come.
///   local  ranks are threads that run_ranks started, with tensors on the CPU or on GPUs, one rank to a GPU or several
///   gloo   processes, or threads of run_ranks; over TCP and, on one machine, shared memory (docs/launch.md)
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
/// Whether a launcher started this process as one rank of a job: `tandem launch`, torchrun, mpirun, another starter
/// that speaks PMI, or srun (docs/launch.md). A process that none of them started may be the only one: it can have
/// threads for ranks (run_ranks).
bool is_launched();
/// Returns this rank's number among the ranks of its machine, as the launcher set it; for a rank that run_ranks
/// started, its rank.
/// @param fallback_rank  returned if the launcher set no number
/// @throws Error if the launcher set no number and there is no fallback
int get_node_local_rank(std::optional<int> fallback_rank = std::nullopt);
/// Whether this rank is part of a default group.
bool is_initialized();
/// Whether this build has the backend gloo; whether there are GPUs here, and NCCL's library.
bool is_gloo_available();
/// Whether there are GPUs here, and NCCL's library.
bool is_nccl_available();
/// Leaves the default group and all others, or the one that is given; what is under way is completed first. Who holds a
/// group (a DistributedDataParallel does) keeps it until its own end.
void destroy_process_group(const ProcessGroupPtr& group = nullptr);
/// @throws Error before init_process_group
ProcessGroupPtr default_group();
/// Writes now what a failure would have written: this rank's last thousand calls over each of its groups, to
/// flight_rank_R.json in that folder ("": that of the options or of TANDEM_FLIGHT_DIR). Returns the file's path.
/// @throws Error when there is no group or no folder, or the file cannot be written
std::string write_flight_record(const std::string& folder = {});
/// Of the default group unless one is given: 0 and 1 where there is none; -1 on a rank that is not in the group.
int get_rank(const ProcessGroupPtr& group = nullptr);
int get_world_size(const ProcessGroupPtr& group = nullptr);

/// A group of these ranks of the default group, sorted; without any, of all. Every rank calls it, whether it is in the
/// group or not, with the same arguments and in the same order among such calls; on those that are not, rank() is -1.
/// @throws DistributedError when the ranks say different things
ProcessGroupPtr new_group(std::vector<int> ranks = {}, const GroupOptions& options = {});
/// A group of all ranks that give the same color, in the order of their keys, then of their ranks. Every rank of the
/// parent calls it; one with a negative color is in no group: there rank() is -1.
ProcessGroupPtr split_group(int color, int key = 0, const ProcessGroupPtr& parent = nullptr,
                            const GroupOptions& options = {});
/// By rank in the group, the ranks of the default group; from one count to the other.
/// @throws Error for a rank that there is not
std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group);
int get_group_rank(const ProcessGroupPtr& group, int global_rank);
int get_global_rank(const ProcessGroupPtr& group, int group_rank);

/// Runs f(rank) in `size` threads, each a rank of its own (generators, default group, grad mode), with an equal share
/// of the cores, and returns when all are done. When one throws, the groups of the others fail, and the first exception
/// is rethrown with its rank.
void run_ranks(int size, const std::function<void(int rank)>& f);

// What follows acts over the default group unless one is given. All ranks of the group call it, in one order. Ranks
// (src, dst) are those of the default group, whatever the group, as in torch.distributed; those of ProcessGroup's
// methods are the group's. With async_op the work is returned under way, complete otherwise.

/// x becomes the reduction over all ranks' x.
WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// x becomes the x of rank src.
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, bool async_op = false,
                  const About& about = {});
/// On rank dst, x becomes the reduction; elsewhere x stays as it was.
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
               bool async_op = false, const About& about = {});
/// outputs[r] becomes the input of rank r; one output for each rank. Sizes may differ from rank to rank if all ranks
/// say the same ones.
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// output becomes all ranks' inputs, one behind the other along the first dimension, or stacked along a new one.
WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                               bool async_op = false, const About& about = {});
/// output becomes the reduction over all ranks' inputs[this rank]; one input for each rank.
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                       const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// output becomes the reduction over all ranks' parts of input for this rank; input is laid out as the output of
/// all_gather_into_tensor.
WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                              const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, outputs[r] becomes the input of rank r; elsewhere there are no outputs.
WorkPtr gather(const Tensor& input, const std::vector<Tensor>& outputs = {}, int dst = 0,
               const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, gather_tensor becomes all ranks' tensors, laid out as the output of all_gather_into_tensor. On the
/// other ranks gather_tensor is not used and may be undefined.
WorkPtr gather_into_tensor(const Tensor& tensor, const Tensor& gather_tensor = {}, int dst = 0,
                           const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// output becomes the inputs[this rank] of rank src; elsewhere there are no inputs.
WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs = {}, int src = 0,
                const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// outputs[r] becomes the inputs[this rank] of rank r; sizes may differ from pair to pair.
WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                   const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// The same with rows of one tensor: input_split_sizes[r] of them go to rank r, in order, and output_split_sizes[r]
/// come from it. Without sizes each rank has an equal part.
WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<int64_t>& output_split_sizes = {},
                          const std::vector<int64_t>& input_split_sizes = {}, const ProcessGroupPtr& group = nullptr,
                          bool async_op = false, const About& about = {});

/// Several calls as one, which NCCL launches together. The work is that of all of them.
WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOp op = ReduceOp::SUM,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
WorkPtr all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroupPtr& group = nullptr, bool async_op = false,
                                         const About& about = {});
WorkPtr reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                                        bool async_op = false, const About& about = {});

/// What is no tensor, as bytes of any length: they become those of rank src.
void broadcast_bytes(std::string& bytes, int src, const ProcessGroupPtr& group = nullptr);
/// By rank in the group, the bytes that each gave; lengths may differ.
std::vector<std::string> all_gather_bytes(const std::string& bytes, const ProcessGroupPtr& group = nullptr);

/// Sends x to rank dst, whose recv() with the same tag takes it; returns when it is done.
void send(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
/// x becomes what rank src sends with the same tag, or whichever rank sends first where none is named; returns who did,
/// when x is there.
int recv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr, int tag = 0,
         const About& about = {});
/// As send() and recv(), under way.
WorkPtr isend(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
WorkPtr irecv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr,
              int tag = 0, const About& about = {});
/// Returns when every rank has come.
void barrier(const ProcessGroupPtr& group = nullptr, const About& about = {});
/// A barrier that says who did not come to it within the timeout (0: most of the group's): the first of them, or all.
/// The group has failed then. Ranks report to rank 0 of the group, so that it costs more than a barrier.
void monitored_barrier(const ProcessGroupPtr& group = nullptr, std::chrono::milliseconds timeout = kNoTimeout,
                       bool wait_all_ranks = false);

}  // namespace tandem::distributed
