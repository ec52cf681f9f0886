// The options of `tandem compare` and of what it can do with reports that are there already.
#include "tandem/tools/compare/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>

#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/diff.h"
#include "tandem/tools/compare/report.h"
#include "tandem/tools/whole_file.h"

namespace tandem::tools {
namespace {

/// What reads reports ends with 2 where it cannot: 1 says that there is a regression.
constexpr int kUnusable = 2;
template <class Body> void with_reports(Body body) {
  try {
    body();
  } catch (const CLI::Error&) {
    throw;  // a status of its own
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    throw CLI::RuntimeError(kUnusable);
  }
}

void add_page(CLI::App& parent) {
  struct Options {
    std::string report, out;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand("page", "Make the page of a report.json again");
  c->add_option("report", o->report, "A report.json of `tandem compare`")->required();
  c->add_option("--out", o->out, "The page; beside the report, under its name with .html, unless given");
  c->callback([o] {
    with_reports([&] {
      const std::filesystem::path beside = std::filesystem::path(o->report).replace_extension(".html");
      const std::string out = o->out.empty() ? beside.string() : o->out;
      write_whole_file("compare", out, compare::html(compare::read_report(o->report)));
      std::printf("%s\n", out.c_str());
    });
  });
}

void add_diff(CLI::App& parent) {
  struct Options {
    std::string before, after;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand(
      "diff", "Compare two reports run by run; fails if one is slower, moves more, needs more memory or disagrees");
  c->add_option("before", o->before, "A report.json")->required();
  c->add_option("after", o->after, "Another one, whose regressions are looked for")->required();
  c->callback([o] {
    with_reports([&] {
      const compare::Difference difference = diff(compare::read_report(o->before), compare::read_report(o->after));
      std::printf("%s", difference.text.c_str());
      if (difference.regressions > 0) throw CLI::RuntimeError(1);
    });
  });
}

}  // namespace

void add_compare(CLI::App& app, std::vector<std::string> command_line) {
  struct Options : compare::Settings {
    std::string rank_result, rank_mode;  // not empty: this process is a rank of that mode, and writes its figures there
    compare::Job rank;
    std::vector<int> rank_steps = {2, 5};
    double rank_bucket_mib = 25;
  };
  auto s = std::make_shared<Options>();
  s->command_line = std::move(command_line);
  CLI::App* const c = app.add_subcommand(
      "compare", "Measure one device, DataParallel and DistributedDataParallel on one job, and write a report");
  c->require_subcommand(0, 1);
  add_page(*c);
  add_diff(*c);
  c->add_option("--model", s->models, "mlp, lenet, fashion_cnn; several with commas between")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"mlp", "lenet", "fashion_cnn"}));
  c->add_option("--mode", s->modes, "dp, dp_persistent, dp_loss, ddp_local, ddp_local_naive, ...; all unless named")
      ->delimiter(',');
  c->add_option("--backend", s->backends, "Of DDP: local, gloo, nccl; all that are possible unless named")
      ->delimiter(',')
      ->check(CLI::IsMember({"local", "gloo", "nccl"}));
  c->add_option("--devices", s->devices, "How many devices or ranks; several with commas between")
      ->capture_default_str()
      ->delimiter(',');
  c->add_option("--device", s->device, "cpu or cuda; GPUs where there are several unless given")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  c->add_option("--batch-size", s->batch, "Examples per step, over all devices")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  c->add_option("--data", s->data, "Folder that holds FashionMNIST's four IDX files, plain or .gz");
  c->add_option("--out", s->out, "Folder of the report")->capture_default_str();
  c->add_option("--repeats", s->repeats, "Samples of each mode; intervals of 95 % need 6")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  c->add_option("--seconds", s->sample_seconds, "How long a sample of one device takes")
      ->capture_default_str()
      ->check(CLI::Range(1e-3, 3600.0));
  c->add_option("--threads", s->threads, "Threads of all devices together; all usable cores unless given")
      ->check(CLI::Range(1, 1024));
  c->add_option("--seed", s->seed, "Of initial values and dropout")->capture_default_str();
  c->add_flag("--quick", s->quick, "2 devices and short samples: a minute");
  c->add_option("--profile", s->profile,
                "A cluster file of `tandem simulate`: its step is projected onto 2 to 1,024 devices, in place of "
                "ResNet-50 on V100s");
  c->add_option("--plant", s->planted,
                "Plant a fault on purpose, to see the report find it: compute:RANK:SECONDS, input:SECONDS, "
                "slow:RANK:FACTOR, link:RANK:SECONDS, memory:RANK:BYTES:PHASE, fail:RANK");
  // Hidden: this process is a rank, started by tandem compare.
  c->add_option("--rank-result", s->rank_result)->group("");
  c->add_option("--rank-data", s->rank.data)->group("");
  c->add_option("--rank-steps", s->rank_steps)->delimiter(',')->expected(2)->group("");
  c->add_option("--rank-bucket-mib", s->rank_bucket_mib)->group("");
  c->add_flag("--rank-trace", s->rank.trace)->group("");
  c->add_flag("--rank-plain", s->rank.plain)->group("");
  c->add_flag("--rank-fingerprints", s->rank.fingerprints)->group("");
  c->add_flag("--rank-probe", s->rank.probe)->group("");
  c->callback([s, c] {
    if (!c->get_subcommands().empty()) return;  // it has done all
    if (s->rank_result.empty()) {
      if (const int status = compare::compare(*s); status != 0) throw CLI::RuntimeError(status);
      return;
    }
    compare::Job job = s->rank;
    job.model = s->models.at(0), job.device = s->device, job.devices = s->devices.at(0), job.batch = s->batch;
    job.seed = s->seed, job.threads = s->threads, job.planted = compare::parse_planted(s->planted);
    job.warmup = s->rank_steps[0], job.steps = s->rank_steps[1];
    compare::Mode mode = compare::mode_of(s->modes.at(0));
    mode.bucket_mib = s->rank_bucket_mib;
    compare::run_rank_process(s->rank_result, mode, job);
  });
}

}  // namespace tandem::tools
