// The output of `tandem simulate`: tables, and the same figures as JSON. docs/simulate.md describes the JSON's keys.
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
/// Makes all predictions of a job. @throws Error if the job is impossible
Predictions predict(const Job& job);
/// Formats tables, with units in their headings.
std::string as_text(const Job& job, const Predictions& predictions);
/// Formats JSON, with a newline at its end.
std::string as_json(const Job& job, const Predictions& predictions);

}  // namespace tandem::simulate
