// Reads the variables that Slurm sets in srun, sbatch and salloc. Internal.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tandem::distributed {

/// Returns the value of a variable; "" if it is not set.
using Variables = std::function<std::string(const char* name)>;

/// Expands a host list of Slurm, up to `most` hosts: "n[08-10,12],login" is n08, n09, n10, n12, login.
/// @throws Error if the list is malformed
std::vector<std::string> hosts_of_node_list(const std::string& list, size_t most = 1 << 16);

/// Returns whether srun started this process as a task of a step. Batch scripts and the shells of salloc also run in
/// steps, but with one task each.
bool is_slurm_task(const Variables& variable);

/// Returns whether PMI's variables come from `srun --mpi=pmi2`, which sets them beside Slurm's for the same tasks.
bool is_pmi_of_slurm(const Variables& variable);

/// Throws if this process is in an allocation of several tasks and no srun started it: it would wait for ranks that
/// nobody starts.
/// @param sees_task  whether SLURM_PROCID is set, as in batch scripts and in the shells that salloc starts on a node
void check_started_by_srun(bool sees_task, const Variables& variable);

/// Returns the node of the step's rank 0: the first of its list, unless `srun -m arbitrary` has put rank 0 elsewhere.
/// @param hosts  nodes of the step, at least two
/// @param found  set to the names of the variables used, unless that is the list alone
/// @throws Error that asks for MASTER_ADDR, if Slurm does not say where rank 0 is
std::string host_of_rank_0(const std::vector<std::string>& hosts, const Variables& variable, std::string& found);

}  // namespace tandem::distributed
