// Reads rank and job from the environment that a launcher set; docs/launch.md has the order. Internal.
#pragma once
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/slurm_environment.h"

namespace tandem::distributed {

std::string process_variable(const char* name);

/// A rank's settings from options and environment.
struct JobEnvironment {
  std::string launcher;  // "the environment", "tandem launch", "torchrun", "Open MPI", "PMI", "Slurm"
  int rank = 0, size = 1;
  std::string address = {};
  int port = 0;
  std::string token = {};  // keeps the ranks of other jobs out of the store
  bool has_launcher_store = false, has_agent_store = false;
  std::string found = {};  // their source: "OMPI_COMM_WORLD_RANK; address: all ranks are on this machine; ..."
};
/// Returns the control port, "host:port", of the mpiexec (MPICH's hydra) that started this process; "" if there is
/// none. Ancestors of this process, hydra's proxies, have it among their arguments; it is the same on all machines.
std::string control_port_of_hydra();

/// @param control_port  called only if PMI's variables give the rank
/// @throws Error naming the missing or impossible variable, and the accepted values
JobEnvironment read_job_environment(const InitOptions& options, const Variables& variable = process_variable,
                                    const std::function<std::string()>& control_port = control_port_of_hydra);

/// Returns whether ranks of one machine may share memory: true unless TANDEM_SHARED_MEMORY is 0.
bool is_shared_memory_wanted();

/// Implements is_launched() with the given variables.
bool is_launched(const Variables& variable);

/// Returns the number of this rank among the ranks of its machine; nullopt if the launcher does not set it.
std::optional<int> local_rank_of(const Variables& variable = process_variable);

/// Prints once, on the standard error of rank 0, how the ranks found each other. TANDEM_SHOW_RENDEZVOUS=0 disables
/// this; =1 enables it even if tandem launch started the ranks.
void show_once(const JobEnvironment& job, const std::string& address, int port);

}  // namespace tandem::distributed
