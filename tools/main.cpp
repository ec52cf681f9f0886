// The `tandem` command: its subcommands' options, and what they call. CLI11 takes seconds to compile, so that only this
// file and compare/options.cpp have it.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "tandem/core/device.h"
#include "tandem/core/internal.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/compare/options.h"
#include "tandem/tools/ranks.h"
#if TANDEM_HAS_BENCHMARKS
#include "tandem/benchmarks/report.h"
#endif

namespace tandem::tools {
namespace {

void add_demo(CLI::App& app, std::vector<std::string> command_line) {
  auto s = std::make_shared<DemoSettings>();
  s->command_line = std::move(command_line);
  CLI::App* const c = app.add_subcommand("demo", "Train a model on FashionMNIST on one device, under DP and under DDP");
  c->add_option("--model", s->model, "mlp, lenet or fashion_cnn")
      ->check(CLI::IsMember({"mlp", "lenet", "fashion_cnn"}));
  c->add_option("--mode", s->modes,
                "single, dp, ddp_nccl, ddp_gloo, ddp_local, ddp (all three) or all; several with commas between")
      ->delimiter(',')
      ->check(CLI::IsMember({"single", "dp", "ddp_nccl", "ddp_gloo", "ddp_local", "ddp", "all"}));
  c->add_option("--devices", s->devices, "Devices of dp: all GPUs, or two virtual ones of the CPU, unless given")
      ->check(CLI::Range(1, kMaxDevices));
  c->add_option("--ranks", s->ranks, "Ranks of ddp; as many unless given")->check(CLI::Range(1, kMaxDevices));
  c->add_option("--backend", s->backend, "Of ddp: nccl or gloo (processes), or local (threads); all unless given")
      ->check(CLI::IsMember({"nccl", "gloo", "local"}));
  c->add_option("--device", s->device, "cpu or cuda; GPUs where there are any unless given")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  c->add_option("--data", s->data, "Folder that holds FashionMNIST's four IDX files, plain or .gz");
  c->add_option("--epochs", s->epochs, "Passes over the training images")->check(CLI::Range(0, 100000));
  c->add_option("--batch-size", s->batch_size, "Images per step, over all devices or ranks")
      ->check(CLI::Range(1, 60000));
  c->add_option("--seed", s->seed, "Of initial values, order and dropout");
  c->add_option("--compare-steps", s->compare_steps, "Steps after which a parallel mode is compared with its reference")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  c->add_option("--threads", s->threads, "Threads to compute with; all usable cores unless given")
      ->check(CLI::Range(1, 1024));
  c->add_option(
      "--save", s->save,
      "Write the state that the first mode trained: FILE.safetensors, or PyTorch's format under any other name");
  c->add_option("--load", s->load, "Start from this state");
  c->add_flag("--capture", s->capture, "Record the step of mode single once, and replay it");
  c->add_option("--json", s->json, "Write the table and the settings");
  c->add_option("--report", s->report, "Write a page for a browser: curves, confusion matrix, mistakes, time and memory");
  c->add_flag("--history", s->history)->group("");  // hidden: a rank keeps what --report shows
  c->add_option("--rank-result", s->rank_result)->group("");  // hidden: this process is a rank, and writes here
  c->callback([s] { demo(*s); });
}

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor", "Show what this machine has, and the fix for each problem")->callback([] {
    if (doctor() > 0) throw CLI::RuntimeError(1);
  });
}

void add_launch(CLI::App& app) {
  struct Options {
    int count = 2;
    int64_t timeout = 0;
    std::vector<std::string> command;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c =
      app.add_subcommand("launch", "Run a program as several ranks: tandem launch -n 2 -- program args");
  c->add_option("-n,--ranks", o->count, "Processes to start")->capture_default_str()->check(CLI::Range(1, 1024));
  c->add_option("--timeout", o->timeout, "Seconds that the whole job may take; 0: any number")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(0), int64_t(1) << 31));
  c->add_option("command", o->command, "The program and its arguments")->required();
  c->callback([o] {
    RankOptions options;
    options.timeout = std::chrono::seconds(o->timeout);
    const int status = run_processes(o->count, o->command, options);
    if (status != 0) throw CLI::RuntimeError(status);
  });
}

void add_simulate(CLI::App& app) {
  auto s = std::make_shared<SimulateSettings>();
  CLI::App* const c =
      app.add_subcommand("simulate", "Predict DDP and DataParallel steps on a cluster that a JSON file describes");
  CLI::Option* const file = c->add_option("cluster", s->cluster, "The file, as docs/simulate.md describes it");
  c->add_option("--json", s->json, "Write the predictions")->needs(file);
  CLI::Option* const check =
      c->add_option("--check-skill", s->check_skill,
                    "Show instead how well the model predicts recorded times: those of a folder with such files as "
                    "benchmarks/data/ddp_times has, which is the one unless named")
          ->expected(0, 1)
          ->excludes(file);
  CLI::Option* const published =
      c->add_option("--published", s->published,
                    "Show instead measurements that others published, and predictions beside them: those of a file, "
                    "which is benchmarks/data/published_points.json unless named")
          ->expected(0, 1)
          ->excludes(file)
          ->excludes(check);
  c->callback([s, file, check, published] {
    if (file->count() + check->count() + published->count() == 0)
      throw CLI::RequiredError("cluster, --check-skill or --published");
    if (published->count() > 0 && s->published.empty()) s->published = "benchmarks/data/published_points.json";
    if (check->count() > 0 && s->check_skill.empty()) s->check_skill = "benchmarks/data/ddp_times";
    simulate(*s);
  });
}

#if TANDEM_HAS_BENCHMARKS
void add_bench(CLI::App& app, std::vector<std::string> command_line) {
  struct Options : benchmarks::Settings {
    std::string markdown;
    bool list = false;
  };
  auto s = std::make_shared<Options>();
  CLI::App* const c = app.add_subcommand("bench", "Time operations and training steps, here and in peers");
  c->add_option("--filter", s->filter, "Only benchmarks whose name contains this, or one of these parted by commas");
  c->add_flag("--list", s->list, "Print the benchmarks' names");
  c->add_option("--repeats", s->repeats, "Samples of each benchmark")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  c->add_option("--seconds", s->seconds, "How long a sample should take")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 3600.0));
  c->add_option("--threads", s->threads, "Threads of every program; all usable cores unless given")
      ->check(CLI::Range(1, 1024));
  c->add_option("--device", s->device, "cpu, or cuda: on the first GPU")->capture_default_str();
  c->add_option("--precision", s->precision, "Of float32 products on a GPU: highest, high (TF32)")
      ->capture_default_str();
  c->add_option("--case", s->cases,
                "A benchmark with shapes of your own: \"clone/forward 134217728\"; may be repeated");
  CLI::Option* const peers =
      c->add_option("--peers", s->peers, "Peers to run interleaved, parted by commas; all unless named")
          ->delimiter(',')
          ->expected(0, -1);
  c->add_option("--baseline", s->baseline,
                "Another build of Tandem (its folder, or its program tandem) to compare with; fails where an overhead "
                "row has become slower by 5 %")
      ->excludes(peers);
  c->add_option("--json", s->json, "Write every sample, the machine and the settings");
  c->add_option("--markdown", s->markdown, "Print a table of a file that --json wrote, and run nothing");
  c->callback([s, peers, command_line = std::move(command_line)] {
    if (s->list) return list_benchmarks();
    if (!s->markdown.empty()) {
      std::printf("%s", benchmarks::markdown(s->markdown, s->filter).c_str());
      return;
    }
    if (peers->count() > 0 && (s->peers.empty() || s->peers[0].empty())) s->peers = benchmarks::peer_names(s->device);
    if (bench(*s, command_line) > 0) throw CLI::RuntimeError(1);
  });
}
#endif

int run(int argc, char** argv) {
  CLI::App app("Tandem: a tensor and autograd engine");
  app.require_subcommand(1);
  add_demo(app, {argv, argv + argc});
  add_doctor(app);
  add_launch(app);
  add_simulate(app);
  add_compare(app, {argv, argv + argc});
#if TANDEM_HAS_BENCHMARKS
  add_bench(app, {argv, argv + argc});
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tandem::tools

int main(int argc, char** argv) {
  const int status = tandem::tools::run(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout) return status;
  std::fprintf(stderr, "tandem: cannot write to the standard output: %s\n", std::strerror(errno));
  return 1;
}
