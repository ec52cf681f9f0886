// Prints a recorded program as C++ code that a user would write.
#include <cctype>

#include "tandem/tests/differential/machine.h"

namespace tandem::differential {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}
std::string dtype_text(const std::string& dtype) {
  static const std::map<std::string, std::string> names = {
      {"float32", "kFloat32"}, {"float64", "kFloat64"}, {"float16", "kFloat16"}, {"bfloat16", "kBFloat16"},
      {"int64", "kInt64"},     {"int32", "kInt32"},     {"int16", "kInt16"},     {"int8", "kInt8"},
      {"uint8", "kUInt8"},     {"bool", "kBool"}};
  const auto found = names.find(dtype);
  return found == names.end() ? "" : found->second;
}

/// Maps references to C++ names. "$3.1" becomes t3[1] if step 3 returns a list, and std::get<1>(t3) if it returns a
/// tuple.
struct Names {
  std::map<std::string, Returns> returns;  // by step number
  std::string operator()(const std::string& reference) const {
    const size_t dot = reference.find('.');
    const std::string step = reference.substr(1, dot == std::string::npos ? dot : dot - 1);
    const std::string output = dot == std::string::npos ? "0" : reference.substr(dot + 1);
    const auto found = returns.find(step);
    const Returns kind = found == returns.end() ? Returns::one : found->second;
    if (kind == Returns::tuple) return "std::get<" + output + ">(t" + step + ")";
    return "t" + step + (kind == Returns::list ? "[" + output + "]" : "");
  }
};

std::string argument_text(const Json& v, const std::string& type, const Names& names) {
  if (v.is_null())
    return type == "Tensor" || type == "Tensors" ? "Tensor()" : type == "Indices" ? "indexing::None" : "nullopt";
  if (v.is_object()) {
    std::vector<std::string> parts;
    for (const Json& each : v.at("slice")) parts.push_back(each.is_null() ? "nullopt" : each.dump());
    return "indexing::Slice(" + joined(parts) + ")";
  }
  if (v.is_array()) {
    std::vector<std::string> parts;
    for (const Json& each : v) parts.push_back(argument_text(each, type, names));
    const std::string braces = "{" + joined(parts) + "}";
    return type == "Tensors" ? "std::vector<Tensor>" + braces : type == "Ints" ? "IntArrayRef(" + braces + ")" : braces;
  }
  if (v.is_string()) {
    const std::string text = v.get<std::string>();
    if (text[0] == '$') return names(text);
    if (text == "nan") return "NAN";
    if (text == "inf" || text == "-inf") return text == "inf" ? "INFINITY" : "-INFINITY";
    if (text == "...") return "indexing::Ellipsis";
    if (type == "string") return '"' + text + '"';
    return type == "Reduction" ? "Reduction::" + text : dtype_text(text);
  }
  return v.dump();
}

/// Replaces each word of `expression` that is a parameter by its argument.
std::string filled_in(const std::string& expression, const std::map<std::string, std::string>& arguments) {
  std::string text;
  for (size_t i = 0; i < expression.size();) {
    size_t end = i;
    while (end < expression.size() &&
           (std::isalnum(static_cast<unsigned char>(expression[end])) || expression[end] == '_'))
      ++end;
    const std::string word = expression.substr(i, end - i);
    const bool is_member = i > 0 && (expression[i - 1] == '.' || expression[i - 1] == ':');
    const auto found = is_member ? arguments.end() : arguments.find(word);
    if (end == i)
      text += expression[i++];
    else
      text += found == arguments.end() ? word : found->second, i = end;
  }
  return text;
}

std::string call_text(const Op& op, const Json& step, const Names& names) {
  std::map<std::string, std::string> arguments;
  std::string list = op.parameters;
  list = list.substr(1, list.size() - 2) + ",";
  for (size_t i = 1, at = 0; i < step.size(); ++i) {
    const size_t end = list.find(',', at);
    const std::string parameter = list.substr(at, end - at);  // for example "Tensor x"
    const size_t space = parameter.rfind(' ');
    const std::string type = parameter.substr(0, space);
    std::string text = argument_text(step[i], type, names);
    if (text[0] == '-' || (type == "Scalar" && std::string(op.expression).find("x.") == 0)) text = "(" + text + ")";
    arguments[parameter.substr(space + 1)] = text;
    at = list.find_first_not_of(' ', end + 1);
  }
  return filled_in(op.expression, arguments);
}

/// Returns nested braces of these sizes around values[next], values[next + 1], ...
std::string nested(const std::vector<std::string>& values, const Json& sizes, size_t dim, size_t& next) {
  if (dim == sizes.size()) return values[next++];
  std::vector<std::string> rows;
  for (int64_t i = 0; i < sizes[dim].get<int64_t>(); ++i) rows.push_back(nested(values, sizes, dim + 1, next));
  return "{" + joined(rows) + "}";
}
std::string make_text(const Json& step) {
  const Names none;
  int64_t numel = 1;
  for (const Json& size : step[2]) numel *= size.get<int64_t>();
  std::vector<std::string> values;
  for (int64_t i = 0; i < numel; ++i) values.push_back(argument_text(step[4][i % step[4].size()], "", none));
  const std::string dtype = dtype_text(step[1].get<std::string>()), sizes = argument_text(step[2], "", none);
  size_t next = 0;
  std::string text = numel == 0 ? "zeros(" + sizes + ", " + dtype + ")"
                                : "tensor(" + nested(values, step[2], 0, next) + ", " + dtype + ")";
  if (!step[3].is_null())
    text = "core::empty_strided(" + sizes + ", " + argument_text(step[3], "", none) + ", " + dtype + ", kCPU).copy_(" +
           text + ")";
  return step[5].get<bool>() ? text + ".requires_grad_()" : text;
}

}  // namespace

std::string cpp_text(const Json& steps) {
  Names names;
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].is_null()) continue;
    std::string op = steps[i][0].get<std::string>();
    const std::string number = std::to_string(i);
    const bool without_grad = op.starts_with("no_grad:");
    if (without_grad) op.erase(0, 8);
    std::string line;
    if (op == "make") {
      line = "Tensor t" + number + " = " + make_text(steps[i]);
    } else if (op == "hook") {
      const bool doubles = steps[i][2] == "double";
      line = names(steps[i][1].get<std::string>()) + ".register_hook([](const Tensor& grad) { std::cout << \"hook " +
             number + ": \" << grad << \"\\n\"; " + (doubles ? "return grad * 2; })" : "})");
    } else {
      const Op& entry = op_table().at(op);
      const std::string call = call_text(entry, steps[i], names);
      names.returns[number] = entry.returns;
      line = (entry.returns == Returns::nothing ? "" : "auto t" + number + " = ") + call;
      if (without_grad && entry.returns == Returns::nothing)
        line = "{ NoGradGuard guard; " + call + "; }";
      else if (without_grad)
        line = "auto t" + number + " = [&] { NoGradGuard guard; return " + call + "; }()";
    }
    text += line + ";\n";
  }
  return text;
}

}  // namespace tandem::differential
