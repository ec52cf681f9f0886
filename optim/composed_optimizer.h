// ComposedOptimizer: base class of optimizers whose step is composed of tensor operations. Internal.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim::detail {

/// An optimizer whose step is a composition of tensor operations, defined for one parameter. Each parameter has a step
/// count and further state tensors, created in its first step. Numbers that may change between steps (the learning
/// rate, the step count, values computed from them) are tensors, so that a recorded step reads their latest values.
/// Which operations run (with momentum or weight decay, or without) is fixed when the step is recorded. Half types are
/// computed in float32, state included, and rounded once at the end of the step. Master weights and their state stay
/// float32.
class ComposedOptimizer : public Optimizer {
 protected:
  /// A state tensor besides the step count: of the parameter's shape, or a 0-dim float32 number.
  struct StateEntry {
    const char* name;
    bool is_scalar = false;
  };
  /// Options that a step reads; unused members stay 0.
  struct Hyperparameters {
    double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
    double extra[3] = {0, 0, 0};  // meaning defined by each optimizer
  };
  /// The members of Hyperparameters as 0-dim float64 tensors on the parameters' device, and the step counts of some
  /// parameters.
  struct HyperparameterTensors {
    Tensor lr, beta1, beta2, eps, weight_decay, extra[3];
    Tensor steps;  // step counts, (parameters,) float64, starting at 1
  };
  /// One parameter in a step. All tensors have the same dtype, float32 or float64, except that a scalar state entry is
  /// always float32. The value, the gradient and the other state entries have at least one dimension.
  struct Parameter {
    Tensor value, gradient;
    std::vector<Tensor> state;         // state tensors in StateEntry order; undefined if no step has needed the entry
    std::vector<Tensor> coefficients;  // 0-dim tensors that coefficients() returned for this parameter
  };
  using ReadHyperparameters = Hyperparameters (*)(const OptimizerOptions& options);
  /// Reads the options that Adamax, NAdam and RAdam share.
  template <class Options> static Hyperparameters read_adam_hyperparameters(const OptimizerOptions& options) {
    const auto& o = static_cast<const Options&>(options);
    const auto& [beta1, beta2] = o.betas();
    return {.lr = o.lr(), .beta1 = beta1, .beta2 = beta2, .eps = o.eps(), .weight_decay = o.weight_decay()};
  }

  /// @param name     used in error messages
  /// @param numbers  function that reads the options; also called before each replay of a recorded step
  ComposedOptimizer(const char* name, std::vector<StateEntry> entries, ReadHyperparameters numbers,
                    std::unique_ptr<OptimizerOptions> defaults);

  /// Returns whether a parameter with these options needs the state entry with index `entry`.
  virtual bool needs_state(const OptimizerOptions& options, size_t entry) const;
  /// Returns the value of a state entry before the first step.
  virtual double initial_value(const OptimizerOptions& options, size_t entry) const;
  /// Computes the float64 numbers that update_parameter() reads: 0-dim if they are the same for all parameters, or
  /// (parameters,) if they depend on the step counts.
  virtual std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                           const HyperparameterTensors& numbers) const = 0;
  /// Updates the value and the state in place. Must not change the gradient.
  virtual void update_parameter(const OptimizerOptions& options, Parameter& p) const = 0;

 private:
  /// A parameter in a step: its index in the group, and its master weights or, without them, the parameter itself.
  struct Member {
    size_t index;
    Tensor weights;
  };
  std::vector<StateSlot> state_slots() override;
  void resize_state() override;
  bool supports_found_inf() const override { return true; }
  void update(const OptimizerParamGroup& group, size_t first) override;
  void init_state(const OptimizerOptions& options, const Tensor& weights, size_t k);
  void update_batch(const OptimizerParamGroup& group, size_t first, const std::vector<Member>& members);
  const char* name_;
  std::vector<StateEntry> entries_;
  ReadHyperparameters read_hyperparameters_;
  std::vector<Tensor> steps_;
  std::vector<std::vector<Tensor>> state_;  // state_[parameter][entry]
};

/// Returns gradient + decay_coefficient * value, or the gradient itself if `decay` is 0.
Tensor add_weight_decay(const Tensor& gradient, const Tensor& value, double decay, const Tensor& decay_coefficient);

}  // namespace tandem::optim::detail
