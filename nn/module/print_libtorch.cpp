// Prints modules as LibTorch does: with LibTorch's names and formats instead of Python's.
#include "tandem/nn/module/print_libtorch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

namespace tandem::nn {
namespace {

bool starts_with_one_of(const std::string& text, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](const char* start) { return text.rfind(start, 0) == 0; });
}
/// Splits "a=1, b=(2, 3)" at the commas outside brackets.
std::vector<std::string> split_arguments(const std::string& arguments) {
  std::vector<std::string> out;
  int depth = 0;
  std::string current;
  for (const char c : arguments) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0) {
      out.push_back(std::exchange(current, ""));
    } else if (c != ' ' || !current.empty()) {
      current += c;
    }
  }
  if (!current.empty()) out.push_back(current);
  return out;
}
/// Converts values from Python's format to LibTorch's: True, 1.0, (1, 2), (3,) become true, 1, [1, 2], 3.
std::string to_libtorch_value(std::string value) {
  if (value == "True") return "true";
  if (value == "False") return "false";
  if (value.size() > 3 && value.front() == '(') {
    if (value[value.size() - 2] == ',') return value.substr(1, value.size() - 3);
    value.front() = '[', value.back() = ']';
    return value;
  }
  if (value.find_first_not_of("0123456789.e+-") != std::string::npos || value.find_first_of(".e") == std::string::npos)
    return value;
  std::ostringstream out;  // six significant digits, as LibTorch prints
  out << std::strtod(value.c_str(), nullptr);
  return out.str();
}
/// Repeats a value for each spatial dimension, as LibTorch does; Python prints it once if all are equal.
std::string repeat_per_dimension(const std::string& name, const std::string& key, const std::string& value) {
  constexpr std::array keys = {"kernel_size", "stride", "padding", "dilation", "output_size"};
  if (value.find_first_not_of("0123456789-") != std::string::npos ||
      std::find(keys.begin(), keys.end(), key) == keys.end())
    return value;
  const bool of_images = name == "Fold" || name == "Unfold" || name.ends_with("2d");
  if (!of_images && !name.ends_with("3d")) return value;
  const std::string more = ", " + value;
  return "[" + value + more + (of_images ? "" : more) + "]";
}
/// Returns all options of a recurrent module: Python prints "LSTM(2, 3, num_layers=2)", LibTorch every option.
std::vector<std::string> expand_recurrent_options(const std::vector<std::string>& given) {
  std::vector<std::string> out = {"input_size=" + given[0], "hidden_size=" + given[1]};
  std::vector<std::pair<std::string, std::string>> options = {
      {"num_layers", "1"}, {"bias", "True"}, {"batch_first", "False"}, {"dropout", "0.0"}, {"bidirectional", "False"}};
  for (auto& [key, value] : options) {
    for (const std::string& each : given)
      if (each.rfind(key + "=", 0) == 0) value = each.substr(key.size() + 1);
    out.push_back(key + "=" + value);
  }
  for (const std::string& each : given)
    if (each.rfind("proj_size=", 0) == 0) out.push_back(each);
  return out;
}

/// Removes "torch::nn::" and "Impl", which Module::name() includes in LibTorch's style, from a class name.
std::string to_libtorch_class_name(std::string name) {
  const std::string scope = "torch::nn::";
  if (name.rfind(scope, 0) == 0) name.erase(0, scope.size());
  if (name.size() > 4 && name.ends_with("Impl")) name.erase(name.size() - 4);
  return name;
}

}  // namespace

std::string to_libtorch_format(const std::string& text) {
  const size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') {
    const std::string name = to_libtorch_class_name(text);  // LibTorch prints only the class name of transformers
    const char* const end = starts_with_one_of(name, {"Transformer"}) ? "Impl" : name == "Functional" ? "()" : "";
    return "torch::nn::" + name + end;
  }
  const std::string name = to_libtorch_class_name(text.substr(0, open));
  if (name == "ParameterList" || name == "ParameterDict") return "torch::nn::" + name + text.substr(open);
  if (name == "SmoothL1Loss" || name == "HuberLoss") return "torch::nn::" + name;
  std::vector<std::string> arguments = split_arguments(text.substr(open + 1, text.size() - open - 2));
  if ((name == "RNN" || name == "LSTM" || name == "GRU") && arguments.size() >= 2)
    arguments = expand_recurrent_options(arguments);
  if (starts_with_one_of(name, {"Embedding"}) && arguments.size() >= 2)
    arguments[0].insert(0, "num_embeddings="), arguments[1].insert(0, "embedding_dim=");
  if (name.find("Pad") != std::string::npos && arguments.size() == 1 && arguments[0].find('=') == std::string::npos)
    arguments[0].insert(0, "padding=");
  const bool is_norm = starts_with_one_of(name, {"BatchNorm", "InstanceNorm", "LayerNorm", "GroupNorm"});
  std::string out = "torch::nn::" + name + "(";
  bool first = true;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string key = equals == std::string::npos ? "" : argument.substr(0, equals);
    std::string value = to_libtorch_value(equals == std::string::npos ? argument : argument.substr(equals + 1));
    if ((is_norm && key == "bias") || (name == "GELU" && key == "approximate")) continue;  // not printed by LibTorch
    if (key == "padding" && (value == "same" || value == "valid")) value = "'" + value + "'";
    if (key == "nonlinearity") value = value == "relu" ? "kReLU" : "kTanh";
    if (key == "unflattened_size" && value.size() > 1) value.front() = '{', value.back() = '}';
    if (key == "padding_mode" && !value.empty()) {
      value[0] = static_cast<char>(value[0] - 'a' + 'A');
      value.insert(0, 1, 'k');
    }
    out += first ? "" : ", ";
    out += key.empty() ? "" : key + "=";
    out += repeat_per_dimension(name, key, value);
    first = false;
  }
  return out + ")";
}

}  // namespace tandem::nn
