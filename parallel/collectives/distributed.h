// Initializes and ends a rank's default group, as torch.distributed. Also includes the collectives and subgroups.
#pragma once
#include <functional>
#include <optional>

#include "tandem/parallel/collectives/collectives.h"
#include "tandem/parallel/collectives/subgroups.h"

namespace tandem::distributed {

struct InitOptions {
  /// This rank, and the number of ranks. Members of InitOptions that are not set are read from the environment: RANK,
  /// WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as `tandem launch` and torchrun set them, or the variables of mpirun, PMI
  /// or srun (docs/launch.md has the order). If torchrun's agent itself listens on MASTER_PORT, rank 0 uses another
  /// port and publishes it in the agent's store. Threads of run_ranks know their rank and size.
  std::optional<int> rank = {}, world_size = {};
  /// Host of rank 0. The other ranks connect to its store.
  std::optional<std::string> master_addr = {};
  /// Port of rank 0's store on that host.
  std::optional<int> master_port = {};
  /// Time that a call waits for other ranks before it fails.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  /// Device of this rank. Default for nccl: the GPU whose number is this rank's number on its machine, as the launcher
  /// sets it (LOCAL_RANK); if ranks are threads or the launcher sets none, the GPU whose number is the rank.
  std::optional<Device> device = {};
  /// Folder for the flight record, a file with this rank's last calls. It is written when the group fails; `tandem
  /// flight` reads it (docs/launch.md). If empty, the value of TANDEM_FLIGHT_DIR; if that is not set, no file is
  /// written.
  std::string flight_folder = {};
};
/// Makes this rank part of a default group. Returns when all ranks have joined. Backends:
///   local  ranks are threads that run_ranks started, with tensors on the CPU or on GPUs, one rank to a GPU or several
///   gloo   processes, or threads of run_ranks; over TCP and, on one machine, shared memory (docs/launch.md)
///   nccl   processes, or threads of run_ranks; each has a GPU of its own
/// If `backend` is empty, it is chosen as in PyTorch: nccl for GPUs, gloo for the CPU (local if ranks are threads).
/// InitOptions::device decides; without it, nccl is chosen if there are GPUs and NCCL's library. Emulated GPUs do not
/// count.
///
/// With gloo and nccl, if a rank is lost, the group fails on all other ranks at once: calls that wait throw an error
/// that names the rank. If a process makes no such call within half a second, it prints the error to standard error and
/// exits with status 1. A rank that hangs or is stopped fails those that wait for it when the timeout is over.
/// @throws Error if the backend is unknown, if settings are missing or impossible, or if there is a group already;
/// NotImplementedError if this build lacks the backend, or for nccl if there is no GPU or no NCCL; DistributedError if
/// the ranks do not all join within the timeout
void init_process_group(const std::string& backend = "", InitOptions options = {});
/// Returns whether a launcher started this process as one rank of a job: `tandem launch`, torchrun, mpirun, another
/// launcher that uses PMI, or srun (docs/launch.md). If not, the process may be the only one, and its ranks can be
/// threads (run_ranks).
bool is_launched();
/// Returns this rank's number among the ranks of its machine, as the launcher set it. For a thread of run_ranks,
/// returns its rank.
/// @param fallback_rank  returned if the launcher set no number
/// @throws Error if the launcher set no number and there is no fallback
int get_node_local_rank(std::optional<int> fallback_rank = std::nullopt);
/// Returns whether this rank is part of a default group.
bool is_initialized();
/// Returns whether this build has the backend gloo.
bool is_gloo_available();
/// Returns whether this machine has GPUs and NCCL's library.
bool is_nccl_available();
/// Leaves the given group or, if `group` is null, the default group and all other groups. Calls in progress complete
/// first. An object that holds a group, such as DistributedDataParallel, keeps it until the object is destroyed.
/// @throws Error if this rank has no such group, or has left it
void destroy_process_group(const ProcessGroupPtr& group = nullptr);
/// Returns the default group. @throws Error before init_process_group
ProcessGroupPtr default_group();
/// Writes the flight record now: the last thousand calls of this rank in each of its groups. The file is
/// flight_rank_R.json in `folder`; if `folder` is empty, in InitOptions::flight_folder or else TANDEM_FLIGHT_DIR.
/// Returns the path of the file.
/// @throws Error if there is no group or no folder, or if the file cannot be written
std::string write_flight_record(const std::string& folder = {});
/// get_rank() returns this process's rank in a group, by default the default group: 0 if there is no default group, -1
/// if it is not a member. get_world_size() returns the number of ranks: 1 if there is no default group, -1 if this
/// process is not a member.
int get_rank(const ProcessGroupPtr& group = nullptr);
int get_world_size(const ProcessGroupPtr& group = nullptr);

/// Runs f(rank) in `size` threads. Each thread is a rank, with its own generators, default group and grad mode, and has
/// an equal share of the cores. Returns when all are done. If one throws, the groups of the others fail, and the first
/// exception is rethrown with its rank in the message.
void run_ranks(int size, const std::function<void(int rank)>& f);

}  // namespace tandem::distributed
