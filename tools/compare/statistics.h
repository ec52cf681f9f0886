// Medians, percentiles and intervals of repeated measurements.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Returns the quantile p (0 to 1) of values in any order, with linear interpolation; 0 if there are no values.
double percentile(std::vector<double> values, double p);
/// Returns the median and an interval between two of the values. With 6 or more values, the interval holds the true
/// median with a probability of at least 95 %, for any distribution of the noise. With fewer values, it reaches from
/// the smallest to the largest.
Interval interval_of(std::vector<double> values);

}  // namespace tandem::tools::compare
