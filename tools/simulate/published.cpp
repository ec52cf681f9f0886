// Implements read_published, which reads published measurements from JSON and predicts them, as_text, which prints
// measurements and predictions, and data_path, which finds the data files.
#include "tandem/tools/simulate/published.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/core/error.h"
#include "tandem/tools/simulate/job.h"
#include "tandem/tools/simulate/text.h"

namespace tandem::simulate {
namespace {

using Json = nlohmann::json;

/// Predicts the efficiency of DDP on each number of devices, divided by its efficiency on `relative_to` devices.
std::vector<double> predict(Job job, const std::vector<int>& devices, int relative_to) {
  job.devices = devices;
  job.devices.push_back(relative_to);
  const std::vector<ScalingRow> rows = predict_weak(job.step, job.cluster, job.devices, job.modes);
  std::vector<double> found;
  found.reserve(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) found.push_back(rows[i].ddp_efficiency / rows.back().ddp_efficiency);
  return found;
}

Published read_entry(const Json& json, const std::string& place) {
  Published entry;
  entry.what = json.at("what").get<std::string>();
  entry.source = json.at("source").get<std::string>();
  entry.unit = json.at("unit").get<std::string>();
  entry.labels = json.at("labels").get<std::vector<std::string>>();
  entry.values = json.at("values").get<std::vector<double>>();
  if (json.contains("devices")) entry.devices = json.at("devices").get<std::vector<int>>();
  TANDEM_CHECK(entry.labels.size() == entry.values.size() &&
                   (entry.devices.empty() || entry.devices.size() == entry.values.size()),
               "simulate: ", place, " has ", entry.labels.size(), " labels, ", entry.values.size(), " values and ",
               entry.devices.size(), " devices; accepted: the same number of each, or no devices");
  if (json.contains("predict")) {
    TANDEM_CHECK(!entry.devices.empty(), "simulate: ", place,
                 " has the key \"predict\" but not \"devices\"; accepted: the number of devices of each value");
    entry.predicted = predict(parse_job(json.at("predict").dump(), place + ".predict"), entry.devices,
                              json.value("relative_to_devices", 1));
  } else {
    entry.not_predicted = json.at("not_predicted").get<std::string>();
  }
  return entry;
}

}  // namespace

std::vector<Published> read_published(const std::string& path) {
  TANDEM_CHECK(!std::filesystem::is_directory(path), "simulate: ", path, " is a folder; accepted: a JSON file");
  std::ifstream in(path);
  TANDEM_CHECK(in, "simulate: cannot read ", path, ": ", std::strerror(errno));
  std::vector<Published> all;
  std::string place = path;
  try {
    const Json json = Json::parse(in);
    TANDEM_CHECK(json.is_array(), "simulate: ", path, " is not a list; accepted: a list of published series");
    for (size_t i = 0; i < json.size(); ++i) {
      place = path + "[" + std::to_string(i) + "]";
      all.push_back(read_entry(json[i], place));
    }
  } catch (const Json::exception& error) {
    TANDEM_FAIL("simulate: ", place, ": ", error.what());
  }
  return all;
}

std::string as_text(const std::vector<Published>& all) {
  std::string text = "Published figures, and what the cost model says from the inputs that benchmarks/data states\n";
  for (const Published& p : all) {
    append_printf(text, "\n%s (%s)\n  source: %s\n", p.what.c_str(), p.unit.c_str(), p.source.c_str());
    for (size_t i = 0; i < p.values.size(); ++i) {
      append_printf(text, "  %-24s %9.4g", p.labels[i].c_str(), p.values[i]);
      if (!p.predicted.empty())
        append_printf(text, "   predicted %7.4g   off by %+.1f %%", p.predicted[i],
                      100 * (p.predicted[i] / p.values[i] - 1));
      append_printf(text, "\n");
    }
    if (!p.not_predicted.empty()) append_printf(text, "  not predicted: %s\n", p.not_predicted.c_str());
  }
  return text;
}

std::string data_path(const std::string& name) {
  std::error_code unknown;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path installed = command.parent_path() / TANDEM_DATA_FROM_COMMAND / name;
  if (std::filesystem::exists(installed, unknown)) return installed.string();
  return TANDEM_SOURCE_FOLDER "/benchmarks/data/" + name;
}

}  // namespace tandem::simulate
