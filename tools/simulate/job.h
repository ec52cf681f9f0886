// Reads the input of `tandem simulate`: a cluster and a training step in a JSON file, described in docs/simulate.md.
#pragma once
#include <string>

#include "tandem/tools/simulate/scaling.h"

namespace tandem::simulate {

/// A cluster, a training step, and the predictions to make.
struct Job {
  std::string name;
  Cluster cluster;
  StepProfile step;
  Modes modes;
  std::vector<int> devices;  ///< numbers of devices to predict for
  double global_batch = 0;   ///< samples per step in strong scaling
};
/// Reads a job from a JSON file. @throws Error if the file cannot be read or is no JSON, if a key is unknown or
/// missing, or if a value is invalid. The message names the file, the key, its value and the accepted values.
Job read_job(const std::string& path);
/// Parses a job from JSON text. @param path  the file's name, for messages
Job parse_job(const std::string& text, const std::string& path);

}  // namespace tandem::simulate
