// Reads a rank's number, the number of ranks, the address and the job from the launcher's environment variables: RANK
// and so on, or those of Open MPI, PMI or Slurm.
#include "tandem/parallel/collectives/job_environment.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tandem::distributed {
namespace {

constexpr int kMaxRanks = 1024;
constexpr int kDefaultMasterPort = 29500;  // PyTorch's default

/// Names of the environment variables that a launcher sets. A name is null if the launcher has no such variable.
struct LauncherVariables {
  const char *name, *rank, *size, *local_rank, *local_size;
};
// Launchers in order of precedence: the first one whose variables give both rank and size is used. Slurm comes last:
// inside an allocation mpirun starts its helper processes by srun, so mpirun's ranks inherit Slurm's variables, which
// describe the helpers.
constexpr LauncherVariables kLaunchers[] = {
    {"the environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
};
bool is_launcher(const LauncherVariables& launcher, const char* name) { return launcher.name == std::string(name); }
std::string read_world_size(const LauncherVariables& launcher, const Variables& variable) {
  std::string size = variable(launcher.size);
  return size.empty() && is_launcher(launcher, "Slurm") ? variable("SLURM_NTASKS") : size;
}
/// Returns the launcher whose variables apply.
/// @param size_given  true if InitOptions has the number of ranks; then a launcher needs to give only a rank
const LauncherVariables& detect_launcher(bool size_given, const Variables& variable) {
  for (const LauncherVariables& each : kLaunchers) {
    if (variable(each.rank).empty() || (is_launcher(each, "PMI") && is_slurm_pmi(variable))) continue;
    // Slurm need not give a size: a batch script has rank 0, but may have no size.
    if (size_given || is_launcher(each, "Slurm") || !variable(each.size).empty()) return each;
  }
  return kLaunchers[0];
}

int parse_number(const std::string& text, const std::string& name, int min_value, int max_value) {
  char* end = nullptr;
  const int64_t number = std::strtol(text.c_str(), &end, 10);
  TANDEM_CHECK(!text.empty() && *end == '\0', "init_process_group: ", name, " is '", text,
               "'; accepted: a whole number");
  TANDEM_CHECK(number >= min_value && number <= max_value, "init_process_group: ", name, " is ", number,
               "; accepted: ", min_value, " to ", max_value);
  return static_cast<int>(number);
}
int read_int_variable(const Variables& variable, const char* name, const char* option, const std::optional<int>& given,
                      int min_value, int max_value) {
  if (given) return parse_number(std::to_string(*given), option, min_value, max_value);
  const std::string text = variable(name);
  TANDEM_CHECK(!text.empty(), "init_process_group: environment variable ", name,
               " expected, but not set; tandem launch sets it, or give ", option);
  return parse_number(text, name, min_value, max_value);
}

/// Returns the list of this job's nodes, and the name of the variable that has it. SLURM_STEP_NODELIST is read only if
/// srun started the ranks: the helpers of mpirun run in a step that may have only some of the nodes.
std::pair<std::string, std::string> find_node_list(const LauncherVariables& launcher, const Variables& variable) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (is_launcher(launcher, "Slurm") || name != std::string("SLURM_STEP_NODELIST"))
      if (std::string list = variable(name); !list.empty()) return {std::move(list), name};
  return {};
}
/// A text that identifies a job, and the name of its source. The text is empty if the launcher gives none.
using JobId = std::pair<std::string, std::string>;
JobId read_job_id(const LauncherVariables& launcher, const Variables& variable,
                  const std::function<std::string()>& control_port) {
  const auto from = [&](const char* name) { return JobId(variable(name), name); };
  if (is_launcher(launcher, "the environment")) return from("TORCHELASTIC_RUN_ID");
  if (is_launcher(launcher, "Open MPI"))
    return variable("PMIX_NAMESPACE").empty() ? from("OMPI_MCA_ess_base_jobid") : from("PMIX_NAMESPACE");
  if (is_launcher(launcher, "PMI") && !variable("PMI_JOBID").empty()) return from("PMI_JOBID");
  if (is_launcher(launcher, "PMI"))
    if (std::string port = control_port(); !port.empty()) return {std::move(port), "the control port of mpiexec"};
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (job.empty()) return {};
  return is_launcher(launcher, "Slurm") ? JobId(job + "." + step, "SLURM_JOB_ID and SLURM_STEP_ID")
                                        : from("SLURM_JOB_ID");
}
/// Derives a port from a text, between 10000 and 29999. Systems assign ports automatically only above this range.
int hash_to_port(const std::string& job_id) {
  uint32_t hash = 2166136261;  // FNV-1a hash, which is the same on every machine
  for (const char c : job_id) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int>(10000 + hash % 20000);
}

/// Returns the host of rank 0 from the launcher's variables, for the case that MASTER_ADDR is not set.
std::string find_master_address(const LauncherVariables& launcher, const Variables& variable, int size,
                                std::string& sources) {
  const std::string local_size = launcher.local_size ? variable(launcher.local_size) : "";
  if (size == 1 || local_size == std::to_string(size)) {
    sources += "; address: all ranks are on this machine";
    return "127.0.0.1";
  }
  const auto [list, name] = find_node_list(launcher, variable);
  TANDEM_CHECK(
      !list.empty(), "init_process_group: ", launcher.name, " has started ", size, " ranks, ",
      local_size.empty() ? "some" : local_size,
      " of them on this machine, but does not give the host of rank 0; set MASTER_ADDR to that host on all ranks");
  const std::vector<std::string> hosts = expand_node_list(list);
  sources += "; address: " + name + (hosts.size() == 1 ? ", one machine" : "");
  if (hosts.size() == 1) return "127.0.0.1";
  return is_launcher(launcher, "Slurm") ? find_rank_0_host(hosts, variable, sources) : hosts[0];
}

}  // namespace

std::string get_environment_variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

bool is_shared_memory_enabled() { return get_environment_variable("TANDEM_SHARED_MEMORY") != "0"; }

std::string find_hydra_control_port() {
  int64_t process = ::getppid();
  for (int generation = 0; process > 1 && generation < 64; ++generation) {
    const std::string folder = "/proc/" + std::to_string(process);
    std::ifstream arguments(folder + "/cmdline"), status(folder + "/stat");
    std::string program, word, stat;
    std::getline(arguments, program, '\0');
    if (std::filesystem::path(program).filename().string().rfind("hydra", 0) == 0)
      while (std::getline(arguments, word, '\0'))
        if (word == "--control-port" && std::getline(arguments, word, '\0')) return word;
    std::getline(status, stat);  // a line such as "4711 (name) S 4710 ..."; the name may contain any character
    const size_t name_end = stat.rfind(')');
    process = name_end != std::string::npos && stat.size() > name_end + 4 ? std::atoll(&stat[name_end + 4]) : 0;
  }
  return {};
}

JobEnvironment read_job_environment(const InitOptions& o, const Variables& variable,
                                    const std::function<std::string()>& control_port) {
  const LauncherVariables& launcher = detect_launcher(o.world_size.has_value(), variable);
  const bool is_environment = is_launcher(launcher, "the environment"), is_slurm = is_launcher(launcher, "Slurm");
  const bool has_result = o.rank && o.world_size;
  if (!has_result && (is_slurm || variable(launcher.rank).empty())) check_started_by_srun(is_slurm, variable);
  const char* const size_name = is_slurm && variable(launcher.size).empty() ? "SLURM_NTASKS" : launcher.size;
  JobEnvironment job{.launcher = launcher.name};
  const bool is_batch_script = is_slurm && !o.world_size && variable(size_name).empty();  // true for a batch script
  job.size = is_batch_script
                 ? 1
                 : read_int_variable(variable, size_name, "InitOptions::world_size", o.world_size, 1, kMaxRanks);
  job.rank = read_int_variable(variable, launcher.rank, "InitOptions::rank", o.rank, 0, job.size - 1);
  job.sources = has_result ? "InitOptions" : std::string(launcher.rank) + " and " + size_name;

  const std::string address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (o.master_addr || !address.empty()) {
    job.address = o.master_addr.value_or(address);
    job.sources += o.master_addr ? "; address: InitOptions" : "; address: MASTER_ADDR";
  } else {
    TANDEM_CHECK(!is_environment,
                 "init_process_group: environment variable MASTER_ADDR expected, but not set; tandem launch sets it, ",
                 "or give InitOptions::master_addr");
    job.address = find_master_address(launcher, variable, job.size, job.sources);
  }
  const auto [id, id_name] = read_job_id(launcher, variable, control_port);
  if (o.master_port || !port.empty() || is_environment) {
    job.port = read_int_variable(variable, "MASTER_PORT", "InitOptions::master_port", o.master_port, 1, 65535);
    job.sources += o.master_port ? "; port: InitOptions" : "; port: MASTER_PORT";
  } else {
    job.port = id.empty() ? kDefaultMasterPort : hash_to_port(id);
    job.sources += "; port: " + (id.empty() ? "the usual one" : "from " + id_name);
  }

  job.token = variable("TANDEM_JOB_TOKEN");
  // If the program itself numbers the ranks, they may belong to several jobs of a launcher, whose ids differ.
  if (job.token.empty() && !id.empty() && !has_result) job.token = std::string(launcher.name) + " " + id;
  job.has_launcher_store = variable("TANDEM_STORE") == "launcher";
  const bool torchrun = is_environment && !job.has_launcher_store && !variable("TORCHELASTIC_RUN_ID").empty();
  if (job.has_launcher_store) job.launcher = "tandem launch";
  if (torchrun) job.launcher = "torchrun";
  job.has_agent_store =
      !job.has_launcher_store && !o.master_addr && !o.master_port && variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return job;
}

bool is_launched(const Variables& variable) {
  const LauncherVariables& launcher = detect_launcher(/*size_given=*/false, variable);
  if (is_launcher(launcher, "Slurm"))
    return is_slurm_task(variable);  // a batch script runs only once, so it is not a task
  return !variable(launcher.rank).empty();
}
bool is_launched() { return is_launched(get_environment_variable); }

std::optional<int> read_local_rank(const Variables& variable) {
  const LauncherVariables& launcher = detect_launcher(false, variable);
  // Take the local rank from a launcher that gives the same rank and size, because it numbers the same ranks. For
  // example, a script may export RANK=$SLURM_PROCID but no LOCAL_RANK.
  const auto has_same_numbering = [&](const LauncherVariables& other) {
    return variable(other.rank) == variable(launcher.rank) &&
           read_world_size(other, variable) == read_world_size(launcher, variable);
  };
  for (const LauncherVariables& each : kLaunchers)
    if (const std::string text = variable(each.local_rank); !text.empty() && has_same_numbering(each))
      return parse_number(text, each.local_rank, 0, kMaxRanks - 1);
  return {};
}

void print_rendezvous_once(const JobEnvironment& job, const std::string& address, int port) {
  static std::atomic<bool> shown{false};
  const std::string asked = get_environment_variable("TANDEM_SHOW_RENDEZVOUS");
  if (job.rank != 0 || asked == "0" || (job.has_launcher_store && asked != "1") || shown.exchange(true)) return;
  std::fprintf(stderr, "tandem: %d %s, found by %s (%s); the store is at %s:%d\n", job.size,
               job.size == 1 ? "rank" : "ranks", job.launcher.c_str(), job.sources.c_str(), address.c_str(), port);
}

}  // namespace tandem::distributed
