// Medians, percentiles and intervals of repeated measurements.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Returns the p-quantile (p from 0 to 1) of `values`, which need not be sorted, with linear interpolation. Returns 0
/// if there are no values.
double percentile(std::vector<double> values, double p);
/// Returns the median and a confidence interval whose ends are two of the values. With 6 or more values, the interval
/// contains the true median with a probability of at least 95 %, for any distribution of the noise. With fewer values,
/// it extends from the smallest to the largest.
Interval interval_of(std::vector<double> values);

}  // namespace tandem::tools::compare
