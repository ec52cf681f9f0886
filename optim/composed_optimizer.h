// ComposedOptimizer: base class of the optimizers whose step is composed of tensor operations. Internal.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim::detail {

/// An optimizer that says what its step does to one parameter, by operations of tensors. Each parameter has a step
/// count and further tensors of state, made at its first step. Numbers that may change from step to step (the rate, the
/// step count and what follows from them) are tensors, so that a recorded step reads the latest ones; which operations
/// there are (whether there is momentum or weight decay) is settled when the step is recorded. Half types are computed
/// in float32, state included, and rounded once at the end of the step.
class ComposedOptimizer : public Optimizer {
 protected:
  /// What a parameter has beside its step count: a tensor of its shape, or one float32 number.
  struct StateEntry {
    const char* name;
    bool scalar = false;
  };
  /// Settings that a step reads; those that an optimizer does not have stay 0.
  struct Numbers {
    double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
    double extra[3] = {0, 0, 0};  // each optimizer says what they are
  };
  /// The same as 0-dim float64 tensors on the parameters' device, and the step counts of some of its parameters.
  struct NumberTensors {
    Tensor lr, beta1, beta2, eps, weight_decay, extra[3];
    Tensor steps;  // (parameters,) float64, from 1
  };
  /// One parameter in a step. Tensors are of one floating dtype, float32 or float64, and have a dimension at least.
  struct Parameter {
    Tensor value, gradient;
    std::vector<Tensor> state;         // in the order of the entries; undefined where it is not wanted
    std::vector<Tensor> coefficients;  // 0-dim, in the order in which coefficients() gives them
  };
  using ReadNumbers = Numbers (*)(const OptimizerOptions& options);
  /// Reads the settings that Adam and its relatives have in common.
  template <class Options> static Numbers adam_numbers(const OptimizerOptions& options) {
    const auto& o = static_cast<const Options&>(options);
    const auto& [beta1, beta2] = o.betas();
    return {.lr = o.lr(), .beta1 = beta1, .beta2 = beta2, .eps = o.eps(), .weight_decay = o.weight_decay()};
  }

  /// @param name  for messages
  /// @param numbers  reads the settings; it is called before each replay of a recorded step too
  ComposedOptimizer(const char* name, std::vector<StateEntry> entries, ReadNumbers numbers,
                    std::unique_ptr<OptimizerOptions> defaults);

  /// Whether a parameter with such options needs that entry of its state.
  virtual bool wants(const OptimizerOptions& options, size_t entry) const;
  /// What that entry holds before the first step.
  virtual double initial_value(const OptimizerOptions& options, size_t entry) const;
  /// Numbers that update_parameter() reads: 0-dim, the same for all parameters, or one for each, (parameters,), as they
  /// follow from the step counts. float64
  virtual std::vector<Tensor> coefficients(const OptimizerOptions& options, const NumberTensors& numbers) const = 0;
  /// Changes the value and the state in place, but not the gradient.
  virtual void update_parameter(const OptimizerOptions& options, Parameter& p) const = 0;

 private:
  struct Batch;
  std::vector<Slot> slots() override;
  void resize_state() override;
  void update(const OptimizerParamGroup& group, size_t first) override;
  void make_state(const OptimizerOptions& options, const Tensor& p, size_t k);
  void run_batch(const OptimizerParamGroup& group, size_t first, const std::vector<size_t>& members);
  const char* name_;
  std::vector<StateEntry> entries_;
  ReadNumbers numbers_;
  std::vector<Tensor> steps_;
  std::vector<std::vector<Tensor>> state_;  // of each parameter, in the order of the entries
};

/// gradient + decay value, where there is decay; a tensor of its own then, else the gradient itself
Tensor with_decay(const Tensor& gradient, const Tensor& value, double decay, const Tensor& decay_coefficient);

}  // namespace tandem::optim::detail
