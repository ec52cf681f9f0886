// What `tandem simulate` reads: a cluster and a training step, as a JSON file that docs/simulate.md describes.
#pragma once
#include <string>

#include "tandem/tools/simulate/scaling.h"

namespace tandem::simulate {

/// A cluster, a step, and what to predict of them.
struct Job {
  std::string name;
  Cluster cluster;
  StepProfile step;
  Modes modes;
  std::vector<int> devices;  ///< numbers of devices
  double global_batch = 0;   ///< of strong scaling
};
/// @throws Error that names the file, and the key, its value and what is accepted, for a file that cannot be read, is
/// no JSON, has keys that are not known, lacks one that is needed, or describes what cannot be
Job read_job(const std::string& path);
/// The same from the text of a file; `path` is for the messages.
Job parse_job(const std::string& text, const std::string& path);

}  // namespace tandem::simulate
