// The output of `tandem simulate`: tables, and the same numbers as JSON. docs/simulate.md describes the keys of the
// JSON.
#pragma once
#include <vector>

#include "tandem/tools/simulate/job.h"

namespace tandem::simulate {

/// All predictions of a job.
struct Predictions {
  std::vector<ScalingRow> weak, strong;
  BucketSweep buckets;
  int bucket_devices = 0;  ///< number of devices of `buckets`: the largest of the job
};
/// Computes all predictions of a job. @throws Error if the job is invalid
Predictions predict(const Job& job);
/// Formats the predictions as tables, with units in the column headings.
std::string as_text(const Job& job, const Predictions& predictions);
/// Formats the predictions as JSON, with a newline at the end.
std::string as_json(const Job& job, const Predictions& predictions);

}  // namespace tandem::simulate
