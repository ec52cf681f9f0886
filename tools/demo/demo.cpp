// `tandem demo`: trains a model on FashionMNIST on one device, under DataParallel and under DistributedDataParallel,
// and prints the results side by side.
#include <cstdio>
#include <cstring>

#include "tandem/benchmarks/scratch_folder.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tandem.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/demo/data_folder.h"
#include "tandem/tools/demo/report.h"
#include "tandem/tools/demo/show.h"
#include "tandem/tools/launch/ranks.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

bool is_emulated() { return gpu::implementation() == std::string("emulated"); }

/// Sets the device and the numbers of devices and ranks, if the user did not. The default device is cuda if there are
/// GPUs that are not emulated.
void choose_device(DemoSettings& s) {
  const bool emulated = is_emulated();
  if (s.device.empty()) s.device = cuda::is_available() && !emulated ? "cuda" : "cpu";
  check_usage(s.device == "cpu" || cuda::is_available(),
              "--device is cuda, but no GPU can be used: ", gpu::unavailable_reason(), "; accepted here: cpu");
  const bool several = s.device == "cuda" && !emulated;
  if (s.devices == 0) s.devices = several ? cuda::device_count() : 2;
  if (s.ranks == 0) s.ranks = several && cuda::device_count() > 1 ? cuda::device_count() : 2;
  check_usage(s.device == "cpu" || s.devices <= cuda::device_count(), "--devices is ", s.devices,
              ", but this machine has ", cuda::device_count(), " GPU(s)");
}
void print_device(const DemoSettings& s) {
  if (s.device == "cpu") {
    std::printf("on the CPU%s\n", cuda::is_available() ? "; --device cuda uses the GPUs" : "");
    return;
  }
  std::printf("on %d GPU(s): %s\n", cuda::device_count(), cuda::get_device_properties().name.c_str());
}

void check_settings(DemoSettings& s) {
  s.data = find_fashion_mnist(s.data);
  check_usage(!s.data.empty(), "FashionMNIST was not found; ", kDataRemedy);
  check_can_write("--save", s.save);
  check_can_write("--json", s.json);
  check_can_write("--report", s.report);
  check_usage(s.batch_size >= std::max(s.devices, s.ranks), "--batch-size: a batch of ", s.batch_size, " images for ",
              std::max(s.devices, s.ranks), " devices or ranks; accepted: at least one image for each");
}

/// Trains under DDP with one process per rank. Starts this program again for each rank, with the hidden option
/// --rank-result.
DemoRun train_in_processes(const DemoSettings& s, const std::string& mode) {
  const benchmarks::ScratchFolder folder("demo");
  const std::string result = folder.path() + "/rank0.json";
  std::vector<std::string> arguments = {"--mode", mode, "--rank-result", result};
  const auto add = [&](const char* option, const std::string& value) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  add("--model", s.model);
  add("--data", s.data);
  add("--seed", std::to_string(s.seed));
  add("--epochs", std::to_string(s.epochs));
  add("--batch-size", std::to_string(s.batch_size));
  add("--ranks", std::to_string(s.ranks));
  add("--device", s.device);
  add("--compare-steps", std::to_string(s.compare_steps));
  if (s.threads > 0) add("--threads", std::to_string(std::max(1, s.threads / s.ranks)));
  if (!s.load.empty()) add("--load", s.load);
  if (s.history) arguments.emplace_back("--history");
  if (!s.save.empty() && s.modes[0] == mode) add("--save", s.save);
  run_own_ranks("demo", mode, s.ranks, arguments);
  return read_run(result);
}

DemoRun train_in_threads(const DemoSettings& s, const DemoData& data) {
  DemoRun run;
  distributed::run_ranks(s.ranks, [&](int rank) {
    distributed::init_process_group("local");
    DemoRun own = train(s, data, "ddp_local");
    if (rank == 0) run = std::move(own);
  });
  return run;
}

/// Returns the reason why a mode cannot run on this machine; "" if it can.
std::string unavailable_reason(const std::string& mode, const DemoSettings& s) {
  if (mode == "ddp_gloo" && !distributed::is_gloo_available()) return "this build has no Gloo";
  if (mode != "ddp_nccl") return {};
  if (s.device != "cuda") return "NCCL needs GPUs";
  if (is_emulated()) return "each process has its own emulated GPUs, which NCCL cannot reach";
  if (!distributed::is_nccl_available()) return "NCCL was not found, or is not in this build";
  if (s.ranks > cuda::device_count()) return "NCCL needs a GPU for each rank";
  return {};
}
/// Expands the group names "all" and "ddp" in settings.modes into modes; --backend restricts the DDP modes. If a mode
/// of a group cannot run on this machine, skips it.
/// @throws UsageError if a mode that the user named explicitly cannot run
std::vector<std::string> select_modes(const DemoSettings& s) {
  std::vector<std::string> modes;
  for (const std::string& mode : s.modes)
    for (const char* each : {"single", "dp", "ddp_nccl", "ddp_gloo", "ddp_local"}) {
      const bool ddp = std::strncmp(each, "ddp", 3) == 0;
      if (mode != each && mode != "all" && !(mode == "ddp" && ddp)) continue;
      if (ddp && !s.backend.empty() && each != "ddp_" + s.backend) continue;
      if (const std::string why = unavailable_reason(each, s); !why.empty()) {
        check_usage(mode != each, "--mode ", mode, " cannot run here: ", why);
        if (s.device == "cuda" || std::string(each) != "ddp_nccl" || s.backend == "nccl")
          std::printf("%s is left out: %s\n", each, why.c_str());
        continue;
      }
      if (std::find(modes.begin(), modes.end(), each) == modes.end()) modes.emplace_back(each);
    }
  check_usage(!modes.empty(), "--mode ", join_with_commas(s.modes), " and --backend ", s.backend,
              " select no mode to train; omit one of them");
  return modes;
}

}  // namespace

void demo(DemoSettings s) {
  choose_device(s);
  s.modes = select_modes(s);
  check_settings(s);
  s.history |= !s.report.empty();
  if (s.threads > 0) set_num_threads(s.threads = check_num_threads(s.threads));
  if (!s.rank_result.empty()) {
    const std::string& mode = s.modes[0];
    distributed::init_process_group(mode.substr(std::strlen("ddp_")));
    s.pictures = false;
    const DemoRun run = train(s, DemoData(s.data), mode);
    if (distributed::get_rank() == 0) write_run(s.rank_result, run);
    distributed::destroy_process_group();
    return;
  }
  print_device(s);
  set_cpu_device_count(std::max({cpu_device_count(), s.devices, s.ranks}));
  const DemoData data(s.data);
  std::vector<DemoRun> runs;
  for (const std::string& mode : s.modes) {
    const bool processes = mode == "ddp_gloo" || mode == "ddp_nccl", ranks = processes || mode == "ddp_local";
    std::printf("%s%s by %s", runs.empty() ? "" : "\n", s.model.c_str(), mode.c_str());
    if (mode == "dp") std::printf(" over %d %s", s.devices, s.device == "cpu" ? "virtual devices" : "GPU(s)");
    if (ranks) std::printf(" over %d %s", s.ranks, processes ? "processes" : "threads");
    std::printf(": batch %lld, %d thread(s)\n", static_cast<long long>(s.batch_size), get_num_threads());
    std::fflush(stdout);
    runs.push_back(processes ? train_in_processes(s, mode) : ranks ? train_in_threads(s, data) : train(s, data, mode));
  }
  print_table(runs);
  ResultFiles files;
  for (const DemoRun& run : runs) files.add_error(run.not_saved);
  if (!s.json.empty()) files.try_write([&] { write_json(s.json, s, runs); });
  if (!s.report.empty())
    files.try_write([&] {
      write_report(s.report, s, data, runs);
      std::printf("\nthe report is in %s; open it in a browser\n", s.report.c_str());
    });
  files.throw_errors();
}

}  // namespace tandem::tools
