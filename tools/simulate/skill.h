// Evaluates how well the cost model predicts times to which it was not fitted, compared with simple baselines.
#pragma once
#include <string>
#include <vector>

#include "tandem/tools/simulate/gpt_model.h"

namespace tandem::simulate {

/// Statistics of |predicted / recorded - 1| over some rows.
struct ErrorStatistics {
  double median = 0, mean = 0, largest = 0;
  size_t rows = 0;
};
/// Errors of the model and of three baselines on a set of recorded steps that were left out of the fit.
struct HeldOutErrors {
  std::string what;
  ErrorStatistics model, flops, nearest, constant;
  double interval_coverage = 0;  ///< fraction of the left-out steps in the model's 90 % interval; 0 if not computed
};
/// Errors of one predictor of all-reduce times: over all sizes, and over sizes of at least 64 MiB (`large`).
struct AllReduceErrors {
  std::string what;
  ErrorStatistics all, large;
};
/// Additional time of a step on `num_gpus` GPUs compared with two GPUs, with the same work per GPU.
struct Overhead {
  int hidden_size = 0, num_layers = 0, num_gpus = 0;
  double recorded = 0, predicted = 0, low = 0, high = 0;  ///< seconds; low and high bound the 90 % interval
  double min_step_fraction = 0, max_step_fraction = 0;    ///< range of recorded time / time of the step on two GPUs
};
/// Results of check_skill.
struct Skill {
  /// Errors on each subset of the recorded steps that was left out of the fit: one depth, width, number of GPUs or
  /// batch size.
  std::vector<HeldOutErrors> held_out;
  std::vector<Overhead> overheads;
  /// Errors on all-reduces over numbers of GPUs to which the ring was not fitted.
  std::vector<AllReduceErrors> all_reduces;
  /// Smallest and largest median error on recorded steps of larger widths, after the model was calibrated with one of
  /// these steps. Each step was used for calibration in turn, and then judged on the steps with another micro-batch.
  double min_calibrated_error = 0, max_calibrated_error = 0;
  /// Largest variation over batch sizes, in seconds, of the recorded difference between the step times on two numbers
  /// of GPUs. In real measurements, noise makes this some milliseconds. Zero means that the recorded times are not
  /// measurements but sums of fewer numbers.
  double additivity = 0;
  size_t num_distinct = 0;  ///< if additivity is zero: how many numbers the recorded times are sums of
  GptTimeModel model;       ///< model fitted to the rows with the smallest width
};
/// Fits the model to a part of the recorded times, and predicts the rest.
/// @param folder     contains a100_data_parallel.csv and a100_all_reduce.csv. @throws Error if it does not
/// @param intervals  whether to compute `interval_coverage`, which requires about five times as many fits
Skill check_skill(const std::string& folder, bool intervals = true);
/// Formats tables with explanations.
std::string as_text(const Skill& skill);

}  // namespace tandem::simulate
