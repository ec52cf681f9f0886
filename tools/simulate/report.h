// What `tandem simulate` shows: tables for people, and the same as JSON. docs/simulate.md describes the JSON's keys.
#pragma once
#include <vector>

#include "tandem/tools/simulate/job.h"

namespace tandem::simulate {

/// All predictions of a job.
struct Predictions {
  std::vector<ScalingRow> weak, strong;
  BucketSweep buckets;
  int bucket_devices = 0;  ///< of how many devices the bucket sizes are: the largest number asked for
};
/// @throws Error where the job cannot be
Predictions predict(const Job& job);
/// Tables, with the units in their heads.
std::string as_text(const Job& job, const Predictions& predictions);
/// The JSON, with a line's end.
std::string as_json(const Job& job, const Predictions& predictions);

}  // namespace tandem::simulate
