// Medians, percentiles and intervals of repeated measurements.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Of values in any order; p from 0 to 1, between two values the line through them. 0 of none.
double percentile(std::vector<double> values, double p);
/// The median with the interval between two of the values that holds the true median with a probability of at least
/// 95 %, whatever the noise's distribution: from 6 values on. Of fewer it is from the smallest to the largest.
Interval interval_of(std::vector<double> values);

}  // namespace tandem::tools::compare
