// torch.distributed: the start and the end of a rank's default group. Includes the collectives and subgroups.
#pragma once
#include <functional>
#include <optional>

#include "tandem/parallel/collectives/collectives.h"
#include "tandem/parallel/collectives/subgroups.h"

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

/// Runs f(rank) in `size` threads, each a rank of its own (generators, default group, grad mode), with an equal share
/// of the cores, and returns when all are done. When one throws, the groups of the others fail, and the first exception
/// is rethrown with its rank.
void run_ranks(int size, const std::function<void(int rank)>& f);

}  // namespace tandem::distributed
