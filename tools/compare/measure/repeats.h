// Measures the modes of all models in turn, repeatedly, until the verdict is settled or the time is up.
#pragma once
#include <functional>

#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/measure/progress.h"

namespace tandem::tools::compare {

/// One row of the results table, with its settings and measurements.
struct Row {
  Mode mode;
  Job job;
  Run run;
  std::vector<double> steps;  // seconds of each measured step, over all repeats
};

using Stop = std::function<bool()>;

/// Calls `f`. If `f` throws, stores the message in row.run.failed, so that the other modes still run. Ignores errors
/// after Ctrl-C.
template <class F> void run_and_record_error(Row& row, const Stop& stop, const F& f) {
  if (!row.run.failed.empty() || stop()) return;
  try {
    f();
  } catch (const std::exception& error) {
    if (!stop()) row.run.failed = error.what();
  }
}

/// Returns the numbers 0 to n - 1 in an order that depends on the seed and on the repeat.
std::vector<size_t> shuffled_order(size_t n, uint64_t seed, int repeat);
/// Returns the number of samples that measure_repeats() takes at first. It may add more, which it tells `progress`.
int64_t count_samples(const Settings& s, const std::vector<Row>& rows);
/// Takes a sample of each row of each model in every repeat, in a shuffled order, so that a drift of the machine's
/// speed affects all rows alike. Fills run.repeats and `steps`. Unless s.repeats sets the number of repeats, ends for
/// each model when its verdict is settled, at the latest after four times the repeats that it needs, or when
/// s.time_limit is over. Rows of weak scaling then get only as many repeats as an interval by itself needs.
/// @param steps  number of measured steps in each sample, by model
std::vector<Repeats> measure_repeats(const Settings& s, std::vector<std::vector<Row>>& models,
                                     const std::vector<int>& steps, Progress& progress, const Stop& stop);
/// Fills in each row's percentiles, throughput and speedup. @param looks  see compare_modes()
void compute_statistics(std::vector<Row>& rows, int looks);

}  // namespace tandem::tools::compare
