// Implements list_transfers(): lists the bytes that were transferred, with the bytes that the formulas of
// docs/course.md predict.
#include <algorithm>
#include <map>
#include <numeric>

#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/measure/batches.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {
namespace {

using Kind = TraceEvent::Kind;

/// Returns the size of a buffer that holds tensors of these sizes, each aligned to `align` bytes.
int64_t padded_bytes(const std::vector<int64_t>& bytes, int64_t align) {
  int64_t sum = 0;
  for (const int64_t b : bytes) sum += (b + align - 1) / align * align;
  return sum;
}

/// Name and formula of one kind of transfer under DataParallel.
struct TransferKind {
  std::string name, formula;
  int64_t bytes = 0;  // bytes to or from one device, according to the formula
};
TransferKind classify_transfer(const std::string& phase, bool backward, const Mode& mode, const Job& job, int device,
                               const RankSample& rank) {
  constexpr int64_t kFlat = 64 * 4;
  const ExampleSizes sizes = example_sizes(job.model);
  const int64_t rows = job.batch * (device + 1) / job.devices - job.batch * device / job.devices;
  if (phase == "replicate") return {"parameters and buffers to the replicas", "P + buffers", rank.flat_bytes};
  if (phase == "reduce") return {"gradients of the parameters to the first device", "P", rank.flat_parameter_bytes};
  if (phase == "scatter" && !backward)
    return {mode.loss_in_replicas ? "inputs and targets" : "inputs", "rows n_r x bytes of a row",
            rows * (sizes.input_bytes() + (mode.loss_in_replicas ? sizes.target_bytes() : 0))};
  // Losses, weights and their gradients are scalars, each of which occupies 64 elements of a flat buffer.
  if (mode.loss_in_replicas)
    return {backward ? "gradients of the loss" : "sums and weights of the loss", backward ? "1 number" : "2 numbers",
            backward ? kFlat : 2 * kFlat};
  return {backward ? "gradients of the outputs" : "outputs",
          "rows n_r x " + page::format_integer(sizes.outputs) + " outputs", rows * sizes.output_bytes()};
}

std::vector<TransferTotals> list_dp_transfers(const Mode& mode, const Job& job, const RankSample& rank) {
  std::map<std::pair<std::string, std::string>, TransferTotals> by_kind;
  for (const TraceEvent& e : rank.events) {
    if (e.kind != Kind::transfer || e.start < rank.steps.front().start || e.end > rank.steps.back().end) continue;
    const bool backward = std::any_of(rank.events.begin(), rank.events.end(), [&](const TraceEvent& p) {
      return p.kind == Kind::phase && p.name == "backward" && p.thread == e.thread && p.start <= e.start &&
             p.end >= e.end;
    });
    const int other = std::max(e.device.index(), e.to.index());
    const TransferKind what = classify_transfer(e.name, backward, mode, job, other, rank);
    TransferTotals& row = by_kind[{what.name, e.device.str() + " -> " + e.to.str()}];
    row.what = what.name;
    row.link = e.device.str() + " -> " + e.to.str();
    row.formula = what.formula;
    row.formula_bytes = what.bytes;
    ++row.count;
    row.bytes += e.bytes;
  }
  const auto steps = static_cast<int64_t>(rank.steps.size());
  std::vector<TransferTotals> rows;
  for (auto& [kind, row] : by_kind) {
    row.count /= steps;
    row.bytes /= steps;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Returns the transfers of DDP: the total bytes that the ranks sent in collectives.
std::vector<TransferTotals> list_ddp_transfers(const Job& job, const Sample& sample) {
  const RankSample& first = sample.ranks.at(0);
  const auto steps = static_cast<int64_t>(first.steps.size());
  TransferTotals row;
  row.what = "all-reduce of the gradients, buffers of rank 0";
  row.link = "between all ranks";
  for (const RankSample& rank : sample.ranks) row.bytes += rank.bytes_moved;
  row.bytes /= steps;
  for (const TraceEvent& e : first.events)
    if (e.kind == Kind::communication && e.start >= first.steps.front().start && e.end <= first.steps.back().end)
      ++row.count;
  row.count /= steps;
  // Bytes: kAlign is the alignment of each gradient in its bucket, kFlag the size of the flag that says which
  // parameters were used.
  constexpr int64_t kAlign = 16, kFlag = 4;
  const int64_t gradients = padded_bytes(first.parameter_bytes, kAlign) + kFlag;
  const int64_t buffers = std::accumulate(first.buffer_bytes.begin(), first.buffer_bytes.end(), int64_t{0});
  row.formula = "2 (n - 1) P + (n - 1) buffers";
  row.formula_bytes = (job.devices - 1) * (2 * gradients + buffers);
  return {row};
}

}  // namespace

std::vector<TransferTotals> list_transfers(const Mode& mode, const Job& job, const Sample& sample) {
  if (mode.kind == Mode::Kind::single) return {};
  return mode.kind == Mode::Kind::data_parallel ? list_dp_transfers(mode, job, sample.ranks.at(0))
                                                : list_ddp_transfers(job, sample);
}

}  // namespace tandem::tools::compare
