// Reads a rank's number and its job from the environment variables of the launcher. docs/launch.md lists them in order.
// Internal.
#pragma once
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/slurm_environment.h"

namespace tandem::distributed {

std::string get_environment_variable(const char* name);

/// Settings of a rank, from the options and the environment.
struct JobEnvironment {
  // name of the launcher: "the environment", "tandem launch", "torchrun", "Open MPI", "PMI" or "Slurm"
  std::string launcher;
  int rank = 0, size = 1;
  std::string address = {};
  int port = 0;
  std::string token = {};  // text that clients of the store must present, so that ranks of other jobs are kept out
  bool has_launcher_store = false, has_agent_store = false;
  // sources of the settings: "OMPI_COMM_WORLD_RANK; address: all ranks are on this machine; ..."
  std::string sources = {};
};
/// Returns the control port, "host:port", of the mpiexec of MPICH (whose process manager is hydra) that started this
/// process; "" if there is none. It is an argument of hydra's proxy processes, which are ancestors of this process, and
/// is the same on all machines.
std::string find_hydra_control_port();

/// Reads the settings of this rank.
/// @param control_port  called only if PMI's variables give the rank
/// @throws Error naming the missing or invalid variable, and the accepted values
JobEnvironment read_job_environment(const InitOptions& options, const Variables& variable = get_environment_variable,
                                    const std::function<std::string()>& control_port = find_hydra_control_port);

/// Returns whether ranks of one machine may share memory: true unless TANDEM_SHARED_MEMORY is 0.
bool is_shared_memory_enabled();

/// Implements is_launched() with the given variables.
bool is_launched(const Variables& variable);

/// Returns the number of this rank among the ranks of its machine; nullopt if the launcher does not set it.
std::optional<int> read_local_rank(const Variables& variable = get_environment_variable);

/// Prints how the ranks found each other, once per process, on the standard error of rank 0. If TANDEM_SHOW_RENDEZVOUS
/// is 0, prints nothing. If tandem launch started the ranks, prints only if it is 1.
void print_rendezvous_once(const JobEnvironment& job, const std::string& address, int port);

}  // namespace tandem::distributed
