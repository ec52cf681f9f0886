// Formats the results of `tandem explain` as text and as JSON.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/tools/explain/explain.h"

namespace tandem::tools::explain {
namespace {

std::string format_number(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return "inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}
template <class... Parts> std::string format_line(const char* format, const Parts&... parts) {
  char text[512];
  std::snprintf(text, sizeof text, format, parts...);
  return text;
}
std::string join_words(const std::vector<std::string>& words) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) all += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return all;
}
std::vector<std::string> list_present_causes(const Explanation& e, bool is_inherent) {
  std::vector<std::string> names;
  for (const Cause& c : e.causes)
    if (c.is_present && c.is_inherent == is_inherent) names.push_back(c.name);
  return names;
}

/// Returns the first step and operation that differ: "step 5, conv2d". If no operation differs, names the parameter
/// instead. Returns "" if all is equal.
std::string describe_first_difference(const Comparison& c) {
  if (c.equal()) return "";
  const std::string op = c.op.substr(0, c.op.find(','));
  return "step " + std::to_string(c.step) + ", " + (op.empty() ? c.parameter : op);
}

std::string format_text(const Explanation& e) {
  std::string out = "\n" + e.mode + "\n";
  const auto steps = [](const Script& script) {
    return std::to_string(script.steps) + " steps of " + std::to_string(script.global_batch) + " examples";
  };
  out += "  one device: " + steps(e.one_device) + format_line(", loss %.6g\n", e.loss_on_one_device);
  out += "  parallel script: " + steps(e.yours) + format_line(", loss %.6g\n", e.your_loss);
  if (e.difference.equal()) {
    out += "  their parameters have the same bits\n";
  } else {
    out += "  parameters differ by " + format_number(e.difference.parameters) + " at most (" +
           e.difference.largest_difference_parameter + "), the loss by " + format_number(e.difference.loss) +
           "; first in step " + std::to_string(e.difference.step) + " (" + e.difference.parameter + ")\n";
  }
  const auto row = [&](const std::string& name, const std::string& yours, const std::string& parameters,
                       const std::string& loss, const std::string& first, const std::string& left_difference) {
    out += format_line("  %-18s %-34s %-8s %-8s %-26s %s\n", name.c_str(), yours.c_str(), parameters.c_str(),
                       loss.c_str(), first.c_str(), left_difference.c_str());
  };
  out += "\n";
  row("", "", "effect", "alone", "", "left when");
  row("cause", "in the parallel script", "weights", "loss", "first seen in", "off");
  for (const Cause& c : e.causes) {
    const std::string yours = c.yours.empty() ? "no" : c.yours + (c.is_present ? "" : ": no effect");
    row(c.name, yours, c.is_present ? format_number(c.isolated_difference.parameters) : "-",
        c.is_present ? format_number(c.isolated_difference.loss) : "-",
        describe_first_difference(c.isolated_difference), format_number(c.remaining_difference));
  }
  const std::vector<std::string> script = list_present_causes(e, false), mode = list_present_causes(e, true);
  out += "\n";
  out += script.empty() ? "  Nothing in the parallel script makes them differ.\n"
                        : "  The parallel script differs in: " + join_words(script) + ".\n";
  if (!mode.empty()) out += "  Inherent in the mode: " + join_words(mode) + ".\n";
  if (e.equal)
    out += "  With all of these off, the two are equal to the last bit, in every parameter after every step.\n";
  else
    out += "  NOT EXPLAINED: with all of these off the two still differ, first at " + e.unexplained_op + ".\n";
  for (const bool is_inherent : {false, true}) {
    if (list_present_causes(e, is_inherent).empty()) continue;
    out += is_inherent ? "\n  How to make one device match the mode (or the mode match one device):\n"
                       : "\n  What to change:\n";
    for (const Cause& c : e.causes)
      if (c.is_present && c.is_inherent == is_inherent)
        out += format_line("    %-18s %s\n", c.name.c_str(), c.remedy.c_str());
  }
  return out;
}

nlohmann::json finite_or_null(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }
nlohmann::json as_json(const Comparison& c) {
  return {{"largest_parameter_difference", finite_or_null(c.parameters)},
          {"largest_in", c.largest_difference_parameter},
          {"loss_difference", finite_or_null(c.loss)},
          {"first_step", c.step},
          {"first_parameter", c.parameter},
          {"first_op", c.op}};
}
nlohmann::json as_json(const Script& script, double loss) {
  return {{"steps", script.steps},
          {"global_batch", script.global_batch},
          {"lr", script.lr},
          {"loss", finite_or_null(loss)}};
}

}  // namespace

std::string format_text(const Settings& s, const std::vector<Explanation>& all) {
  std::string out = s.model + ", " + (s.data.empty() ? "random images" : s.data) + ", " +
                    std::to_string(all.empty() ? 0 : all[0].one_device.examples) + " examples, " +
                    std::to_string(s.epochs) + " epochs, " + s.optimizer + "\n";
  for (const Explanation& e : all) out += format_text(e);
  return out;
}

std::string format_json(const Settings& s, const std::vector<Explanation>& all) {
  nlohmann::json modes = nlohmann::json::array();
  for (const Explanation& e : all) {
    nlohmann::json causes = nlohmann::json::array();
    for (const Cause& c : e.causes)
      causes.push_back({{"name", c.name},
                        {"of_mode", c.is_inherent},
                        {"present", c.is_present},
                        {"yours", c.yours},
                        {"alone", as_json(c.isolated_difference)},
                        {"left", finite_or_null(c.remaining_difference)},
                        {"remedy", c.remedy}});
    modes.push_back({{"mode", e.mode},
                     {"one_device", as_json(e.one_device, e.loss_on_one_device)},
                     {"yours", as_json(e.yours, e.your_loss)},
                     {"difference", as_json(e.difference)},
                     {"causes", causes},
                     {"equal", e.equal},
                     {"unexplained", e.unexplained_op}});
  }
  const nlohmann::json json = {{"model", s.model}, {"ranks", s.ranks},         {"batch", s.batch}, {"epochs", s.epochs},
                               {"seed", s.seed},   {"optimizer", s.optimizer}, {"modes", modes}};
  return json.dump(2) + "\n";
}

}  // namespace tandem::tools::explain
