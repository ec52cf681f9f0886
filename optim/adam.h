// The optimizers Adam and AdamW.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct AdamOptions : OptimizerCloneableOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                        // learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);  // decay factors of the running means of gradients and squares
  TANDEM_ARG(double, eps) = 1e-8;                // added to the divisor to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 0;          // weight_decay * parameter is added to the gradient
  TANDEM_ARG(bool, amsgrad) = false;             // if true, uses the largest running mean of squares so far

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdamOptions>;
struct AdamWOptions : OptimizerCloneableOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                        // learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);  // decay factors of the running means of gradients and squares
  TANDEM_ARG(double, eps) = 1e-8;                // added to the divisor to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 1e-2;       // lr * weight_decay * parameter is subtracted from the parameter
  TANDEM_ARG(bool, amsgrad) = false;             // if true, uses the largest running mean of squares so far

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdamWOptions>;

namespace detail {
/// Base class of Adam and AdamW: stores running means of the gradient and of its square.
class AdamBase : public Optimizer {
 protected:
  using Optimizer::Optimizer;
  template <class Options> void update_group(const Options& options, const OptimizerParamGroup& group, size_t first);
  std::vector<StateSlot> state_slots() override;
  void resize_state() override;
  bool supports_found_inf() const override { return true; }

 private:
  std::vector<Tensor> steps_, exp_avgs_, exp_avg_sqs_, max_exp_avg_sqs_;
};
}  // namespace detail

/// Adam (Kingma and Ba 2015, arXiv:1412.6980). Weight decay is added to the gradient. @throws Error if lr, eps or
/// weight_decay is negative, or a beta is not in [0, 1)
class Adam : public detail::AdamBase {
 public:
  explicit Adam(std::vector<OptimizerParamGroup> groups, const AdamOptions& defaults = {});
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& defaults = {})
      : Adam(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  void update(const OptimizerParamGroup& group, size_t first) override;
  void check_options(const OptimizerOptions& options) const override;
};

/// AdamW: Adam with weight decay separate from the gradient (Loshchilov and Hutter 2019, arXiv:1711.05101). @throws
/// Error as Adam
class AdamW : public detail::AdamBase {
 public:
  explicit AdamW(std::vector<OptimizerParamGroup> groups, const AdamWOptions& defaults = {});
  explicit AdamW(std::vector<Tensor> parameters, const AdamWOptions& defaults = {})
      : AdamW(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  void update(const OptimizerParamGroup& group, size_t first) override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
