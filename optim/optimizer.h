// Optimizers, as torch::optim: SGD, Adam, AdamW, and schedules of the learning rate.
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

/// A learning rate as a function of the number of step() calls and of the rate at construction.
class LRScheduler {
 public:
  LRScheduler(Optimizer& optimizer, std::function<double(int64_t step, double base)> rate);
  void step();
  double get_last_lr() const { return optimizer_.lr(); }

 private:
  Optimizer& optimizer_;
  std::function<double(int64_t, double)> rate_;
  double base_;
  int64_t step_ = 0;
};
/// base gamma^(step / step_size)
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
};
/// From base to eta_min along half a cosine of T_max steps (Loshchilov and Hutter 2017, arXiv:1608.03983)
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);
};
/// Linearly from start_factor base to end_factor base over total_iters steps: a warm-up
class LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5);
};

}  // namespace tandem::optim
