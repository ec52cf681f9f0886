// torch.distributed: initialization and end of a rank's default group. Includes the collectives and subgroups.
#pragma once
#include <functional>
#include <optional>

#include "tandem/parallel/collectives/collectives.h"
#include "tandem/parallel/collectives/subgroups.h"

namespace tandem::distributed {

struct InitOptions {
  /// Unset members are read from the environment: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as `tandem launch` and
  /// torchrun set them, or the variables of mpirun, PMI or srun (docs/launch.md has the order). If torchrun's agent
  /// itself listens on MASTER_PORT, rank 0 uses another port and publishes it in the agent's store. Ranks that are
  /// threads (run_ranks) know their rank and size.
  std::optional<int> rank = {}, world_size = {};
  /// Host of rank 0, where the ranks meet.
  std::optional<std::string> master_addr = {};
  /// Port of rank 0's store on that host.
  std::optional<int> master_port = {};
  /// Time that a call waits for other ranks before it fails.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  /// Device of this rank. Default for nccl: the GPU with the number LOCAL_RANK, or the rank if ranks are threads.
  std::optional<Device> device = {};
  /// Folder for this rank's record of its last calls. It is written when the group fails; `tandem flight` reads it
  /// (docs/launch.md). If empty, the value of TANDEM_FLIGHT_DIR; if that is not set, no file is written.
  std::string flight_folder = {};
};
/// Makes this rank part of a default group. Returns when all ranks have joined. Backends:
///   local  ranks are threads that run_ranks started, with tensors on the CPU or on GPUs, one rank to a GPU or several
///   gloo   processes, or threads of run_ranks; over TCP and, on one machine, shared memory (docs/launch.md)
///   nccl   the same, each with a GPU of its own
/// If `backend` is empty, it is chosen as in PyTorch: nccl for GPUs, gloo for the CPU (local if ranks are threads).
/// Options::device decides; without it, nccl is chosen if there are GPUs. Emulated GPUs do not count.
///
/// With gloo and nccl, if a rank is lost, the group fails on all other ranks at once: calls that wait throw an error
/// that names the rank. If a process makes no such call within half a second, it prints the error to standard error and
/// exits with status 1. A rank that hangs or is stopped fails those that wait for it when the timeout is over.
/// @throws Error if the backend is unknown, if settings are missing or impossible, or if there is a group already;
/// DistributedError if the ranks do not all join within the timeout
void init_process_group(const std::string& backend = "", InitOptions options = {});
/// Returns whether a launcher started this process as one rank of a job: `tandem launch`, torchrun, mpirun, another
/// launcher that uses PMI, or srun (docs/launch.md). If not, the process may be the only one, and its ranks can be
/// threads (run_ranks).
bool is_launched();
/// Returns this rank's number among the ranks of its machine, as the launcher set it; for a rank that run_ranks
/// started, its rank.
/// @param fallback_rank  returned if the launcher set no number
/// @throws Error if the launcher set no number and there is no fallback
int get_node_local_rank(std::optional<int> fallback_rank = std::nullopt);
/// Returns whether this rank is part of a default group.
bool is_initialized();
/// Returns whether this build has the backend gloo.
bool is_gloo_available();
/// Returns whether this machine has GPUs and NCCL's library.
bool is_nccl_available();
/// Leaves the given group, or the default group and all others. Calls in progress complete first. Objects that hold a
/// group, such as DistributedDataParallel, keep it until their own end.
void destroy_process_group(const ProcessGroupPtr& group = nullptr);
/// Returns the default group. @throws Error before init_process_group
ProcessGroupPtr default_group();
/// Writes the flight record now: this rank's last thousand calls over each of its groups, to flight_rank_R.json in
/// `folder`, or in the folder of the options or of TANDEM_FLIGHT_DIR if `folder` is empty. Returns the path of the
/// file.
/// @throws Error if there is no group or no folder, or if the file cannot be written
std::string write_flight_record(const std::string& folder = {});
/// Returns this rank's rank in a group, by default in the default group; 0 if there is no default group, -1 if this
/// rank is not in the group. get_world_size() returns the size; 1 and -1 in these two cases.
int get_rank(const ProcessGroupPtr& group = nullptr);
int get_world_size(const ProcessGroupPtr& group = nullptr);

/// Runs f(rank) in `size` threads, each of which is a rank (with its own generators, default group and grad mode) and
/// has an equal share of the cores. Returns when all are done. If one throws, the groups of the others fail, and the
/// first exception is rethrown with its rank in the message.
void run_ranks(int size, const std::function<void(int rank)>& f);

}  // namespace tandem::distributed
