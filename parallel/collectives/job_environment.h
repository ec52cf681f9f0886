// What the environment says of this rank and of its job, whoever started it: docs/launch.md has the order. Internal.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

/// Value of a variable; "" where it is not set.
using Variables = std::function<std::string(const char* name)>;
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
/// @throws Error naming what is missing or impossible, and what would be accepted
JobEnvironment read_job_environment(const InitOptions& options, const Variables& variable = process_variable);

/// Whether ranks of one machine may share memory: unless TANDEM_SHARED_MEMORY is 0.
bool is_shared_memory_wanted();

/// As is_launched().
bool is_launched(const Variables& variable);

/// Which of its machine's ranks this is, where the launcher says so.
std::optional<int> local_rank_of(const Variables& variable = process_variable);

/// The first `most` hosts of a list of Slurm's: "n[08-10,12],login" is n08, n09, n10, n12, login.
/// @throws Error for a list that is none
std::vector<std::string> hosts_of_node_list(const std::string& list, size_t most = 1 << 16);

/// Says once, on the standard error of rank 0, what the ranks have been found by. TANDEM_SHOW_RENDEZVOUS=0 keeps it
/// silent; =1 has it speak where tandem launch has started the ranks too.
void show_once(const JobEnvironment& job, const std::string& address, int port);

}  // namespace tandem::distributed
