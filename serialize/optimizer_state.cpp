// Implements Optimizer::save and load, and the conversion of options and state between Tandem's optimizers and Python's
// state_dict.
#include "tandem/serialize/optimizer_state.h"

#include <cstdio>
#include <set>

#include "tandem/optim/adam.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"

namespace tandem {
namespace detail {
namespace {

using optim::Optimizer;
using optim::OptimizerParamGroup;

/// Two settings of Tandem's optimizers that are one tuple in Python, such as betas.
struct TupleSetting {
  const char *name, *first_setting, *second_setting;
};
constexpr TupleSetting kTupleSettings[] = {
    {"betas", "beta1", "beta2"}, {"etas", "etaminus", "etaplus"}, {"step_sizes", "step_size_min", "step_size_max"}};
// Name of a bool setting of LBFGS; in Python, line_search_fn has this value or is None
constexpr char kStrongWolfe[] = "strong_wolfe";
constexpr char kSettingPrefix[] = "options.";  // prefix of names of settings in safetensors metadata

/// Returns whether a setting is a count. Python requires an int for these settings; Tandem stores a double.
bool is_count_setting(const std::string& name) {
  return name == "max_iter" || name == "max_eval" || name == "history_size";
}

std::string format_double(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", value);  // enough for any double
  return digits;
}

/// Returns the number that a value holds. The value may also be a tensor with one element, because Python stores some
/// numbers in tensors.
double to_number(const IValue& value) {
  const bool one = value.isTensor() && value.toTensor().numel() == 1;
  return one ? value.toTensor().item<double>() : value.toScalar().to<double>();
}
/// Reads the number of parameters or groups from a file that LibTorch wrote. Throws if it exceeds the number of entries
/// in `of`.
size_t read_count(const IValue& value, const IValue& of) {
  const double count = to_number(value);
  TANDEM_CHECK(count >= 0 && count <= static_cast<double>(of.entries().size()), "the file declares ", count,
               " parameters or groups in a list that has only ", of.entries().size(), " entries; the file is damaged");
  return static_cast<size_t>(count);
}

// `group` is a copy, because visit_options() passes pointers to mutable options
IValue param_group_value(OptimizerParamGroup group, size_t first) {
  std::map<std::string, IValue> settings;
  std::vector<std::string> order;
  group.options().visit_options([&](const std::string& name, std::variant<double*, bool*> setting) {
    if (bool* const* const flag = std::get_if<bool*>(&setting))
      settings[name] = IValue(**flag);
    else if (is_count_setting(name))
      settings[name] = IValue(static_cast<int64_t>(*std::get<double*>(setting)));
    else
      settings[name] = IValue(*std::get<double*>(setting));
    order.push_back(name);
  });
  IValue out = IValue::dict();
  for (const std::string& name : order) {
    bool in_pair = false;
    for (const TupleSetting& pair : kTupleSettings) {
      if (name == pair.first_setting)
        out.insert(pair.name, IValue::tuple({settings.at(pair.first_setting), settings.at(pair.second_setting)}));
      in_pair |= name == pair.first_setting || name == pair.second_setting;
    }
    if (name == kStrongWolfe)
      out.insert("line_search_fn", settings.at(name).toBool() ? IValue(std::string(kStrongWolfe)) : IValue());
    else if (!in_pair)
      out.insert(name, settings.at(name));
  }
  if (group.options().get_master_weights()) out.insert("master_weights", true);
  if (group.has_initial_lr()) out.insert("initial_lr", group.initial_lr());
  IValue params = IValue::list({});
  for (size_t i = 0; i < group.params().size(); ++i) params.push_back(first + i);
  out.insert("params", params);
  return out;
}

/// A parameter group that was read from a file: the indices of its parameters, and its options.
struct SavedParamGroup {
  std::vector<IValue> params;
  IValue options;
};
/// Returns the parameter groups. In Python's files they are a list; in LibTorch's files, an object with the keys
/// "param_groups/0", "param_groups/1", ...
std::vector<SavedParamGroup> read_param_groups(const IValue& value) {
  std::vector<SavedParamGroup> out;
  if (value.isList()) {
    for (const IValue& group : value.elements()) out.push_back({group.at("params").elements(), group});
    return out;
  }
  const size_t count = read_count(value.at("param_groups/size"), value);
  for (size_t i = 0; i < count; ++i) {
    const IValue& group = value.at("param_groups/" + std::to_string(i));
    const size_t params = read_count(group.at("params/size"), group);
    out.push_back({{}, group.at("options")});
    for (size_t p = 0; p < params; ++p) out.back().params.push_back(group.at("params/" + std::to_string(p)));
  }
  return out;
}

/// Returns whether an option of Python's optimizers affects only how a step is computed, but not its result.
bool is_implementation_option(const std::string& name) {
  return name == "foreach" || name == "fused" || name == "capturable" || name == "differentiable";
}
/// Returns whether Tandem's optimizers, which lack the option `name`, nevertheless behave as its value requests.
bool is_option_satisfied(const std::string& name, const IValue& value, bool is_adamw) {
  if (value.isNone() || is_implementation_option(name)) return true;
  if (name == "decoupled_weight_decay") return value.isBool() && value.toBool() == is_adamw;
  return value.isBool() && !value.toBool();
}

void read_option(const std::string& name, const IValue& value, const std::string& prefix,
                 const std::set<std::string>& known, bool is_adamw, Optimizer::Settings& settings) {
  if (name == "params") return;
  for (const TupleSetting& pair : kTupleSettings)
    if (name == pair.name && known.count(pair.first_setting)) {
      TANDEM_CHECK(value.elements().size() == 2, "the option '", name, "' has ", value.elements().size(),
                   " numbers; accepted: 2");
      settings[prefix + pair.first_setting] = format_double(to_number(value.elements()[0]));
      settings[prefix + pair.second_setting] = format_double(to_number(value.elements()[1]));
      return;
    }
  if (name == "line_search_fn" && known.count(kStrongWolfe)) {
    TANDEM_CHECK(value.isNone() || (value.isString() && value.toStringRef() == kStrongWolfe),
                 "the option 'line_search_fn' is ",
                 value.isString() ? "'" + value.toStringRef() + "'" : value.tagKind(), "; accepted: None and '",
                 kStrongWolfe, "'");
    settings[prefix + kStrongWolfe] = value.isNone() ? "0" : "1";
    return;
  }
  if (known.count(name) && !value.isNone())
    settings[prefix + name] = format_double(to_number(value));
  else
    TANDEM_CHECK(
        is_option_satisfied(name, value, is_adamw), "the option '", name,
        "' is not one of this optimizer's; accepted: its own options, and others only if they are False or None");
}

void read_state(const std::string& position, const IValue& state,
                std::vector<std::pair<std::string, Tensor>>& tensors) {
  for (const IValue::Entry& entry : state.entries()) {
    const std::string& name = entry.key().toStringRef();
    const IValue& value = entry.value();
    if (value.isNone()) continue;
    TANDEM_CHECK(value.isTensor() || value.isInt() || value.isDouble(), "the state '", name, "' of parameter ",
                 position, " is ", value.tagKind(), "; accepted: tensors and numbers");
    tensors.emplace_back(position + "." + name,
                         value.isTensor() ? value.toTensor() : core::scalar(value.toScalar(), kFloat64, kCPU));
  }
}

}  // namespace

IValue optimizer_state_dict(const Optimizer& optimizer) {
  IValue groups = IValue::list({}), state = IValue::dict();
  size_t first = 0;
  for (const OptimizerParamGroup& group : optimizer.param_groups()) {
    groups.push_back(param_group_value(group, first));
    first += group.params().size();
  }
  std::map<int64_t, IValue> by_parameter;
  for (const auto& [name, tensor] : optimizer.state()) {
    const size_t dot = name.find('.');
    by_parameter.try_emplace(std::stoll(name.substr(0, dot)), IValue::dict())
        .first->second.insert(name.substr(dot + 1), tensor);
  }
  for (auto& [position, values] : by_parameter) state.insert(position, values);
  IValue out = IValue::dict();
  out.insert("state", state);
  out.insert("param_groups", groups);
  return out;
}

OptimizerState parse_optimizer_state(const IValue& value, const Optimizer& optimizer) {
  const std::vector<SavedParamGroup> groups = read_param_groups(value.at("param_groups"));
  const std::vector<OptimizerParamGroup>& mine = optimizer.param_groups();
  TANDEM_CHECK(groups.size() == mine.size(),
               "loaded state dict has a different number of parameter groups: the file has ", groups.size(),
               ", the optimizer ", mine.size());
  const bool is_adamw = dynamic_cast<const optim::AdamW*>(&optimizer) != nullptr;
  OptimizerState out;
  std::vector<std::pair<IValue, std::string>> positions;
  for (size_t g = 0; g < groups.size(); ++g) {
    TANDEM_CHECK(groups[g].params.size() == mine[g].params().size(),
                 "loaded state dict contains a parameter group that ",
                 "has a different size than the optimizer's parameter group: group ", g, " has ",
                 groups[g].params.size(), " parameters in the file, ", mine[g].params().size(), " in the optimizer");
    for (const IValue& param : groups[g].params) positions.emplace_back(param, std::to_string(positions.size()));
    OptimizerParamGroup group = mine[g];
    std::set<std::string> known{"initial_lr", "master_weights"};
    group.options().visit_options([&](const std::string& name, const auto&) { known.insert(name); });
    const std::string prefix = std::to_string(g) + ".";
    for (const IValue::Entry& option : groups[g].options.entries())
      read_option(option.key().toStringRef(), option.value(), prefix, known, is_adamw, out.settings);
  }
  const IValue& state = value.at("state");
  size_t used = 0;
  for (const auto& [param, position] : positions)
    if (const IValue* const found = state.find(param)) {
      read_state(position, *found, out.tensors);
      ++used;
    }
  TANDEM_CHECK(used == state.entries().size(), "the file has the state of ", state.entries().size(),
               " parameters, but only ", used, " are in its parameter groups; the file is damaged");
  return out;
}

OptimizerState parse_optimizer_state(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                     const SafetensorsMetadata& metadata) {
  OptimizerState out{tensors, {}};
  for (const auto& [name, text] : metadata)
    if (name.rfind(kSettingPrefix, 0) == 0) out.settings[name.substr(std::size(kSettingPrefix) - 1)] = text;
  return out;
}
bool is_optimizer_value(const IValue& value) {
  return value.isGenericDict() && value.entries().size() >= 2 && value.find("state") && value.find("param_groups");
}
void save_optimizer_as_safetensors(const IValue& value, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  SafetensorsMetadata metadata;
  const std::vector<SavedParamGroup> groups = read_param_groups(value.at("param_groups"));
  for (size_t g = 0; g < groups.size(); ++g) {
    Optimizer::Settings settings;
    std::set<std::string> names;
    for (const TupleSetting& pair : kTupleSettings) names.insert(pair.first_setting);
    names.insert(kStrongWolfe);
    for (const IValue::Entry& option : groups[g].options.entries()) names.insert(option.key().toStringRef());
    for (const IValue::Entry& option : groups[g].options.entries())
      read_option(option.key().toStringRef(), option.value(), std::to_string(g) + ".", names, false, settings);
    for (const auto& [name, text] : settings) metadata[kSettingPrefix + name] = text;
  }
  for (const IValue::Entry& state : value.at("state").entries())
    read_state(std::to_string(state.key().toInt()), state.value(), tensors);
  save_safetensors(tensors, path, metadata);
}

}  // namespace detail

void optim::Optimizer::save(serialize::OutputArchive& archive) const {
  const IValue value = optimizer_state_dict(*this);
  for (const IValue::Entry& entry : value.entries()) archive.write(entry.key().toStringRef(), entry.value());
}
void optim::Optimizer::load(serialize::InputArchive& archive) {
  with_error_context(archive.name(), [&] {
    const OptimizerState state = is_optimizer_value(archive.value())
                                     ? parse_optimizer_state(archive.value(), *this)
                                     : parse_optimizer_state(flatten_tensors(archive.value()), archive.metadata());
    load_state(state.tensors, state.settings);
  });
}

}  // namespace tandem
