// The state of optimizers as what Python's optimizers call their state_dict.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/core/internal.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/safetensors.h"

namespace tandem::detail {

/// What an optimizer's load_state takes.
struct OptimizerState {
  std::vector<std::pair<std::string, Tensor>> tensors;
  optim::Optimizer::Settings settings;
};

/// {"state": {0: {"step": ..., "exp_avg": ...}}, "param_groups": [{"lr": ..., "betas": (...), "params": [0, 1]}]}
IValue optimizer_value(const optim::Optimizer& optimizer);
/// Of such a dict, or of what LibTorch's optimizers save, whose parameters have numbers of their own.
/// @throws Error for other groups or parameters than the optimizer has, and options that it cannot follow
OptimizerState optimizer_state(const IValue& value, const optim::Optimizer& optimizer);

/// The same as safetensors hold it: tensors "0.exp_avg", and settings as metadata, "options.0.lr".
OptimizerState optimizer_state(const std::vector<std::pair<std::string, Tensor>>& tensors,
                               const SafetensorsMetadata& metadata);
bool is_optimizer_value(const IValue& value);
void save_optimizer_as_safetensors(const IValue& value, const std::string& path);

}  // namespace tandem::detail
