#include "tandem/parallel/collectives/job_environment.h"

#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tandem::distributed {
namespace {

constexpr int kMostRanks = 1024;
constexpr int kUsualPort = 29500;  // PyTorch's

/// What a launcher calls its variables; null where it has none.
struct Launcher {
  const char *name, *rank, *size, *local_rank, *local_size;
};
// The first whose rank is set counts. mpirun starts its processes by those of Slurm where there is one, so that
// Slurm's variables, which are then of mpirun's helpers, come last.
constexpr Launcher kLaunchers[] = {
    {"the environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
};
const Launcher& launcher_of(const Variables& variable) {
  for (const Launcher& each : kLaunchers)
    if (!variable(each.rank).empty()) return each;
  return kLaunchers[0];
}
bool is(const Launcher& launcher, const char* name) { return launcher.name == std::string(name); }

int number_in(const std::string& text, const std::string& name, int least, int most) {
  char* end = nullptr;
  const int64_t number = std::strtol(text.c_str(), &end, 10);
  TANDEM_CHECK(!text.empty() && *end == '\0', "init_process_group: ", name, " is '", text, "'; accepted: a number");
  TANDEM_CHECK(number >= least && number <= most, "init_process_group: ", name, " is ", number, "; accepted: ", least,
               " to ", most);
  return static_cast<int>(number);
}
int number_from(const Variables& variable, const char* name, const char* option, const std::optional<int>& given,
                int least, int most) {
  if (given) return number_in(std::to_string(*given), option, least, most);
  const std::string text = variable(name);
  TANDEM_CHECK(!text.empty(), "init_process_group: ", name, " is not set; tandem launch sets it, or give ", option);
  return number_in(text, name, least, most);
}

/// A shell of an allocation runs its commands once, and would wait for ranks that nobody starts.
void check_started_by_srun(const Launcher& launcher, const Variables& variable) {
  const std::string job = variable("SLURM_JOB_ID");
  const bool is_slurm = is(launcher, "Slurm");
  if (job.empty() || !variable(kLaunchers[0].rank).empty() || (!is_slurm && !variable(launcher.rank).empty())) return;
  if (is_slurm && !variable("SLURM_STEP_ID").empty()) return;
  std::string tasks = variable("SLURM_NTASKS");
  if (tasks.empty()) tasks = variable("SLURM_JOB_NUM_NODES");
  if (is_slurm && (tasks.empty() || tasks == "1")) return;  // a batch script of one task, which is this one
  TANDEM_FAIL("init_process_group: this process is in allocation ", job, " of Slurm, of ",
              tasks.empty() ? "some" : tasks, " tasks, but no task of a step: srun has not started it",
              is_slurm ? " (a batch script runs once)" : "",
              "; start the ranks by `srun PROGRAM`, or by tandem launch");
}
/// The list of the nodes that this job runs on, and its variable. mpirun's helpers are steps of their own, of some
/// nodes.
std::pair<std::string, std::string> node_list(const Launcher& launcher, const Variables& variable) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (is(launcher, "Slurm") || name != std::string("SLURM_STEP_NODELIST"))
      if (std::string list = variable(name); !list.empty()) return {std::move(list), name};
  return {};
}
/// What tells this job from others, and from where it comes; nothing where the launcher does not say.
std::pair<std::string, std::string> identity(const Launcher& launcher, const Variables& variable) {
  if (is(launcher, "Open MPI")) return {variable("PMIX_NAMESPACE"), "PMIX_NAMESPACE"};
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (job.empty()) return {};
  return is(launcher, "Slurm") ? std::pair(job + "." + step, "SLURM_JOB_ID and SLURM_STEP_ID")
                               : std::pair(job, "SLURM_JOB_ID");
}
/// Below the ports that systems give out by themselves.
int port_from(const std::string& identity) {
  uint32_t hash = 2166136261;  // FNV-1a, alike on every machine
  for (const char c : identity) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int>(10000 + hash % 20000);
}

/// Where rank 0 is, where nobody says so.
std::string find_address(const Launcher& launcher, const Variables& variable, int size, std::string& found) {
  const std::string local_size = launcher.local_size ? variable(launcher.local_size) : "";
  if (size == 1 || local_size == std::to_string(size)) {
    found += "; address: all ranks are on this machine";
    return "127.0.0.1";
  }
  const auto [list, name] = node_list(launcher, variable);
  TANDEM_CHECK(!list.empty(), "init_process_group: ", launcher.name, " has started ", size, " ranks, ",
               local_size.empty() ? "some" : local_size,
               " of them on this machine, and does not say where rank 0 is; set MASTER_ADDR to that host on all ranks");
  const std::vector<std::string> hosts = hosts_of_node_list(list, 2);
  found += "; address: " + name + (hosts.size() == 1 ? ", one machine" : "");
  return hosts.size() == 1 ? "127.0.0.1" : hosts[0];
}

}  // namespace

std::string process_variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

bool is_shared_memory_wanted() { return process_variable("TANDEM_SHARED_MEMORY") != "0"; }

JobEnvironment read_job_environment(const InitOptions& o, const Variables& variable) {
  const Launcher& launcher = launcher_of(variable);
  const bool by_hand = is(launcher, "the environment");
  if (!o.rank || !o.world_size) check_started_by_srun(launcher, variable);
  const bool has_step_size = !is(launcher, "Slurm") || !variable(launcher.size).empty();
  const char* const size_name = has_step_size ? launcher.size : "SLURM_NTASKS";
  JobEnvironment job{.launcher = launcher.name};
  const bool is_lone = is(launcher, "Slurm") && !o.world_size && variable(size_name).empty();  // in a batch script
  job.size = is_lone ? 1 : number_from(variable, size_name, "InitOptions::world_size", o.world_size, 1, kMostRanks);
  job.rank = number_from(variable, launcher.rank, "InitOptions::rank", o.rank, 0, job.size - 1);
  job.found = o.rank && o.world_size ? "InitOptions" : std::string(launcher.rank) + " and " + size_name;

  const std::string address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (o.master_addr || !address.empty()) {
    job.address = o.master_addr.value_or(address);
    job.found += o.master_addr ? "; address: InitOptions" : "; address: MASTER_ADDR";
  } else {
    TANDEM_CHECK(!by_hand, "init_process_group: MASTER_ADDR is not set; tandem launch sets it, or give ",
                 "InitOptions::master_addr");
    job.address = find_address(launcher, variable, job.size, job.found);
  }
  const auto [id, id_name] = by_hand ? std::pair<std::string, std::string>() : identity(launcher, variable);
  if (o.master_port || !port.empty() || by_hand) {
    job.port = number_from(variable, "MASTER_PORT", "InitOptions::master_port", o.master_port, 1, 65535);
    job.found += o.master_port ? "; port: InitOptions" : "; port: MASTER_PORT";
  } else {
    job.port = id.empty() ? kUsualPort : port_from(id);
    job.found += "; port: " + (id.empty() ? "the usual one" : "from " + id_name);
  }

  job.token = variable("TANDEM_JOB_TOKEN");
  if (job.token.empty() && !id.empty()) job.token = std::string(launcher.name) + " " + id;
  job.has_launcher_store = variable("TANDEM_STORE") == "launcher";
  const bool torchrun = by_hand && !job.has_launcher_store && !variable("TORCHELASTIC_RUN_ID").empty();
  if (job.has_launcher_store) job.launcher = "tandem launch";
  if (torchrun) job.launcher = "torchrun";
  job.has_agent_store =
      !job.has_launcher_store && !o.master_addr && !o.master_port && variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return job;
}

bool is_launched(const Variables& variable) {
  const Launcher& launcher = launcher_of(variable);
  if (is(launcher, "Slurm") && variable("SLURM_STEP_ID").empty()) return false;  // a batch script, which runs once
  return !variable(launcher.rank).empty();
}
bool is_launched() { return is_launched(process_variable); }

std::optional<int> local_rank_of(const Variables& variable) {
  const Launcher& launcher = launcher_of(variable);
  const std::string text = variable(launcher.local_rank);
  if (text.empty()) return {};
  return number_in(text, launcher.local_rank, 0, kMostRanks - 1);
}

std::vector<std::string> hosts_of_node_list(const std::string& list, size_t most) {
  const auto refuse = [&](const std::string& why) {
    TANDEM_FAIL("init_process_group: '", list, "' is no list of Slurm's nodes: ", why,
                "; accepted: as in n[08-10,12],login");
  };
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  std::vector<std::string> hosts;
  // Adds `before` with each of the rest's possibilities behind it, the innermost brackets last.
  const std::function<void(const std::string&, const std::string&)> expand = [&](const std::string& before,
                                                                                 const std::string& rest) {
    const size_t open = rest.find('[');
    if (open == std::string::npos) {
      if (rest.find(']') != std::string::npos) refuse("a bracket is closed that was not opened");
      if (before.empty() && rest.empty()) refuse("a name is empty");
      if (hosts.size() < most) hosts.push_back(before + rest);
      return;
    }
    const size_t close = rest.find(']', open);
    if (close == std::string::npos) refuse("a bracket is not closed");
    const std::string behind = rest.substr(close + 1);
    for (size_t at = open + 1; at <= close && hosts.size() < most;) {
      const size_t end = std::min(rest.find(',', at), close), dash = std::min(rest.find('-', at), end);
      const std::string first = rest.substr(at, dash - at);
      const std::string last = dash < end ? rest.substr(dash + 1, end - dash - 1) : first;
      if (!is_number(first) || !is_number(last) || std::stol(first) > std::stol(last))
        refuse("'" + rest.substr(at, end - at) + "' is no range of numbers");
      for (int64_t i = std::stol(first); i <= std::stol(last) && hosts.size() < most; ++i) {
        std::string number = std::to_string(i);
        if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
        expand(before + rest.substr(0, open) + number, behind);
      }
      at = end + 1;
    }
  };
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= list.size() && hosts.size() < most; ++at) {
    const char c = at < list.size() ? list[at] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (at < list.size() && (c != ',' || depth != 0)) continue;
    expand("", list.substr(begin, at - begin));
    begin = at + 1;
  }
  return hosts;
}

void show_once(const JobEnvironment& job, const std::string& address, int port) {
  static std::atomic<bool> shown{false};
  const std::string asked = process_variable("TANDEM_SHOW_RENDEZVOUS");
  if (job.rank != 0 || asked == "0" || (job.has_launcher_store && asked != "1") || shown.exchange(true)) return;
  std::fprintf(stderr, "tandem: %d %s, found by %s (%s); the store is at %s:%d\n", job.size,
               job.size == 1 ? "rank" : "ranks", job.launcher.c_str(), job.found.c_str(), address.c_str(), port);
}

}  // namespace tandem::distributed
