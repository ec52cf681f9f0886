// `tandem simulate`: reads a cluster and a step, predicts, and shows what came of it; or checks the model.
#include <cstdio>

#include "tandem/tools/commands.h"
#include "tandem/tools/simulate/published.h"
#include "tandem/tools/simulate/report.h"
#include "tandem/tools/simulate/skill.h"
#include "tandem/tools/whole_file.h"

namespace tandem::tools {

void simulate(const SimulateSettings& settings) {
  if (!settings.check_skill.empty()) {
    std::printf("%s", simulate::as_text(simulate::check_skill(settings.check_skill)).c_str());
    return;
  }
  if (!settings.published.empty()) {
    std::printf("%s", simulate::as_text(simulate::read_published(settings.published)).c_str());
    return;
  }
  const simulate::Job job = simulate::read_job(settings.cluster);
  const simulate::Predictions predictions = simulate::predict(job);
  if (!settings.json.empty()) write_whole_file("simulate", settings.json, simulate::as_json(job, predictions));
  std::printf("%s", simulate::as_text(job, predictions).c_str());
}

}  // namespace tandem::tools
