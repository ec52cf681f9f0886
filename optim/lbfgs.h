// L-BFGS.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// max_iter: iterations of a call of step(). max_eval: calls of the closure in it, 5/4 max_iter unless given.
/// tolerance_grad: a step ends where no element of the gradient is larger. tolerance_change: it ends where neither a
/// parameter nor the loss changes by more. history_size: how many changes of the gradient are remembered.
/// line_search_fn: "strong_wolfe", or none, for steps of length lr.
struct LBFGSOptions : OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  TANDEM_ARG(double, lr);              // the learning rate
  TANDEM_ARG(int64_t, max_iter) = 20;  // iterations of a step()
  TANDEM_ARG(std::optional<int64_t>,
             max_eval) = std::nullopt;                                    // calls of the closure; 5 / 4 max_iter
  TANDEM_ARG(double, tolerance_grad) = 1e-7;                              // stops where no gradient is larger
  TANDEM_ARG(double, tolerance_change) = 1e-9;                            // stops where parameters or loss change less
  TANDEM_ARG(int64_t, history_size) = 100;                                // how many updates are remembered
  TANDEM_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;  // "strong_wolfe" or none

 public:
  /// Whole numbers are visited as doubles, the line search as the flag "strong_wolfe".
  void visit(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<LBFGSOptions>;

/// Quasi-Newton steps: the gradient times an approximation of the inverse Hessian, from the last changes of parameters
/// and gradients (Liu and Nocedal 1989, doi:10.1007/BF01589116). For smooth losses of whole data sets. step() needs a
/// closure, which it calls several times; it cannot be recorded in a Graph, as it reads losses on the host. All
/// parameters are one vector: one group, one device, one dtype; those without a gradient count as if it were 0. State:
/// "0.d", "0.t", "0.H_diag", "0.prev_flat_grad", "0.n_iter", "0.func_evals", and "0.old_dirs.<i>", "0.old_stps.<i>",
/// "0.ro.<i>", oldest first; an optimizer that loads them needs no smaller history_size.
class LBFGS : public Optimizer {
 public:
  /// @throws Error for other than one group, a negative lr, max_iter or history_size below 1, and unknown line searches
  explicit LBFGS(std::vector<OptimizerParamGroup> groups, const LBFGSOptions& defaults = {});
  explicit LBFGS(std::vector<Tensor> parameters, const LBFGSOptions& defaults = {})
      : LBFGS(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

  /// Up to max_iter iterations. The closure clears the gradients, computes the loss, calls its backward() and returns
  /// it. @return the loss of the first call, before any change
  /// @throws Error without a closure, and where a Graph is being captured
  Tensor step(const LossClosure& closure = nullptr) override;

 private:
  struct Evaluation {
    double loss;
    Tensor gradient;
  };
  std::vector<Slot> slots() override;
  void resize_state() override;
  void update(const OptimizerParamGroup&, size_t) override {}  // step() does it all
  void check_options(const OptimizerOptions& options) const override;
  void check_parameters() const;
  int64_t parameter_elements() const;
  Tensor flat_gradient() const;
  Evaluation evaluate(const LossClosure& closure) const;
  void move(double t) const;
  void remember(const Tensor& gradient, int64_t history_size);
  Tensor direction(const Tensor& gradient) const;
  size_t remembered() const;

  Tensor d_, t_, h_diag_, prev_flat_grad_, n_iter_, func_evals_;
  std::vector<Tensor> old_dirs_, old_stps_, ro_;  // history_size of each, of which the first remembered() are defined
};

}  // namespace tandem::optim
