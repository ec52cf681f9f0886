// `tandem simulate`: reads a cluster and a step, predicts, and shows what came of it.
#include <cstdio>

#include "tandem/tools/commands.h"
#include "tandem/tools/simulate/report.h"
#include "tandem/tools/whole_file.h"

namespace tandem::tools {

void simulate(const SimulateSettings& settings) {
  const simulate::Job job = simulate::read_job(settings.cluster);
  const simulate::Predictions predictions = simulate::predict(job);
  if (!settings.json.empty()) write_whole_file("simulate", settings.json, simulate::as_json(job, predictions));
  std::printf("%s", simulate::as_text(job, predictions).c_str());
}

}  // namespace tandem::tools
