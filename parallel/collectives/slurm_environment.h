// Reads the variables that Slurm sets in srun, sbatch and salloc. Internal.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tandem::distributed {

/// Function that returns the value of an environment variable; "" if the variable is not set.
using Variables = std::function<std::string(const char* name)>;

/// Expands a host list of Slurm, up to `max_hosts` hosts: "n[08-10,12],login" becomes n08, n09, n10, n12, login.
/// @throws Error if the list is malformed
std::vector<std::string> expand_node_list(const std::string& list, size_t max_hosts = 1 << 16);

/// Returns whether srun started this process as a task of a job step. Returns false for batch scripts and shells of
/// salloc, although they run in steps too.
bool is_slurm_task(const Variables& variable);

/// Returns whether PMI's variables come from `srun --mpi=pmi2`, which sets both PMI's and Slurm's variables for the
/// same tasks.
bool is_slurm_pmi(const Variables& variable);

/// Throws if this process is in an allocation of several tasks but was not started by srun, because it would wait for
/// ranks that nobody starts.
/// @param has_procid  whether SLURM_PROCID is set, as in batch scripts and in the shells that salloc starts on a node
void check_started_by_srun(bool has_procid, const Variables& variable);

/// Returns the node of the job step's rank 0: the first of `hosts`, unless `srun -m arbitrary` has put rank 0
/// elsewhere.
/// @param hosts  nodes of the step, at least two
/// @param sources  description of the variables used; gets the names of further variables if the list does not decide
/// @throws Error that asks for MASTER_ADDR, if Slurm does not say where rank 0 is
std::string find_rank_0_host(const std::vector<std::string>& hosts, const Variables& variable, std::string& sources);

}  // namespace tandem::distributed
