// Implements parse_job and read_job, which check the JSON key by key and name the key in every error.
#include "tandem/tools/simulate/job.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::simulate {
namespace {

using Json = nlohmann::json;

constexpr int kMaxJobDevices = 1 << 20, kMaxGroups = 100000;

/// Reads the keys of a JSON object. Records which keys it was asked for, and refuses the object if it has other keys.
class JsonObjectReader {
 public:
  JsonObjectReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    TANDEM_CHECK(json.is_object(), path_, " is ", short_json(json), "; accepted: an object");
  }
  bool has(const char* key) {
    known_keys_.insert(key);
    return json_.contains(key);
  }
  JsonObjectReader get_object(const char* key) {
    require_key(key, "an object");
    return {json_.at(key), path_ + "." + key};
  }
  const Json& get_any(const char* key) {
    require_key(key, "a value");
    return json_.at(key);
  }
  double get_number(const char* key, double min_value = 0, double max_value = INFINITY) {
    const std::string accepted = std::string("a number of ") + format_number(min_value) +
                                 (std::isinf(max_value) ? " or more" : " to " + format_number(max_value));
    require_key(key, accepted);
    const Json& value = json_.at(key);
    TANDEM_CHECK(value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= min_value &&
                     value.get<double>() <= max_value,
                 path_, ".", key, " is ", short_json(value), "; accepted: ", accepted);
    return value.get<double>();
  }
  double get_number_or(const char* key, double default_value, double min_value = 0, double max_value = INFINITY) {
    return has(key) ? get_number(key, min_value, max_value) : default_value;
  }
  double get_positive(const char* key) {
    const double value = get_number(key);
    TANDEM_CHECK(value > 0, path_, ".", key, " is ", value, "; accepted: a number above 0");
    return value;
  }
  int get_integer(const char* key, int min_value, int max_value) {
    const double value = get_number(key, min_value, max_value);
    TANDEM_CHECK(value == std::floor(value), path_, ".", key, " is ", value, "; accepted: a whole number of ",
                 min_value, " to ", max_value);
    return static_cast<int>(value);
  }
  bool get_bool_or(const char* key, bool default_value) {
    if (!has(key)) return default_value;
    TANDEM_CHECK(json_.at(key).is_boolean(), path_, ".", key, " is ", short_json(json_.at(key)),
                 "; accepted: true, false");
    return json_.at(key).get<bool>();
  }
  std::string get_string_or(const char* key, const std::string& default_value) {
    if (!has(key)) return default_value;
    TANDEM_CHECK(json_.at(key).is_string(), path_, ".", key, " is ", short_json(json_.at(key)), "; accepted: a string");
    return json_.at(key).get<std::string>();
  }
  void reject_unknown_keys() const {
    for (const auto& item : json_.items()) {
      std::string names;
      for (const std::string& name : known_keys_) names += (names.empty() ? "" : ", ") + name;
      TANDEM_CHECK(known_keys_.contains(item.key()), path_, " has the key \"", item.key(), "\"; accepted: ", names);
    }
  }
  const std::string& path() const { return path_; }

  static std::string short_json(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  }

 private:
  static std::string format_number(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
  }
  void require_key(const char* key, const std::string& accepted) {
    TANDEM_CHECK(has(key), path_, " lacks the key \"", key, "\"; accepted: ", accepted);
  }
  const Json& json_;
  std::string path_;
  std::set<std::string> known_keys_;
};

/// Calls `f`. If `f` throws an Error, puts `path`, the path of the JSON key, in front of the message.
template <class F> auto with_path_in_errors(const std::string& path, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    TANDEM_FAIL(path, ": ", error.what_without_backtrace());
  }
}

/// Reads a link, given as a name ("nvlink_a100"), as {"preset": "nvlink_a100", "efficiency": 0.8}, or as {"latency":
/// 6e-6, "bandwidth": 2e11}.
Link read_link(JsonObjectReader& parent, const char* key) {
  const std::string path = parent.path() + "." + key;
  const Json& value = parent.get_any(key);
  if (value.is_string()) return with_path_in_errors(path, [&] { return find_link(value.get<std::string>()); });
  TANDEM_CHECK(value.is_object(), path, " is ", JsonObjectReader::short_json(value),
               "; accepted: a link's name, or an object with latency and bandwidth, or with preset");
  JsonObjectReader o(value, path);
  Link link;
  if (o.has("preset")) {
    const std::string name = o.get_string_or("preset", "");
    const double efficiency = o.get_number_or("efficiency", kDefaultEfficiency, 0, 1);
    link = with_path_in_errors(path, [&] { return find_link(name, efficiency); });
  } else {
    link.latency = o.get_number("latency");
    link.bandwidth = o.get_positive("bandwidth");
    link.per_byte = o.get_number_or("per_byte", 0);
  }
  o.reject_unknown_keys();
  return link;
}

struct Device {
  double flops_per_second = 0, launch_seconds = 0;
};

Cluster read_cluster(JsonObjectReader o, Device& device) {
  Cluster cluster;
  cluster.devices_per_node = o.get_integer("devices_per_node", 1, kMaxJobDevices);
  cluster.intra_node_link = read_link(o, "inside");
  if (o.has("between")) cluster.inter_node_link = read_link(o, "between");
  cluster.inter_node_link_per_device = o.get_bool_or("between_per_device", false);
  if (o.has("device")) {
    JsonObjectReader d = o.get_object("device");
    device.flops_per_second = d.get_positive("flops_per_second");
    device.launch_seconds = d.get_number_or("launch_seconds", 0);
    d.reject_unknown_keys();
  }
  o.reject_unknown_keys();
  return cluster;
}

/// Reads the list of layers. If there is no list, splits the total number of parameters into equal groups.
std::vector<ParameterGroup> read_parameters(JsonObjectReader& o) {
  const double bytes = o.get_number_or("bytes_per_parameter", 4, 0.125, 64);
  if (!o.has("layers"))
    return even_groups(o.get_number("parameters", 1, 1e15) * bytes,
                       o.has("groups") ? o.get_integer("groups", 1, kMaxGroups) : 32);
  const Json& list = o.get_any("layers");
  TANDEM_CHECK(list.is_array() && !list.empty() && list.size() <= kMaxGroups, o.path(), ".layers is ",
               JsonObjectReader::short_json(list), "; accepted: a list of 1 to ", kMaxGroups,
               " objects with parameters and backward_share");
  std::vector<ParameterGroup> groups;
  groups.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObjectReader layer(list[i], o.path() + ".layers[" + std::to_string(i) + "]");
    layer.get_string_or("name", "");
    groups.push_back({layer.get_number("parameters", 0, 1e15) * bytes, layer.get_number_or("backward_share", 1)});
    layer.reject_unknown_keys();
  }
  return groups;
}

StepProfile read_step(JsonObjectReader o, const Device& device) {
  StepProfile step;
  step.samples = o.get_positive("samples");
  if (o.has("forward_flops_per_sample")) {
    TANDEM_CHECK(device.flops_per_second > 0, o.path(),
                 ".forward_flops_per_sample is given, and cluster.device.flops_per_second is not; accepted: both, or "
                 "forward_seconds and backward_seconds");
    // For each matrix product of the forward, the backward has two, one for the gradient of each operand.
    const double work = step.samples * o.get_positive("forward_flops_per_sample") / device.flops_per_second;
    step.forward_seconds = device.launch_seconds + work;
    step.backward_seconds = 2 * step.forward_seconds;
    step.fixed_fraction = device.launch_seconds / step.forward_seconds;
  } else {
    step.forward_seconds = o.get_positive("forward_seconds");
    step.backward_seconds = o.get_positive("backward_seconds");
    step.fixed_fraction = o.get_number_or("fixed_fraction", 0, 0, 1);
  }
  step.optimizer_seconds = o.get_number_or("optimizer_seconds", 0);
  step.parameters = read_parameters(o);
  step.input_bytes = o.get_number_or("input_bytes", 0);
  step.output_bytes = o.get_number_or("output_bytes", 0);
  step.loss_seconds = o.get_number_or("loss_seconds", 0);
  o.reject_unknown_keys();
  return step;
}

void read_ddp(JsonObjectReader o, ModeOptions& modes) {
  modes.ddp.all_reduce =
      with_path_in_errors(o.path(), [&] { return parse_all_reduce(o.get_string_or("all_reduce", "fastest")); });
  modes.bucket_bytes = o.get_number_or("bucket_mib", 25, 1e-3, 1e9) * (1 << 20);
  modes.ddp.first_bucket_bytes = o.get_number_or("first_bucket_mib", 1, 1e-3, 1e9) * (1 << 20);
  modes.ddp.overlap = o.get_bool_or("overlap", true);
  if (o.has("passes")) modes.ddp.passes = o.get_integer("passes", 1, 1 << 20);
  o.reject_unknown_keys();
}

void read_dp(JsonObjectReader o, DpOptions& dp) {
  const std::string broadcast = o.get_string_or("broadcast", "flat");
  TANDEM_CHECK(broadcast == "flat" || broadcast == "binomial" || broadcast == "chain", o.path(), ".broadcast is ",
               broadcast, "; accepted: flat, binomial, chain");
  dp.broadcast = broadcast == "flat"       ? Broadcast::flat
                 : broadcast == "binomial" ? Broadcast::binomial
                                           : Broadcast::chain;
  dp.persistent_replicas = o.get_bool_or("persistent_replicas", true);
  dp.replicate_seconds = o.get_number_or("replicate_seconds", 0);
  dp.loss_in_replicas = o.get_bool_or("loss_inside", false);
  dp.serial_launch = o.get_bool_or("serial_launch", false);
  o.reject_unknown_keys();
}

std::vector<int> read_devices(const Json& list, const std::string& path) {
  TANDEM_CHECK(list.is_array() && !list.empty() && list.size() <= 1000, path, " is ",
               JsonObjectReader::short_json(list), "; accepted: a list of 1 to 1000 device counts");
  std::vector<int> devices;
  devices.reserve(list.size());
  for (const Json& value : list) {
    TANDEM_CHECK(value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= kMaxJobDevices, path,
                 " has ", JsonObjectReader::short_json(value), "; accepted: device counts from 1 to ", kMaxJobDevices);
    devices.push_back(value.get<int>());
  }
  return devices;
}

Job job_from_json(const Json& json, const std::string& path) {
  JsonObjectReader o(json, path);
  Job job;
  job.name = o.get_string_or("name", std::filesystem::path(path).stem().string());
  o.has("comment");  // marks the key "comment" as known, so that it is accepted and ignored
  Device device;
  job.cluster = read_cluster(o.get_object("cluster"), device);
  job.step = read_step(o.get_object("step"), device);
  with_path_in_errors(path + ".step", [&] { check_profile(job.step); });
  if (o.has("ddp")) read_ddp(o.get_object("ddp"), job.modes);
  if (o.has("data_parallel")) read_dp(o.get_object("data_parallel"), job.modes.dp);
  job.devices = o.has("devices") ? read_devices(o.get_any("devices"), path + ".devices") : default_device_counts();
  job.global_batch =
      o.get_number_or("global_batch", std::max(1.0, job.step.samples * job.cluster.devices_per_node), 1, 1e15);
  o.reject_unknown_keys();
  const int max_value = *std::max_element(job.devices.begin(), job.devices.end());
  TANDEM_CHECK(max_value <= job.cluster.devices_per_node || job.cluster.inter_node_link.bandwidth > 0, path,
               ".cluster lacks the key \"between\", which ", max_value, " devices on nodes of ",
               job.cluster.devices_per_node, " need; accepted: a link, or fewer devices");
  return job;
}

}  // namespace

Job parse_job(const std::string& text, const std::string& path) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    TANDEM_FAIL("simulate: ", path, " is not valid JSON: ", error.what());
  }
  return with_path_in_errors("simulate", [&] { return job_from_json(json, path); });
}

Job read_job(const std::string& path) {
  TANDEM_CHECK(!std::filesystem::is_directory(path), "simulate: ", path, " is a folder; accepted: a JSON file");
  std::ifstream in(path);
  TANDEM_CHECK(in, "simulate: cannot read ", path, ": ", std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  return parse_job(text.str(), path);
}

}  // namespace tandem::simulate
