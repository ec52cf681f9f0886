// Optimizers, as torch::optim: SGD, Adam, AdamW.
#pragma once
#include <functional>

#include "tandem/nn/options.h"

namespace tandem::optim {

/// What all optimizers share: the parameters, and how gradients are cleared.
class Optimizer {
 public:
  explicit Optimizer(std::vector<Tensor> parameters);
  virtual ~Optimizer() = default;
  /// Updates the parameters that have a gradient.
  virtual void step() = 0;
  void zero_grad(bool set_to_none = true);
  const std::vector<Tensor>& parameters() const { return parameters_; }
  virtual double lr() const = 0;
  virtual void set_lr(double lr) = 0;
  /// What schedules are relative to: lr() when the first of them was made.
  double initial_lr() {
    if (!initial_lr_) initial_lr_ = lr();
    return *initial_lr_;
  }
  /// State tensors by name ("0.exp_avg", ...), for saving; those of parameters not yet updated are left out.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Copies of such tensors become the state; parameters that have none begin anew.
  /// @throws Error naming a tensor that is unknown here, or not of its parameter's shape; nothing is changed then
  void load_state(const std::vector<std::pair<std::string, Tensor>>& state);

 protected:
  /// Every place that state can have, by name.
  struct Slot {
    std::string name;
    const Tensor& parameter;
    bool scalar;  // a step count, not of the parameter's shape
    Tensor& tensor;
  };
  virtual std::vector<Slot> slots() = 0;
  std::vector<Tensor> parameters_;

 private:
  std::optional<double> initial_lr_;
};

struct SGDOptions {
  SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, nesterov) = false;
};
/// Stochastic gradient descent with momentum; the buffer's first value is the gradient itself, as in PyTorch.
class SGD : public Optimizer {
 public:
  SGD(std::vector<Tensor> parameters, SGDOptions options);
  void step() override;
  double lr() const override { return options.lr(); }
  void set_lr(double lr) override { options.lr(lr); }
  SGDOptions options;

 private:
  std::vector<Slot> slots() override;
  std::vector<Tensor> momenta_;
};

struct AdamOptions {
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = {0.9, 0.999};
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, amsgrad) = false;
};
/// Kingma and Ba (2015, arXiv:1412.6980); weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, AdamOptions options = {}) : Adam(std::move(parameters), options, false) {}
  void step() override;
  double lr() const override { return options.lr(); }
  void set_lr(double lr) override { options.lr(lr); }
  AdamOptions options;

 protected:
  Adam(std::vector<Tensor> parameters, AdamOptions options, bool decoupled);

 private:
  std::vector<Slot> slots() override;
  bool decoupled_;
  std::vector<Tensor> steps_, exp_avgs_, exp_avg_sqs_, max_exp_avg_sqs_;
};
struct AdamWOptions : AdamOptions {
  AdamWOptions(double lr = 1e-3) : AdamOptions(lr) { weight_decay(1e-2); }
};
/// Loshchilov and Hutter (2019, arXiv:1711.05101): weight decay apart from the gradient.
class AdamW : public Adam {
 public:
  AdamW(std::vector<Tensor> parameters, AdamOptions options = AdamWOptions())
      : Adam(std::move(parameters), options, true) {}
};

}  // namespace tandem::optim
