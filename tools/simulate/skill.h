// Evaluates how well the cost model predicts times that it was not fitted to, compared with simple baselines.
#pragma once
#include <string>
#include <vector>

#include "tandem/tools/simulate/gpt_model.h"

namespace tandem::simulate {

/// Statistics of |predicted / recorded - 1| over some rows.
struct Errors {
  double median = 0, mean = 0, largest = 0;
  size_t rows = 0;
};
/// A held-out part of the rows, and the errors of the model and of three baselines on it.
struct HeldOut {
  std::string what;
  Errors model, flops, nearest, constant;
  double inside_interval = 0;  ///< fraction of these rows in the model's 90 % interval; 0 if not computed
};
/// Errors of one predictor of all-reduces. `large`: only all-reduces of at least 64 MiB.
struct AllReduceErrors {
  std::string what;
  Errors all, large;
};
/// The extra time of a step on n GPUs compared with two, at equal work per GPU.
struct Overhead {
  int hidden = 0, layers = 0, gpus = 0;
  double recorded = 0, predicted = 0, low = 0, high = 0;  ///< seconds; low and high bound the 90 % interval
  double of_step_least = 0, of_step_most = 0;             ///< recorded, as fractions of the step on two GPUs
};
/// Results of check_skill.
struct Skill {
  std::vector<HeldOut> held_out;  ///< errors by held-out depth, width, number of GPUs and batch size
  std::vector<Overhead> overheads;
  /// Errors on all-reduces over numbers of GPUs that the ring was not fitted to.
  std::vector<AllReduceErrors> all_reduces;
  double calibrated_least = 0,
         calibrated_most = 0;  ///< range of the larger width's median error over the choices of the calibrating row
  /// Variation, in seconds, over batch sizes, of the recorded difference between two numbers of GPUs. In measured
  /// times, noise makes this milliseconds; zero means that the rows were computed as sums of fewer figures.
  double additivity = 0;
  size_t distinct = 0;  ///< number of figures that all rows are sums of, if additivity is zero
  GptModel model;       ///< fitted to the rows of the least width
};
/// Fits the model to a part of the recorded times, and predicts the rest.
/// @param folder     holds a100_data_parallel.csv and a100_all_reduce.csv. @throws Error if it does not
/// @param intervals  whether to compute `inside_interval`, which needs about five times as many fits
Skill check_skill(const std::string& folder, bool intervals = true);
/// Formats tables with explanations.
std::string as_text(const Skill& skill);

}  // namespace tandem::simulate
