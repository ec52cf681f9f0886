// Implements measure_repeats(): shuffled repeats, and the rule that ends them.
#include "tandem/tools/compare/measure/repeats.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tandem/core/trace/tracer.h"
#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

bool is_weak_scaling(const Row& row) { return row.run.scaling == "weak"; }
bool has_fixed_num_repeats(const Settings& s) { return s.repeats > 0; }
/// Returns the number of times at which the results may end the measurement: as soon as there are enough repeats for
/// intervals, and at the end. A quick measurement never ends early, so the number is 1.
int count_looks(const Settings& s) { return has_fixed_num_repeats(s) || s.quick ? 1 : 2; }
/// Returns the number of repeats after which the results are looked at for the first time.
int num_repeats_before_first_look(const Settings& s, const std::vector<Row>& rows) {
  if (has_fixed_num_repeats(s)) return s.repeats;
  const auto strong = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !is_weak_scaling(row); });
  return min_num_repeats(static_cast<int>(strong) - 1, count_looks(s));
}
bool is_measured_in_repeat(const Settings& s, const Row& row, int repeat) {
  return has_fixed_num_repeats(s) || !is_weak_scaling(row) || repeat < min_num_values();
}
int64_t count_samples(const Settings& s, const std::vector<Row>& rows, int repeat) {
  return std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return is_measured_in_repeat(s, row, repeat); });
}

Comparison compare_strong_rows(const std::vector<Row>& rows, int looks) {
  std::vector<const Run*> runs;
  for (const Row& row : rows)
    if (!is_weak_scaling(row)) runs.push_back(&row.run);
  return compare_modes(runs, looks);
}

void take_sample(Row& row, int steps, const Stop& stop) {
  row.job.warmup = 2;
  row.job.steps = steps;
  run_and_record_error(row, stop, [&] {
    const std::vector<double> times = run_sample(row.mode, row.job).seconds();
    row.run.repeats.push_back(std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size()));
    row.steps.insert(row.steps.end(), times.begin(), times.end());
  });
}

/// Returns the row's speedups over its baseline, by repeat: over the run on one device, with all cores and the same
/// batch.
std::vector<double> compute_speedups(const Row& row, const std::vector<Row>& rows) {
  std::vector<double> out;
  for (const Row& single : rows) {
    if (single.mode.kind != Mode::Kind::single || single.job.batch != row.job.batch ||
        single.run.scaling != row.run.scaling)
      continue;
    for (size_t i = 0; i < std::min(row.run.repeats.size(), single.run.repeats.size()); ++i)
      out.push_back(single.run.repeats[i] / row.run.repeats[i]);
    break;
  }
  return out;
}

/// Returns why a model's measurement ends after `repeats` repeats; "" if it goes on.
/// @param seconds  time since the start at which the next repeat would end
std::string get_stop_reason(const Settings& s, const std::vector<Row>& rows, int repeats, double seconds) {
  const int looks = count_looks(s), first = num_repeats_before_first_look(s, rows),
            most = looks == 1 ? first : 4 * first;
  const bool is_look = looks > 1 && (repeats == first || repeats == most);
  if (is_look && compare_strong_rows(rows, looks).is_conclusive()) return "settled";
  if (repeats == most) return has_fixed_num_repeats(s) ? "as asked" : looks == 1 ? "as needed" : "most";
  return !has_fixed_num_repeats(s) && seconds > s.time_limit ? "time up" : "";
}

}  // namespace

std::vector<size_t> shuffled_order(size_t n, uint64_t seed, int repeat) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::seed_seq seeds{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(repeat)};
  std::mt19937_64 random(seeds);
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

int64_t count_samples(const Settings& s, const std::vector<Row>& rows) {
  int64_t samples = 0;
  for (int repeat = 0; repeat < num_repeats_before_first_look(s, rows); ++repeat)
    samples += count_samples(s, rows, repeat);
  return samples;
}

std::vector<Repeats> measure_repeats(const Settings& s, std::vector<std::vector<Row>>& models,
                                     const std::vector<int>& steps, Progress& progress, const Stop& stop) {
  const int looks = count_looks(s);
  const double start = trace_clock_seconds();
  std::vector<Repeats> out(models.size());
  std::vector<double> longest(models.size());  // seconds of each model's longest repeat
  for (int repeat = 0;; ++repeat) {
    bool measured = false;
    for (size_t m = 0; m < models.size(); ++m) {
      std::vector<Row>& rows = models[m];
      const double begin = trace_clock_seconds();
      if (out[m].ended.empty() && repeat > 0) {
        out[m].ended = stop() ? "interrupted" : get_stop_reason(s, rows, repeat, begin - start + longest[m]);
        if (!out[m].ended.empty())
          for (int missing = repeat; missing < num_repeats_before_first_look(s, rows); ++missing)
            progress.add_to_total(-count_samples(s, rows, missing));
      }
      if (!out[m].ended.empty() || stop()) continue;
      measured = true;
      if (repeat >= num_repeats_before_first_look(s, rows)) progress.add_to_total(count_samples(s, rows, repeat));
      for (const size_t i : shuffled_order(rows.size(), s.seed, repeat)) {
        if (stop()) break;
        if (!is_measured_in_repeat(s, rows[i], repeat)) continue;
        progress.begin_item(rows[i].run.model + ", " + rows[i].run.label);
        take_sample(rows[i], steps[m], stop);
      }
      longest[m] = std::max(longest[m], trace_clock_seconds() - begin);
    }
    if (!measured) break;
  }
  for (size_t m = 0; m < models.size(); ++m) {
    const Comparison comparison = compare_strong_rows(models[m], looks);
    out[m].model = models[m][0].run.model;
    out[m].done = comparison.n;
    out[m].needed = comparison.needed;
    out[m].looks = looks;
    if (out[m].ended.empty()) out[m].ended = "interrupted";
  }
  return out;
}

void compute_statistics(std::vector<Row>& rows, int looks) {
  const Comparison comparison = compare_strong_rows(rows, looks);
  for (Row& row : rows) {
    Run& run = row.run;
    run.p50 = percentile(row.steps, 0.5);
    run.p95 = percentile(row.steps, 0.95);
    std::vector<double> rates;
    for (const double seconds : run.repeats) rates.push_back(static_cast<double>(run.batch) / seconds);
    run.examples_per_second = compute_confidence_interval(std::move(rates));
    const bool compared = std::find(comparison.modes.begin(), comparison.modes.end(), &run) != comparison.modes.end();
    run.speedup = compared ? comparison.speedup(&run) : compute_confidence_interval(compute_speedups(row, rows));
  }
}

}  // namespace tandem::tools::compare
