// Medians, percentiles and intervals of repeated measurements.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Probability with which a 95 % interval may miss its true value.
inline constexpr double kSignificanceLevel = 0.05;

/// Returns the mean of `values`, 0 if there are none.
double mean(const std::vector<double>& values);
/// Returns the p-quantile (p from 0 to 1) of `values`, which need not be sorted, with linear interpolation. Returns 0
/// if there are no values.
double percentile(std::vector<double> values, double p);
/// Returns the number of values that compute_confidence_interval() needs: with fewer, even the interval from the
/// smallest value to the largest one misses the true median with a larger probability than `error`.
int min_num_values(double error = kSignificanceLevel);
/// Returns the median and a confidence interval whose ends are two of the values. The interval misses the true median
/// with a probability of at most `error`, for any distribution of the noise, if the values are independent. With fewer
/// than min_num_values(error) values there is no interval.
Interval compute_confidence_interval(std::vector<double> values, double error = kSignificanceLevel);

}  // namespace tandem::tools::compare
