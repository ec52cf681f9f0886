// `tandem simulate`: reads the description of a cluster and a training step, and prints predictions. Can also check the
// model against recorded times.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tandem/core/error.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/simulate/published.h"
#include "tandem/tools/simulate/report.h"
#include "tandem/tools/simulate/skill.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {

void simulate(const SimulateSettings& settings) {
  if (!settings.check_skill.empty()) {
    const auto skill = rethrow_as_usage_error([&] { return simulate::check_skill(settings.check_skill); });
    std::printf("%s", simulate::as_text(skill).c_str());
    return;
  }
  if (!settings.published.empty()) {
    const auto published = rethrow_as_usage_error([&] { return simulate::read_published(settings.published); });
    std::printf("%s", simulate::as_text(published).c_str());
    return;
  }
  if (settings.example) {
    const std::string path = simulate::data_path("cluster_example.json");
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    TANDEM_CHECK(file, "simulate: cannot read the installed example ", path, ": ", std::strerror(errno));
    std::printf("%s", text.str().c_str());
    return;
  }
  check_can_write("--json", settings.json);
  const simulate::Job job = rethrow_as_usage_error([&] { return simulate::read_job(settings.cluster); });
  const simulate::Predictions predictions = simulate::predict(job);
  std::printf("%s", simulate::as_text(job, predictions).c_str());
  if (!settings.json.empty()) write_file_atomically("simulate", settings.json, simulate::as_json(job, predictions));
}

}  // namespace tandem::tools
