// Reads Slurm's variables: the node of rank 0, and whether srun started this process as a rank.
#include "tandem/parallel/collectives/slurm_environment.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "tandem/core/error.h"

namespace tandem::distributed {
namespace {

/// Numbers of the steps that Slurm makes itself, for shells of salloc, batch scripts and adopted processes: they begin
/// at kFirstReservedStepId. kInteractiveStepId is the step of a shell.
constexpr int64_t kFirstReservedStepId = 0xfffffff0, kInteractiveStepId = 0xfffffffa;
int64_t read_step_id(const Variables& variable) {
  const std::string step = variable("SLURM_STEP_ID");
  return step.empty() ? -1 : std::strtoll(step.c_str(), nullptr, 10);
}

/// Returns the first host in a host file, from which `srun -m arbitrary` takes the nodes of its tasks; "" if the file
/// cannot be read.
std::string read_first_host(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    // drop the count of "node*4", which stands for four lines "node"
    line.erase(std::min(line.find_first_of("#* \t\r"), line.size()));
    if (!line.empty()) return expand_node_list(line, 1)[0];
  }
  return {};
}

}  // namespace

bool is_slurm_task(const Variables& variable) {
  const int64_t step = read_step_id(variable);
  return step >= 0 && step < kFirstReservedStepId;
}

bool is_slurm_pmi(const Variables& variable) {
  // mpiexec sets MPI_LOCALRANKID inside a step, and srun does not
  return is_slurm_task(variable) && variable("MPI_LOCALRANKID").empty() &&
         variable("PMI_RANK") == variable("SLURM_PROCID") &&
         variable("PMI_JOBID") == variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID");
}

void check_started_by_srun(bool has_procid, const Variables& variable) {
  const std::string job = variable("SLURM_JOB_ID");
  if (job.empty() || (has_procid && is_slurm_task(variable))) return;
  std::string tasks = variable("SLURM_NTASKS");
  if (tasks.empty()) tasks = variable("SLURM_JOB_NUM_NODES");
  if (has_procid && (tasks.empty() || tasks == "1")) return;  // a batch script with one task, which is this process
  TANDEM_FAIL("init_process_group: this process is in Slurm's allocation ", job, " of ", tasks.empty() ? "some" : tasks,
              " tasks, but is not a task of a step, because srun has not started it",
              read_step_id(variable) == kInteractiveStepId ? " (a shell of salloc is one process)"
              : has_procid                                 ? " (a batch script runs once)"
                                                           : "",
              "; start the ranks by `srun PROGRAM`, or by tandem launch");
}

std::string find_rank_0_host(const std::vector<std::string>& hosts, const Variables& variable, std::string& sources) {
  // If there are two nodes, the task numbers on this node show whether rank 0 is on this node or on the other one.
  const std::string this_node = variable("SLURMD_NODENAME"), tasks = variable("SLURM_GTIDS");
  const bool is_known = !tasks.empty() && tasks.find_first_not_of("0123456789,") == std::string::npos;
  if (hosts.size() == 2 && is_known && (this_node == hosts[0] || this_node == hosts[1])) {
    const bool is_here = ("," + tasks + ",").find(",0,") != std::string::npos;
    const std::string& host = is_here == (this_node == hosts[0]) ? hosts[0] : hosts[1];
    if (host != hosts[0]) sources += " and SLURM_GTIDS";
    return host;
  }
  if (variable("SLURM_DISTRIBUTION").rfind("arbitrary", 0) != 0) return hosts[0];
  const std::string path = variable("SLURM_HOSTFILE");
  const std::string host = path.empty() ? path : read_first_host(path);
  TANDEM_CHECK(std::find(hosts.begin(), hosts.end(), host) != hosts.end(),
               "init_process_group: `srun -m arbitrary` has put rank 0 on one of ", hosts.size(),
               " nodes, but Slurm does not say on which (the first line of SLURM_HOSTFILE, '", path,
               "', would be that node); set MASTER_ADDR to that node on all ranks");
  sources += " and SLURM_HOSTFILE";
  return host;
}

std::vector<std::string> expand_node_list(const std::string& list, size_t max_hosts) {
  const auto reject = [&](const std::string& why) {
    TANDEM_FAIL("init_process_group: '", list, "' is not a Slurm node list: ", why,
                "; accepted: a list such as n[08-10,12],login");
  };
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  std::vector<std::string> hosts;
  // Expands the brackets in `rest`, and appends each expansion, prefixed with `before`, to hosts. If there are several
  // brackets, the numbers in the last bracket vary fastest.
  const std::function<void(const std::string&, const std::string&)> expand = [&](const std::string& before,
                                                                                 const std::string& rest) {
    const size_t open = rest.find('[');
    if (open == std::string::npos) {
      if (rest.find(']') != std::string::npos) reject("a closing bracket has no opening bracket");
      if (before.empty() && rest.empty()) reject("a name is empty");
      if (hosts.size() < max_hosts) hosts.push_back(before + rest);
      return;
    }
    const size_t close = rest.find(']', open);
    if (close == std::string::npos) reject("a bracket is not closed");
    const std::string behind = rest.substr(close + 1);
    for (size_t at = open + 1; at <= close && hosts.size() < max_hosts;) {
      const size_t end = std::min(rest.find(',', at), close), dash = std::min(rest.find('-', at), end);
      const std::string first = rest.substr(at, dash - at);
      const std::string last = dash < end ? rest.substr(dash + 1, end - dash - 1) : first;
      if (!is_number(first) || !is_number(last) || std::stol(first) > std::stol(last))
        reject(std::string("'").append(rest, at, end - at).append("' is not a range of numbers"));
      for (int64_t i = std::stol(first); i <= std::stol(last) && hosts.size() < max_hosts; ++i) {
        std::string number = std::to_string(i);
        if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
        expand(before + rest.substr(0, open) + number, behind);
      }
      at = end + 1;
    }
  };
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= list.size() && hosts.size() < max_hosts; ++at) {
    const char c = at < list.size() ? list[at] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (at < list.size() && (c != ',' || depth != 0)) continue;
    expand("", list.substr(begin, at - begin));
    begin = at + 1;
  }
  return hosts;
}

}  // namespace tandem::distributed
