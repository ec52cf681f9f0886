// What the environment says of this rank and of its job, whoever started it: docs/launch.md has the order. Internal.
#pragma once
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/slurm_environment.h"

namespace tandem::distributed {

std::string process_variable(const char* name);

/// What options and environment say of a rank.
struct JobEnvironment {
  std::string launcher;  // "the environment", "tandem launch", "torchrun", "Open MPI", "PMI", "Slurm"
  int rank = 0, size = 1;
  std::string address = {};
  int port = 0;
  std::string token = {};  // which keeps the ranks of other jobs out of the store
  bool has_launcher_store = false, has_agent_store = false;
  std::string found = {};  // "OMPI_COMM_WORLD_RANK; address: all ranks are on this machine; ...": from where
};
/// The control port, "host:port", of the mpiexec (MPICH's hydra) that started this process: its proxies, this process's
/// ancestors, have it among their arguments, the same on all machines. "" if there is none.
std::string control_port_of_hydra();

/// @param control_port  called only for ranks that PMI counts
/// @throws Error naming the missing or impossible variable, and the accepted values
JobEnvironment read_job_environment(const InitOptions& options, const Variables& variable = process_variable,
                                    const std::function<std::string()>& control_port = control_port_of_hydra);

/// Whether ranks of one machine may share memory: unless TANDEM_SHARED_MEMORY is 0.
bool is_shared_memory_wanted();

/// As is_launched().
bool is_launched(const Variables& variable);

/// Which of its machine's ranks this is, where the launcher says so.
std::optional<int> local_rank_of(const Variables& variable = process_variable);

/// Says once, on the standard error of rank 0, what the ranks have been found by. TANDEM_SHOW_RENDEZVOUS=0 keeps it
/// silent; =1 has it speak where tandem launch has started the ranks too.
void show_once(const JobEnvironment& job, const std::string& address, int port);

}  // namespace tandem::distributed
