// Converts the state of optimizers to and from the state_dict of Python's optimizers.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/core/internal.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/safetensors.h"

namespace tandem::detail {

/// Arguments of an optimizer's load_state.
struct OptimizerState {
  std::vector<std::pair<std::string, Tensor>> tensors;
  optim::Optimizer::Settings settings;
};

/// Converts an optimizer's state and options to the dict that Python's optimizers save: {"state": {0: {"step": ...,
/// "exp_avg": ...}}, "param_groups": [{"lr": ..., "betas": (...), "params": [0, 1]}]}
IValue optimizer_state_dict(const optim::Optimizer& optimizer);
/// Converts the dict that Python's optimizers save, or the object that LibTorch's optimizers save, to the arguments of
/// load_state. (LibTorch's object uses other keys for the parameters.)
/// @throws Error if groups or parameters do not match the optimizer, or Tandem does not support the value of an option
OptimizerState parse_optimizer_state(const IValue& value, const optim::Optimizer& optimizer);

/// Converts the contents of a safetensors file to the arguments of load_state. The tensors have names such as
/// "0.exp_avg", and the settings are metadata with names such as "options.0.lr".
OptimizerState parse_optimizer_state(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                     const SafetensorsMetadata& metadata);
bool is_optimizer_value(const IValue& value);
void save_optimizer_as_safetensors(const IValue& value, const std::string& path);

}  // namespace tandem::detail
