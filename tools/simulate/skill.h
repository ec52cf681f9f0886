// How well the cost model predicts times that it was not fitted to, beside simple baselines.
#pragma once
#include <string>
#include <vector>

#include "tandem/tools/simulate/gpt_model.h"

namespace tandem::simulate {

/// |predicted / recorded - 1| over some rows.
struct Errors {
  double median = 0, mean = 0, largest = 0;
  size_t rows = 0;
};
/// A part of the rows that was held out, and the errors of the model and of three baselines on it.
struct HeldOut {
  std::string what;
  Errors model, flops, nearest, constant;
  double inside_interval = 0;  ///< the part of these rows in the model's 90 % interval, if it was asked for
};
/// Errors of one way to predict all-reduces; `large`: of those from 64 MiB on.
struct AllReduceErrors {
  std::string what;
  Errors all, large;
};
/// How much longer a step takes on n GPUs than on two, each with the same work.
struct Overhead {
  int hidden = 0, layers = 0, gpus = 0;
  double recorded = 0, predicted = 0, low = 0, high = 0;  ///< seconds; low and high bound the 90 % interval
  double of_step_least = 0, of_step_most = 0;             ///< recorded, as a part of the step on two GPUs
};
/// Everything that check_skill finds.
struct Skill {
  std::vector<HeldOut> held_out;  ///< depths, width, numbers of GPUs and batch sizes
  std::vector<Overhead> overheads;
  /// All-reduces of numbers of GPUs that the ring was not fitted to.
  std::vector<AllReduceErrors> all_reduces;
  double calibrated_least = 0,
         calibrated_most = 0;  ///< median errors of the width, over all rows that may calibrate it
  /// How far the recorded difference between two numbers of GPUs varies over batch sizes, in seconds. A clock's noise
  /// makes this milliseconds; zero says that the rows were put together from fewer figures.
  double additivity = 0;
  size_t distinct = 0;  ///< figures that all rows are sums of, where additivity is zero
  GptModel model;       ///< fitted to the rows of the least width
};
/// @param folder     has a100_data_parallel.csv and a100_all_reduce.csv. @throws Error where it does not
/// @param intervals  whether to find `inside_interval` too, for which the model is fitted five times as often
Skill check_skill(const std::string& folder, bool intervals = true);
/// Tables and what they mean, in words.
std::string as_text(const Skill& skill);

}  // namespace tandem::simulate
