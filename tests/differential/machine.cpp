#include "tandem/tests/differential/machine.h"

#include <cmath>

#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/differential/planted.h"

namespace tandem::differential {
namespace {

constexpr std::string_view kNoGrad = "no_grad:";

Value to_value(const Json& json) {
  Value v;
  if (json.is_boolean()) {
    v.kind = Value::Kind::boolean, v.integer = json.get<bool>();
  } else if (json.is_number_integer()) {
    v.kind = Value::Kind::integer, v.integer = json.get<int64_t>();
  } else if (json.is_number()) {
    v.kind = Value::Kind::real, v.real = json.get<double>();
  } else if (json.is_string()) {
    v.kind = Value::Kind::text, v.text = json.get<std::string>();
    const bool negative = v.text == "-inf";
    if (v.text == "nan" || v.text == "inf" || negative) {
      v.kind = Value::Kind::real;
      v.real = v.text == "nan" ? NAN : negative ? -INFINITY : INFINITY;
    }
  } else if (json.is_array() || json.is_object()) {
    v.kind = json.is_array() ? Value::Kind::list : Value::Kind::slice;
    for (const Json& each : json.is_array() ? json : json.at("slice")) v.list.push_back(to_value(each));
  }
  return v;
}
Values to_values(const Json& step) {
  Values values;
  for (size_t i = 1; i < step.size(); ++i) values.push_back(to_value(step[i]));
  return values;
}

// Infinities and NaN become strings, because JSON has no numbers for them.
Json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}
Json elements(const Tensor& t) {
  const NoGradGuard guard;
  const Tensor host = t.detach().to(Device(kCPU)).contiguous();
  Json list = Json::array();
  visit_dtype(host.dtype(), [&]<class T>() {
    const T* data = host.data_ptr<T>();
    for (int64_t i = 0; i < host.numel(); ++i) {
      if constexpr (std::is_same_v<T, bool>)  // memory that was never written may hold any byte
        list.push_back(static_cast<int64_t>(reinterpret_cast<const unsigned char*>(data)[i] != 0));
      else if constexpr (std::is_integral_v<T>)
        list.push_back(static_cast<int64_t>(data[i]));
      else
        list.push_back(number(static_cast<double>(data[i])));
    }
  });
  return list;
}

}  // namespace

Tensor Machine::find(const std::string& name) const {
  for (const auto& [known, tensor] : values_)
    if (name.compare(1, std::string::npos, known) == 0) return tensor;
  throw Missing("there is no " + name);
}

Tensor Machine::make(const Values& arguments) const {
  const Lookup none;
  const DType dtype = dtype_named(arguments[0].text);
  const Ints sizes = read<Ints>(arguments[1], none);
  const Values& list = arguments[3].list;
  Tensor host = core::empty(sizes, dtype, kCPU);
  visit_dtype(dtype, [&]<class T>() {
    for (int64_t i = 0; i < host.numel(); ++i) host.data<T>()[i] = to_scalar(list[i % list.size()]).to_wrapped<T>();
  });
  Tensor x = core::empty(sizes, dtype, device_);
  if (!arguments[2].is_none()) {
    x = core::empty_strided(sizes, read<Ints>(arguments[2], none), dtype, device_);
    core::as_strided(x, {x.storage()->bytes / x.itemsize()}, {1}, 0).zero_();  // also clears the gaps between elements
  }
  copy_elements(host, x);
  if (arguments[4].integer != 0) x.requires_grad_();
  return x;
}

std::vector<Tensor> Machine::step(size_t number, const Json& step) {
  std::string name = step[0].get<std::string>();
  const bool without_grad = name.starts_with(kNoGrad);
  if (without_grad) name.erase(0, kNoGrad.size());
  const Values arguments = to_values(step);
  if (name == "make") return {make(arguments)};
  const Lookup lookup = [this](const std::string& wanted) { return find(wanted); };
  if (name == "hook") {
    const std::string log = std::to_string(number);
    const bool doubles = arguments.at(1).text == "double";
    find(arguments.at(0).text).register_hook([this, log, doubles](const Tensor& grad) {
      hooks_[log].push_back(log_entry(grad));
      return doubles ? grad * 2 : Tensor();
    });
    hooks_[log] = Json::array();
    return {};
  }
  const auto op = op_table().find(name);
  if (op == op_table().end()) throw Missing("no op is called " + name);
  const AutoGradMode mode(!without_grad);
  std::vector<Tensor> made = op->second.run(arguments, lookup);
  for (Tensor& t : made)  // factories, and ops that return numbers, make CPU tensors
    if (t.defined() && t.device() != device_) t = t.to(device_);
  if (!planted_.empty()) plant(planted_, name, arguments, lookup, made);
  return made;
}

Json Machine::log_entry(const Tensor& grad) const {
  return Json::array({tandem::name(grad.dtype()), Json(grad.sizes().vec()), elements(grad)});
}

Json Machine::seen(const std::string& name, const Tensor& t, bool gradient) const {
  if (!t.defined()) return nullptr;
  try {
    // Hides strides without meaning: those of dimensions of size 1, and those of tensors without elements.
    Json strides = t.strides().vec();
    for (int64_t d = 0; d < t.dim(); ++d)
      if (t.size(d) == 1) strides[d] = 0;
    if (t.is_contiguous() || t.numel() == 0) strides = nullptr;
    const autograd::AutogradMeta* record = autograd::get_autograd_meta(t);
    Json storage = nullptr, same = nullptr;
    for (const auto& [other_name, other] : values_) {
      if (gradient && other_name == name) break;
      if (!other.defined()) continue;
      if (storage.is_null() && other.storage().get() == t.storage().get()) storage = other_name;
      if (same.is_null() && other.is_same(t)) same = other_name;
    }
    std::string flags;
    if (t.requires_grad()) flags += 'r';
    if (t.is_leaf()) flags += 'l';
    const bool is_view = record && record->base.defined() && storage != same;
    if (is_view && recorded_ && !gradient && t.is_floating_point()) flags += 'v';
    return Json::array({tandem::name(t.dtype()), t.sizes().vec(), strides, flags, storage, same, elements(t)});
  } catch (const std::exception& e) {
    return {{"error", e.what()}};
  }
}

Json Machine::run(const Json& steps) {
  Json errors = Json::array(), values = Json::object(), grads = Json::object();
  for (size_t i = 0; i < steps.size(); ++i) {
    errors.push_back(nullptr);
    if (steps[i].is_null()) continue;
    if (steps[i][0].get<std::string>().starts_with(kNoGrad)) recorded_ = false;
    try {
      const std::vector<Tensor> made = step(i, steps[i]);
      for (size_t k = 0; k < made.size(); ++k)
        values_.emplace_back(std::to_string(i) + (k ? "." + std::to_string(k) : ""), made[k]);
    } catch (const std::exception& e) {
      errors.back() = e.what();
    }
  }
  for (const auto& [name, tensor] : values_) {
    values[name] = seen(name, tensor, steps[std::stoul(name)][0] == "grad");
    if (tensor.defined() && tensor.grad().defined()) grads[name] = seen("", tensor.grad(), true);
  }
  return {{"errors", errors}, {"values", values}, {"grads", grads}, {"hooks", hooks_}};
}

}  // namespace tandem::differential
