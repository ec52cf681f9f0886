// Declares the options of `tandem compare` and of its subcommands `page` and `diff`, which read existing reports.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "tandem/tools/atomic_file.h"
#include "tandem/tools/command_line.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/diff.h"
#include "tandem/tools/compare/report.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

/// Runs a subcommand that reads reports. Rethrows every error as UsageError (exit status 2), because exit status 1
/// means that a regression was found.
template <class Body> void run_report_command(Body body) {
  try {
    rethrow_as_usage_error(body);
  } catch (const CLI::Error&) {
    throw;  // errors of CLI11 carry their own exit status
  } catch (const std::exception& error) {
    throw UsageError(error.what());
  }
}

void add_page_command(CLI::App& parent) {
  struct Options {
    std::string report, out;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand("page", "Create the HTML page of a report.json again");
  add_option(*c, "REPORT", o->report, "REPORT", "A report.json of `tandem compare`")->required();
  add_option(*c, "--out", o->out, "FILE", "HTML file to write")->default_str("name of the report with .html");
  c->callback([o] {
    run_report_command([&] {
      const std::filesystem::path default_path = std::filesystem::path(o->report).replace_extension(".html");
      const std::string out = o->out.empty() ? default_path.string() : o->out;
      check_can_write("--out", out);
      write_file_atomically("compare", out, compare::render_html(compare::read_report(o->report)));
      std::printf("%s\n", out.c_str());
    });
  });
}

void add_diff_command(CLI::App& parent) {
  struct Options {
    std::string before, after;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand("diff",
                                            "Compare two reports run by run; fails if the second is slower, moves more "
                                            "bytes, needs more memory or differs from its reference");
  add_option(*c, "BEFORE", o->before, "BEFORE", "A report.json of `tandem compare`")->required();
  add_option(*c, "AFTER", o->after, "AFTER", "A newer report, which is checked for regressions")->required();
  c->callback([o] {
    run_report_command([&] {
      const compare::Difference difference = diff(compare::read_report(o->before), compare::read_report(o->after));
      std::printf("%s", difference.text.c_str());
      if (difference.num_regressions > 0) throw CLI::RuntimeError(1);
    });
  });
}

struct CompareOptions : compare::Settings {
  // If rank_result is not empty, this process is one rank of a measurement and writes its result into that folder.
  std::string rank_result;
  compare::Job rank;
  std::vector<int> rank_steps = {2, 5};
  double rank_bucket_mib = 25;
};
/// Adds the hidden options of the ranks' processes that `tandem compare` starts.
void add_rank_options(CLI::App& c, CompareOptions& s) {
  c.add_option("--rank-result", s.rank_result)->group("");
  c.add_option("--rank-data", s.rank.data)->group("");
  c.add_option("--rank-steps", s.rank_steps)->delimiter(',')->expected(2)->group("");
  c.add_option("--rank-bucket-mib", s.rank_bucket_mib)->group("");
  c.add_flag("--rank-trace", s.rank.trace)->group("");
  c.add_flag("--rank-plain", s.rank.for_reference_comparison)->group("");
  c.add_flag("--rank-fingerprints", s.rank.fingerprints)->group("");
  c.add_flag("--rank-probe", s.rank.probe)->group("");
}
/// Runs one rank of a measurement.
void measure_rank(const CompareOptions& s) {
  compare::Job job = s.rank;
  job.model = s.models.at(0);
  job.device = s.device;
  job.devices = s.devices.at(0);
  job.batch = s.batch;
  job.seed = s.seed;
  job.threads = s.threads;
  job.fault = compare::parse_fault(s.fault);
  job.warmup = s.rank_steps[0];
  job.steps = s.rank_steps[1];
  compare::Mode mode = compare::find_mode(s.modes.at(0));
  mode.bucket_mib = s.rank_bucket_mib;
  compare::run_rank_process(s.rank_result, mode, job);
}

}  // namespace

void add_compare_command(CLI::App& app, std::vector<std::string> command_line) {
  auto s = std::make_shared<CompareOptions>();
  s->command_line = std::move(command_line);
  CLI::App* const c = app.add_subcommand("compare",
                                         "Measure the same training job on one device, under DataParallel and under "
                                         "DistributedDataParallel, and write a report");
  c->require_subcommand(0, 1);
  add_page_command(*c);
  add_diff_command(*c);
  add_option(
      *c, "--model", s->models, "NAMES",
      "Networks to train, separated by commas: mlp, lenet and fashion_cnn (on images), bert and gpt (on random tokens; "
      "gpt is meant for --batch-size 8)")
      ->delimiter(',')
      ->check(make_choice_validator({"mlp", "lenet", "fashion_cnn", "bert", "gpt"}));
  add_option(
      *c, "--mode", s->modes, "NAMES",
      "Modes to measure, separated by commas: dp, dp_persistent and dp_loss (DataParallel), ddp_local, ddp_gloo and "
      "ddp_nccl (DistributedDataParallel), and these three with the suffix _naive (one bucket for each parameter). "
      "One device is always measured too")
      ->default_str("all that this machine can run")
      ->delimiter(',');
  add_option(*c, "--backend", s->backends, "NAMES",
             "Backends of DistributedDataParallel, separated by commas: local, gloo, nccl")
      ->default_str("all that this machine can run")
      ->delimiter(',')
      ->check(make_choice_validator({"local", "gloo", "nccl"}));
  add_option(*c, "--devices", s->devices, "NUMBERS", "Numbers of devices or ranks, separated by commas")
      ->delimiter(',')
      ->check(make_integer_validator(0, 1 << 20));
  add_option(*c, "--device", s->device, "NAME", "Device to compute on: cpu or cuda")
      ->default_str("cuda if there are several GPUs, else cpu")
      ->check(make_choice_validator({"cpu", "cuda"}));
  add_option(*c, "--batch-size", s->batch, "N", "Batch size: examples per step, summed over all devices")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(*c, "--data", s->data, "FOLDER", "Folder with the four IDX files of FashionMNIST, plain or .gz")
      ->default_str("/usr/share/datasets/fashion-mnist");
  add_option(*c, "--out", s->out, "FOLDER", "Folder to write the report to");
  add_option(*c, "--repeats", s->repeats, "N",
             "Number of samples of each mode; the verdict on 7 modes needs 9, on 18 modes 10")
      ->default_str("until the verdict is settled or --time-limit is reached; with --quick, what the verdict needs")
      ->check(make_integer_validator(1, 1000));
  add_option(*c, "--time-limit", s->time_limit, "SECONDS",
             "Time after which no further repeat begins, summed over all networks; not for --repeats")
      ->default_str("300, with --quick 40")
      ->check(make_number_validator(1e-3, 1e6));
  add_option(*c, "--seconds", s->sample_seconds, "SECONDS", "Target duration of a sample on one device")
      ->check(make_number_validator(1e-3, 3600.0));
  add_option(*c, "--threads", s->threads, "N", "Number of threads, summed over all devices")
      ->default_str("all usable cores")
      ->check(make_integer_validator(1, 1024));
  add_option(*c, "--seed", s->seed, "N", "Seed of the initial weights and of dropout")
      ->check(make_integer_validator(0));
  c->add_flag("--quick", s->quick, "Measure only 2 devices with short samples; takes about a minute");
  add_option(*c, "--profile", s->profile, "FILE",
             "Cluster file of `tandem simulate`; the report predicts its training step on 2 to 1,024 devices")
      ->default_str("ResNet-50 on V100 GPUs");
  add_option(*c, "--plant", s->fault, "FAULT",
             "Inject a fault to check that the report finds it: compute:RANK:SECONDS, input:SECONDS, slow:RANK:FACTOR, "
             "link:RANK:SECONDS, memory:RANK:BYTES:PHASE or fail:RANK");
  c->footer("example: tandem compare --quick --out my_report");
  add_rank_options(*c, *s);
  c->callback([s, c] {
    // The subcommand (page or diff) has already run in its own callback.
    if (!c->get_subcommands().empty()) return;
    if (s->rank_result.empty()) {
      if (const int status = compare::compare(*s); status != 0) throw CLI::RuntimeError(status);
      return;
    }
    measure_rank(*s);
  });
}

}  // namespace tandem::tools
