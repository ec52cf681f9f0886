// Implements the shared parts of the commands that train.
#include "tandem/tools/training_job.h"

#include <memory>
#include <optional>

#include "tandem/core/device.h"
#include "tandem/logs/metrics_writer.h"
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::tools {

bool is_printing_process() { return !distributed::is_launched() || distributed::get_node_local_rank(0) == 0; }

int64_t resolve_num_devices(int64_t devices, const std::string& strategy, const std::string& device) {
  if (devices > 0) return devices;
  if (strategy == "single") return 1;
  const int gpus = device_count(kCUDA);
  return device != "cpu" && gpus > 0 ? gpus : 2;
}

train::Logger make_json_logger(const std::string& path, bool append) {
  const auto writer = std::make_shared<std::optional<logs::MetricsWriter>>();  // shared by copies of the logger
  return [path, append, writer](int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
    if (!*writer) writer->emplace(path, append);
    (*writer)->add(step, metrics);
  };
}

}  // namespace tandem::tools
