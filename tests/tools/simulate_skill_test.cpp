// Tests the cost model's predictions for measurements that it was not fitted to: within the bounds in docs/simulate.md,
// and with a statement where they do not hold.
#include <cmath>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/simulate/minimize.h"
#include "tandem/tools/simulate/skill.h"

using namespace tandem::test;
namespace sim = tandem::simulate;

namespace {

const std::string kTimes = std::string(kBenchmarkData) + "/ddp_times";

}  // namespace

TEST_CASE("held-out depths, widths and batch sizes are predicted within the stated bounds", "[simulate][figures]") {
  const sim::Skill skill = sim::check_skill(kTimes);
  REQUIRE(skill.held_out.size() == 8);
  for (const sim::HeldOutErrors& held : skill.held_out) {
    INFO(held.what);
    CHECK(held.model.median <= 0.08);
    if (held.what.find("layers") != std::string::npos) {
      CHECK(held.model.median <= 0.06);
      CHECK(held.model.mean <= 0.084);
    }
    CHECK(held.model.median < 0.5 * held.flops.median);  // counting FLOPs alone is the baseline to beat
    CHECK(held.model.median < held.constant.median);
  }
  CHECK(skill.held_out[0].what == "12 layers");
  CHECK(skill.max_calibrated_error <= 0.08);  // for every choice of the row that calibrates
  REQUIRE(skill.all_reduces.size() == 5);
  const sim::AllReduceErrors &ring = skill.all_reduces.front(), &nearest = skill.all_reduces.back();
  CHECK(ring.all.median < 0.06);
  CHECK(ring.large.median < 0.03);
  CHECK((ring.all.median < nearest.all.median && ring.large.median < nearest.large.median));
  // The fitted values are plausible for an A100: at most 312 TFLOP/s, memory of 1.6 to 2 TB/s, links of 300 GB/s.
  CHECK((skill.model.flops_per_second > 100e12 && skill.model.flops_per_second < 312e12));
  CHECK((skill.model.bandwidth > 0.5e12 && skill.model.bandwidth < 2e12));
  CHECK((skill.model.link.bandwidth > 150e9 && skill.model.link.bandwidth < 350e9));
}

TEST_CASE("the check says where the model has no skill, and that the rows repeat to the nanosecond",
          "[simulate][figures]") {
  const sim::Skill skill = sim::check_skill(kTimes);
  CHECK(skill.additivity < 1e-9);
  size_t negative = 0;
  for (const sim::Overhead& o : skill.overheads) {
    negative += o.recorded < 0;
    CHECK((o.low < o.predicted && o.predicted < o.high));
    if (o.hidden_size == 1024) {
      CHECK((o.low < o.recorded && o.recorded < o.high));
      CHECK(std::abs(o.predicted - o.recorded) < 0.25 * o.recorded);
    }
  }
  CHECK(negative == 2);
  const std::string text = sim::as_text(skill);
  CHECK_THAT(text, Contains("measured times would not repeat so exactly") &&
                       Contains("No skill: for \"4 and 8 GPUs\"") && Contains("No skill at hidden 2048") &&
                       Contains("Skill at hidden 1024"));
}

TEST_CASE("rows that a model makes give that model back, and noise on them is seen", "[simulate][figures]") {
  sim::GptTimeModel truth;
  truth.min_op_seconds = 20e-6;
  truth.flops_per_second = 150e12;
  truth.bandwidth = 1.1e12;
  truth.fixed_seconds_per_pass = 4e-3;
  truth.optimizer_seconds_per_parameter = 20e-12;
  truth.link = {6e-6, 200e9};
  std::vector<sim::GptRow> rows = sim::read_gpt_rows(kTimes + "/a100_data_parallel.csv");
  REQUIRE(rows.size() == 120);
  for (sim::GptRow& row : rows) row.seconds = truth.seconds(row);
  const sim::GptTimeModel found = sim::fit_gpt_time_model(rows, truth.link);
  CHECK(found.flops_per_second == Approx(truth.flops_per_second).epsilon(0.01));
  CHECK(found.bandwidth == Approx(truth.bandwidth).epsilon(0.01));
  CHECK(found.optimizer_seconds_per_parameter == Approx(truth.optimizer_seconds_per_parameter).epsilon(0.05));
  for (const sim::GptRow& row : rows) CHECK(found.seconds(row) == Approx(row.seconds).epsilon(0.005));

  const TemporaryFolder folder;
  write_file(folder / "a100_all_reduce.csv", read_file(kTimes + "/a100_all_reduce.csv"));
  std::string noisy = "gpus,global_batch,micro_batch,hidden,heads,layers,sequence,iteration_ms\r\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const sim::GptRow& r = rows[i];
    const double noise = 1 + 0.01 * std::sin(37.0 * static_cast<double>(i));
    for (const double value : {double(r.num_gpus), r.global_batch, r.micro_batch, double(r.hidden_size),
                               double(r.num_heads), double(r.num_layers), double(r.sequence_length)})
      noisy += std::to_string(value) + ",";
    noisy += std::to_string(1e3 * r.seconds * noise) + "\r\n";
  }
  write_file(folder / "a100_data_parallel.csv", noisy);
  const sim::Skill skill = sim::check_skill(folder.path());
  CHECK(skill.additivity > 1e-5);
  CHECK(skill.held_out[0].model.median < 0.02);
  CHECK(sim::as_text(skill).find("would not repeat") == std::string::npos);
}

TEST_CASE("a GPT's parameters and FLOPs are those that its papers count", "[simulate]") {
  sim::GptRow row;
  row.hidden_size = 1600, row.num_layers = 48, row.sequence_length = 1024, row.num_heads = 25, row.micro_batch = 1;
  // GPT-2 XL has 1.56e9 parameters, and shares one matrix between embedding and output. Here these are two matrices of
  // 51200 x 1600.
  CHECK(sim::gpt_num_parameters(row) - 51200.0 * 1600 == Approx(1.558e9).epsilon(0.005));
  // Six FLOPs per parameter and token (Kaplan et al. 2020); attention is added, the embedding is not counted.
  const double matrices = 12.0 * 1600 * 1600 * 48 + 51200.0 * 1600, attention = 12.0 * 48 * 1600 * 1024 * 1024;
  CHECK(sim::gpt_pass_flops(row) == Approx(6 * matrices * 1024 + attention));
}

TEST_CASE("a GPT's layer takes the time of its arithmetic, its bytes or its launches, whichever bounds it",
          "[simulate]") {
  sim::GptRow row;
  row.num_gpus = 1, row.hidden_size = 1024, row.num_layers = 3, row.sequence_length = 512, row.num_heads = 16;
  row.micro_batch = 2, row.global_batch = 8;
  constexpr double kMuch = 1e40, kPasses = 4;
  const double t = 2.0 * 512 * 1024, scores = 2.0 * 16 * 512 * 512, matrix = 1024.0 * 1024, logits = 2.0 * 512 * 51200;
  const auto seconds = [&](double min_op_seconds, double flops_per_second, double bandwidth) {
    sim::GptTimeModel model;
    model.min_op_seconds = min_op_seconds, model.flops_per_second = flops_per_second, model.bandwidth = bandwidth;
    model.link = {0, kMuch};
    return model.seconds(row) / kPasses;
  };
  CHECK(seconds(0, 1e12, kMuch) == Approx(sim::gpt_pass_flops(row) / 1e12));
  // Elements per layer. Each matrix product reads two operands and writes one, in forward and for each of two
  // gradients.
  const double products = 3 * ((t + 3 * t + 3 * matrix) + 2 * (2 * t + scores) + (2 * t + matrix) +
                               (t + 4 * t + 4 * matrix) + (4 * t + t + 4 * matrix));
  // Elements that the other ops read and write in forward; backward moves 1.5 times as many. A dropout mask counts
  // half. The ops are two layer norms, softmax, dropout, two sums with dropout, GELU.
  const double forward = 2 * (2 * t) + 2 * scores + 2.5 * scores + 2 * (3.5 * t) + 2 * (4 * t);
  const double elements = row.num_layers * (products + 2.5 * forward) + 10 * logits;
  CHECK(seconds(0, kMuch, 1e12) == Approx(2 * elements / 1e12));  // two bytes per element
  // Six products with two gradients each, and seven other ops with one gradient each.
  CHECK(seconds(1e-5, kMuch, kMuch) == Approx(row.num_layers * (3 * 6 + 2 * 7) * 1e-5));
}

TEST_CASE("the least value of Rosenbrock's function is found by its values", "[simulate]") {
  const auto f = [](const std::vector<double>& x) {
    return std::pow(1 - x[0], 2) + 100 * std::pow(x[1] - x[0] * x[0], 2);
  };
  const std::vector<double> found = sim::minimize(f, {-1.2, 1});
  CHECK(found[0] == Approx(1).epsilon(1e-6));
  CHECK(found[1] == Approx(1).epsilon(1e-6));
}

TEST_CASE("tandem simulate --check-skill names the file, the line and the field that it cannot read", "[simulate]") {
  const Result good = run_program(kCommand, {"simulate", "--check-skill", kTimes});
  INFO(good.output);
  CHECK(good.status == 0);
  CHECK_THAT(good.output, Contains("hidden 2048, calibrated by one row"));
  CHECK_THAT(run_program(kCommand, {"simulate", "--check-skill", "/nowhere"}).output,
             Contains("cannot read /nowhere/a100_data_parallel.csv: No such file"));
  CHECK(run_program(kCommand, {"simulate"}).status != 0);
  const TemporaryFolder folder;
  write_file(folder / "t.csv", "gpus,bytes,out_of_place_ns\n2,1024,5\n2,x,5\n");
  CHECK_THROWS_WITH(sim::read_all_reduces(folder / "t.csv"), Contains("line 3") && Contains("\"x\""));
  write_file(folder / "t.csv", "gpus,bytes,out_of_place_ns\n2,1024\n");
  CHECK_THROWS_WITH(sim::read_all_reduces(folder / "t.csv"), Contains("line 2 has 2 fields"));
  write_file(folder / "t.csv", "gpus,bytes\n");
  CHECK_THROWS_WITH(sim::read_all_reduces(folder / "t.csv"), Contains("no column out_of_place_ns"));
}
