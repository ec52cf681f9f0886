// Tests `tandem compare` with bert and gpt: bytes, agreement with the reference, and the excess memory of the first
// device by cause.
#include <cmath>

#include "tandem/models/models.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/tools/compare_jobs.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/excess.h"
#include "tandem/tools/compare/measure/batches.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::compare;

namespace {

/// One traced step of a language model, after one that creates the optimizer's state.
Job language_job(const std::string& model, int devices, int64_t batch) {
  Job job = small_job(devices, model);
  job.batch = batch, job.warmup = 1, job.steps = 1;
  return job;
}

/// Returns the run of a traced sample, with its memory.
Run memory_of(const Mode& mode, const Job& job, const Sample& sample) {
  Run run;
  run.model = job.model, run.mode = mode.key, run.devices = job.devices, run.batch = job.batch;
  for (const RankSample& rank : sample.ranks)
    run.memory.insert(run.memory.end(), rank.memory.begin(), rank.memory.end());
  return run;
}

int64_t sum_causes(const FirstDeviceExcess& excess) {
  int64_t sum = 0;
  for (const auto& [cause, bytes] : excess.by_cause) sum += bytes;
  return sum;
}

int64_t number_of_parameters(const nn::Module& module) {
  int64_t n = 0;
  for (const Tensor& p : module.parameters()) n += p.numel();
  return n;
}

}  // namespace

TEST_CASE("bert's first device exceeds the others by Adam's state, and the parts add up", "[compare]") {
  const Mode mode = find_mode("dp");
  const Job job = language_job("bert", 4, 128);
  const Sample sample = run_sample(mode, job);
  const FirstDeviceExcess excess = compute_first_device_excess(memory_of(mode, job, sample)).value();
  const RankSample& rank = sample.ranks.at(0);
  // The allocator's own peaks, which are counted apart from the record of allocations.
  const int64_t measured =
      rank.allocator_peaks.at(0) - *std::max_element(rank.allocator_peaks.begin() + 1, rank.allocator_peaks.end());
  for (const auto& [cause, bytes] : excess.by_cause) UNSCOPED_INFO(cause << " " << bytes);
  CAPTURE(measured);
  CHECK(std::abs(sum_causes(excess) - measured) <= measured / 100);
  CHECK(excess.bytes == measured);
  const ExampleSizes sizes = example_sizes("bert");
  const PredictedExcess predicted = predict_first_device_excess(
      number_of_parameters(*tools::Net("bert")), sizes.outputs, sizes.input_bytes(), job.batch, job.devices);
  CHECK(std::abs(excess.by_cause.at("optimizer") - predicted.optimizer) <= predicted.optimizer / 100);
  CHECK(excess.by_cause.at("optimizer") > excess.bytes / 2);
  CHECK(excess.by_cause.at("outputs") < excess.bytes / 100);
  CHECK_THAT(explain_first_device_excess(excess), Contains("The optimizer's state is the largest part"));
  CHECK(lanes_of(mode, job, sample).at(0).phases.count("gather") == 1);
}

TEST_CASE("the loss in the replicas frees gpt's first device from the outputs and their gradients", "[compare]") {
  const Job job = language_job("gpt", 4, 8);
  const ExampleSizes sizes = example_sizes("gpt");
  const PredictedExcess predicted = predict_first_device_excess(number_of_parameters(*tools::Net("gpt")), sizes.outputs,
                                                                sizes.input_bytes(), job.batch, job.devices);
  CHECK(predicted.outputs == int64_t{32} << 20);
  CHECK(predicted.gradients == int64_t{32} << 20);
  std::vector<FirstDeviceExcess> excess;
  for (const char* const key : {"dp", "dp_loss"}) {
    const Mode mode = find_mode(key);
    const Sample sample = run_sample(mode, job);
    excess.push_back(compute_first_device_excess(memory_of(mode, job, sample)).value());
    const std::vector<int64_t>& peaks = sample.ranks.at(0).allocator_peaks;
    CHECK(excess.back().bytes == peaks.at(0) - *std::max_element(peaks.begin() + 1, peaks.end()));
    CHECK(sum_causes(excess.back()) == excess.back().bytes);
    for (const auto& [cause, bytes] : excess.back().by_cause) UNSCOPED_INFO(key << " " << cause << " " << bytes);
  }
  // The other devices, too, hold gradients of their rows of the outputs at their peaks, in all modes.
  const int64_t own_rows = predicted.gradients / job.devices;
  const int64_t outputs = excess[0].by_cause.at("outputs"), left = excess[1].by_cause["outputs"];
  for (const auto& [cause, bytes] : excess[0].by_cause) UNSCOPED_INFO("dp " << cause << " " << bytes);
  CHECK(outputs >= predicted.outputs + predicted.gradients - own_rows);
  CHECK(left <= outputs / 20);
  // The optimizer's state remains, and hardly anything else.
  CHECK(excess[1].bytes - predicted.optimizer <= (excess[0].bytes - predicted.optimizer) / 20);
  CHECK_THAT(explain_first_device_excess(excess[1]), Contains("The optimizer's state is the largest part"));
  CHECK_THAT(explain_first_device_excess(excess[0]), Contains("Outputs are the largest part"));
}

TEST_CASE("bytes of bert and gpt equal their formulas, and memory by cause is the allocator's", "[compare]") {
  for (const char* const model : {"bert", "gpt"})
    for (const char* const key : {"single", "dp", "dp_loss", "ddp_local"}) {
      CAPTURE(key, model);
      const Mode mode = find_mode(key);
      Job job = language_job(model, mode.kind == Mode::Kind::single ? 1 : 3, 6);
      job.warmup = 2;  // DDP's ranks agree on the order of the buckets in the second step
      const Sample sample = run_sample(mode, job);
      for (const TransferTotals& row : list_transfers(mode, job, sample)) {
        CAPTURE(row.what, row.link);
        CHECK(row.bytes == row.formula_bytes);
        CHECK(row.bytes > 0);
      }
      for (const RankSample& rank : sample.ranks) {
        for (const double loss : rank.losses) CHECK(std::isfinite(loss));
        for (size_t i = 0; i < rank.memory.size(); ++i) CHECK(rank.memory[i].peak == rank.allocator_peaks.at(i));
      }
    }
}

TEST_CASE("bert and gpt train as their references on one device, to the bit", "[compare]") {
  for (const char* const model : {"bert", "gpt"})
    for (const char* const key : {"dp", "dp_loss", "ddp_local"}) {
      CAPTURE(key, model);
      Job job = language_job(model, 2, 4);
      job.trace = false, job.for_reference_comparison = true, job.warmup = 0, job.steps = 2;
      const RankSample mine = run_sample(find_mode(key), job).ranks.at(0),
                       reference = run_reference(find_mode(key), job);
      REQUIRE(mine.parameters.size() > 1000000);
      CHECK(mine.parameters == reference.parameters);
      // The reference adds the losses of the shards in another order.
      for (size_t i = 0; i < mine.losses.size(); ++i)
        if (mine.losses.size() == reference.losses.size() && std::string(key) != "ddp_local")
          CHECK_THAT(mine.losses[i], Catch::Matchers::WithinRel(reference.losses[i], 1e-5));
    }
}

TEST_CASE("gpt's targets are the tokens that follow, and its loss is GptModel's", "[compare]") {
  const Job job = language_job("gpt", 1, 2);
  const data::Example<> batch = Batches(job, 0, 1).get(0);
  const int64_t length = batch.data.size(1);
  CHECK(batch.data.narrow(1, 1, length - 1).equal(batch.target.narrow(1, 0, length - 1)));
  CHECK(batch.target.select(1, length - 1).select(0, 0).item<int64_t>() == batch.data[1][0].item<int64_t>());
  tools::Net net("gpt");
  net->eval();
  const NoGradGuard no_grad;
  // GptModel::loss() does not use the prediction at the last position; label -100 leaves it out here, too.
  Tensor target = batch.target.clone();
  target.select(1, length - 1).fill_(-100);
  auto& gpt = dynamic_cast<models::GptModelImpl&>(net->network());
  CHECK_THAT(net->loss(net(batch.data), target).item<double>(),
             Catch::Matchers::WithinRel(gpt.loss(batch.data, batch.data).item<double>(), 1e-6));
}

TEST_CASE("BERT-base by the formulas: 1,536 bytes of outputs, and Adam's state of 835 MiB", "[compare]") {
  // 109,482,240 parameters of bert-base-uncased with its pooler, and a classifier of 768 x 3 weights and 3 biases.
  constexpr int64_t kParameters = 109482240 + 768 * 3 + 3;
  const PredictedExcess excess = predict_first_device_excess(kParameters, 3, 128 * 8, 128, 4);
  CHECK(excess.outputs == 1536);
  CHECK(excess.gradients == 1536);
  CHECK(excess.batch == 96 * 128 * 8);
  CHECK(excess.optimizer == 875876376);
  CHECK(std::lround(static_cast<double>(excess.optimizer) / (1 << 20)) == 835);
  // bert-base-cased, whose vocabulary has 28,996 tokens instead of 30,522.
  const PredictedExcess cased = predict_first_device_excess(kParameters - (30522 - 28996) * 768, 3, 128 * 8, 128, 4);
  CHECK(std::lround(static_cast<double>(cased.optimizer) / (1 << 20)) == 826);
  CHECK_THAT(describe_full_size("bert"), Contains("835 MiB of Adam's state, 1.50 KiB of outputs"));
  CHECK_THAT(describe_full_size("gpt"), Contains("GPT-2"));
  CHECK(describe_full_size("mlp").empty());
}

TEST_CASE("the excess of the first device is explained by its largest cause", "[compare]") {
  Run run;
  run.mode = "dp", run.devices = 3;
  const auto memory = [](std::map<std::string, int64_t> at_peak) {
    Memory m;
    for (const auto& [cause, bytes] : at_peak) m.peak += bytes;
    m.at_peak = std::move(at_peak);
    return m;
  };
  constexpr int64_t kMib = 1 << 20;
  run.memory = {memory({{"parameters", 4 * kMib}, {"optimizer", 6 * kMib}, {"outputs", kMib}, {"activations", kMib}}),
                memory({{"replicas", 2 * kMib}}), memory({{"replicas", 4 * kMib}, {"activations", 2 * kMib}})};
  const FirstDeviceExcess excess = compute_first_device_excess(run).value();
  CHECK(excess.bytes == 6 * kMib);
  CHECK(excess.by_cause == std::map<std::string, int64_t>{
                               {"activations", -kMib}, {"optimizer", 6 * kMib}, {"outputs", kMib}, {"parameters", 0}});
  CHECK_THAT(explain_first_device_excess(excess),
             Contains("6.00 MiB of the optimizer's state, 1.00 MiB of outputs and their gradients and -1.00 MiB of "
                      "activations. The optimizer's state"));
  run.mode = "ddp_local";
  CHECK(!compute_first_device_excess(run));
  run.mode = "dp", run.memory.resize(1);
  CHECK(!compute_first_device_excess(run));
  CHECK(explain_first_device_excess({-1, {{"optimizer", -1}}}).empty());
}
