// Makes optimizers and parameters like tests/fixtures/make_optim_fixtures.py.
#pragma once
#include <memory>

#include "tandem/tandem.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

namespace tandem::test {

using Parameters = std::vector<Tensor>;

inline Tensor from_formula(IntArrayRef sizes, uint32_t salt, DType dtype = kFloat64) {
  Tensor t = empty(sizes, kFloat64);
  const std::vector<double> v = evaluate(real(std::vector<int64_t>(sizes.begin(), sizes.end())), salt);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t.to(dtype);
}

/// Reads settings from `o`, which uses PyTorch's names. Settings missing in `o` keep Tandem's defaults.
template <class Options> Options read_options(Options options, const nlohmann::json& o) {
  const std::map<std::string, std::pair<const char*, size_t>> in_pairs = {{"beta1", {"betas", 0}},
                                                                          {"beta2", {"betas", 1}},
                                                                          {"etaminus", {"etas", 0}},
                                                                          {"etaplus", {"etas", 1}},
                                                                          {"step_size_min", {"step_sizes", 0}},
                                                                          {"step_size_max", {"step_sizes", 1}}};
  options.visit_options([&](const std::string& name, std::variant<double*, bool*> setting) {
    const auto pair = in_pairs.find(name);
    const std::string key = pair == in_pairs.end() ? name : pair->second.first;
    if (!o.contains(key)) return;
    const nlohmann::json& value = pair == in_pairs.end() ? o[key] : o[key][pair->second.second];
    std::visit([&](auto* to) { *to = value.get<std::remove_pointer_t<decltype(to)>>(); }, setting);
  });
  options.master_weights(o.is_object() && o.value("master_weights", false));
  return options;
}

/// Makes an optimizer of two parameters. If `grouped`, the second is in a group of its own with ten times the learning
/// rate.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> make(const Options& options, const Parameters& p, bool grouped) {
  if (!grouped) return std::make_unique<Optimizer>(p, options);
  Options fast = options;
  fast.lr(10 * options.lr());
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(Parameters{p[0]});
  groups.emplace_back(Parameters{p[1]}, std::make_unique<Options>(fast));
  return std::make_unique<Optimizer>(groups, options);
}

/// Makes an optimizer from PyTorch's name of its class and PyTorch's names of its settings.
inline std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& kind, const nlohmann::json& settings,
                                                        const Parameters& p, bool grouped = false) {
  const auto made = [&]<class Optimizer, class Options>(std::type_identity<Optimizer>, Options defaults) {
    return make<Optimizer>(read_options(defaults, settings), p, grouped);
  };
  if (kind == "SGD") return made(std::type_identity<optim::SGD>(), optim::SGDOptions(0.1));
  if (kind == "Adam") return made(std::type_identity<optim::Adam>(), optim::AdamOptions());
  if (kind == "AdamW") return made(std::type_identity<optim::AdamW>(), optim::AdamWOptions());
  if (kind == "Adadelta") return made(std::type_identity<optim::Adadelta>(), optim::AdadeltaOptions());
  if (kind == "Adagrad") return made(std::type_identity<optim::Adagrad>(), optim::AdagradOptions());
  if (kind == "RMSprop") return made(std::type_identity<optim::RMSprop>(), optim::RMSpropOptions());
  if (kind == "Adamax") return made(std::type_identity<optim::Adamax>(), optim::AdamaxOptions());
  if (kind == "NAdam") return made(std::type_identity<optim::NAdam>(), optim::NAdamOptions());
  if (kind == "RAdam") return made(std::type_identity<optim::RAdam>(), optim::RAdamOptions());
  TANDEM_CHECK(kind == "Rprop", "the fixture has an optimizer that tests do not know: ", kind);
  return made(std::type_identity<optim::Rprop>(), optim::RpropOptions());
}

}  // namespace tandem::test
