// Compares modules with fixtures/modules.json and bert.json: parameters, outputs, gradients, and how the modules print.
#pragma once
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

namespace tandem::test {

using Tensors = std::vector<Tensor>;

inline Tensor tensor_of(const InputSpec& spec, uint32_t salt) {
  const std::vector<double> v = evaluate(spec, salt);
  Tensor t = empty(spec.shape, kFloat64);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return spec.kind == InputSpec::Kind::integer ? t.to(kInt64) : spec.kind == InputSpec::Kind::boolean ? t.to(kBool) : t;
}
inline InputSpec spec_of(const nlohmann::json& j) {
  InputSpec spec{.shape = j.at("shape").get<std::vector<int64_t>>()};
  if (j.contains("int"))
    spec = integer(j.at("int"), spec.shape);
  else if (j.contains("bool"))
    spec = boolean(spec.shape);
  else if (j.contains("listed"))
    for (const auto& x : j.at("listed"))
      spec.listed.push_back(x.is_string() ? std::stod(x.get<std::string>()) : x.get<double>());
  else
    spec.lo = j.at("lo"), spec.hi = j.at("hi");
  spec.constant = j.value("constant", false);
  return spec;
}
inline void check_tensor(const std::string& what, const Tensor& t, const nlohmann::json& expected,
                         double tolerance = 1e-12) {
  INFO(what);
  REQUIRE(t.defined() != expected.is_null());
  if (!t.defined()) return;
  REQUIRE(t.sizes().vec() == expected.at("shape").get<std::vector<int64_t>>());
  const Tensor flat = t.detach().to(kFloat64).contiguous();
  const Checksum c = checksum({flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()});
  const double margin = tolerance * std::max(1.0, expected.at("abs_sum").get<double>());
  CHECK(c.sum == Approx(expected.at("sum").get<double>()).epsilon(0).margin(margin));
  CHECK(c.weighted == Approx(expected.at("weighted").get<double>()).epsilon(0).margin(margin));
  const auto head = expected.at("head").get<std::vector<double>>();
  for (size_t i = 0; i < head.size(); ++i) CHECK(c.head[i] == Approx(head[i]).epsilon(0).margin(margin));
}

/// Sets the module's parameters and buffers to the fixture's values, by their Python names. Then compares everything
/// that the entry `name` of `all` contains. `tolerance` is relative to the sum of absolute values.
inline void check_module(const nlohmann::json& all, const std::string& name, nn::Module& module,
                         const std::function<Tensors(const Tensors& inputs)>& forward, double tolerance = 1e-12) {
  const auto row = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.at("name") == name; });
  INFO(name);
  REQUIRE(row != all.end());
  if (row->contains("printed")) {
    std::ostringstream printed;
    printed << module;
    CHECK(printed.str() == row->at("printed").get<std::string>());
  }

  module.to(kFloat64);
  nn::NamedParameters state;
  uint32_t salt = 1000;
  const nn::NamedParameters own = module.state_dict();
  for (const auto& item : own)  // in registration order, as in Python
    state.insert(item.key(), tensor_of(real(item->sizes().vec(), -0.6, 0.6), salt++));
  REQUIRE(state.size() == row->at("parameters").size());
  for (const auto& [key, sizes] : row->at("parameters").items()) {
    INFO(key);
    REQUIRE(own.contains(key));
    CHECK(own[key].sizes().vec() == sizes.get<std::vector<int64_t>>());
  }
  module.load_state_dict(state);
  Tensors inputs;
  for (const auto& j : row->at("inputs")) {
    const InputSpec spec = spec_of(j);
    inputs.push_back(tensor_of(spec, static_cast<uint32_t>(inputs.size()) + 1));
    if (spec.differentiable()) inputs.back().requires_grad_();
  }
  const Tensors outputs = forward(inputs);
  REQUIRE(outputs.size() == row->at("outputs").size());
  Tensor loss = zeros({}, kFloat64);
  for (size_t j = 0; j < outputs.size(); ++j) {
    check_tensor(std::to_string(j).insert(0, "output "), outputs[j], row->at("outputs")[j], tolerance);
    if (outputs[j].defined() && outputs[j].requires_grad())
      loss = loss +
             (outputs[j] * tensor_of(real(outputs[j].sizes().vec()), kOutputGradientSalt + static_cast<uint32_t>(j)))
                 .sum();
  }
  loss.backward();
  for (const auto& item : module.named_parameters())
    check_tensor("gradient of " + item.key(), item->grad(), row->at("grads").at(item.key()), tolerance);
  for (size_t k = 0; k < inputs.size(); ++k)
    check_tensor(std::to_string(k).insert(0, "gradient of input "), inputs[k].grad(), row->at("input_grads")[k],
                 tolerance);
}
inline void check_module(const std::string& name, nn::Module& module,
                         const std::function<Tensors(const Tensors& inputs)>& forward) {
  static const nlohmann::json all = read_json("modules.json").at("modules");
  check_module(all, name, module, forward);
}

}  // namespace tandem::test
