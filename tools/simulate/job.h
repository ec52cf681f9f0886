// Reads the input of `tandem simulate`, a JSON file with a cluster and a training step. docs/simulate.md describes the
// format.
#pragma once
#include <string>

#include "tandem/tools/simulate/scaling.h"

namespace tandem::simulate {

/// A cluster, a training step, and the predictions to make.
struct Job {
  std::string name;
  Cluster cluster;
  StepProfile step;
  ModeOptions modes;
  std::vector<int> devices;  ///< numbers of devices for which to predict
  double global_batch = 0;   ///< samples per step over all devices, in strong scaling
};
/// Reads a job from a JSON file.
/// @throws Error if the file cannot be read or is not JSON, if a key is unknown or missing, or if a value is invalid.
/// The message names the file, the key, its value and the accepted values.
Job read_job(const std::string& path);
/// Parses a job from JSON text. @param path  name of the file, for error messages
Job parse_job(const std::string& text, const std::string& path);

}  // namespace tandem::simulate
