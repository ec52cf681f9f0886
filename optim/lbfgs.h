// The optimizer L-BFGS.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// max_iter: limit for the iterations in one step(). max_eval: limit for the closure calls in one step(), by default
/// 5/4 * max_iter; a line search may exceed it by one call. tolerance_grad: step() ends if all gradient elements are at
/// most this in absolute value. tolerance_change: step() ends if the parameters or the loss change by less, or if the
/// slope along the direction is above -tolerance_change. history_size: number of gradient changes to keep.
/// line_search_fn: "strong_wolfe", or nullopt for steps of length lr.
struct LBFGSOptions : OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  TANDEM_ARG(double, lr);                                                 // learning rate
  TANDEM_ARG(int64_t, max_iter) = 20;                                     // maximum number of iterations in one step()
  TANDEM_ARG(std::optional<int64_t>, max_eval) = std::nullopt;            // max. closure calls; default 5/4 * max_iter
  TANDEM_ARG(double, tolerance_grad) = 1e-7;                              // stops if every |gradient element| <= this
  TANDEM_ARG(double, tolerance_change) = 1e-9;                            // stops if parameters or loss change by less
  TANDEM_ARG(int64_t, history_size) = 100;                                // number of past updates to keep
  TANDEM_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;  // "strong_wolfe" or nullopt

 public:
  /// Passes integer options to the visitor as doubles, and line_search_fn as a bool named "strong_wolfe".
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<LBFGSOptions>;

/// Quasi-Newton method for smooth losses of whole data sets (Liu and Nocedal 1989, doi:10.1007/BF01589116): multiplies
/// the gradient by an approximation of the inverse Hessian, built from recent changes of parameters and gradients.
/// step() needs a closure, calls it several times, and cannot be recorded in a Graph because it reads losses on the
/// host. All parameters are treated as one vector: one group, one device, one dtype. A missing gradient counts as 0.
/// State: "0.d", "0.t", "0.H_diag", "0.prev_flat_grad", "0.n_iter", "0.func_evals", and "0.old_dirs.<i>",
/// "0.old_stps.<i>", "0.ro.<i>", oldest first. An optimizer that loads a state needs a history_size of at least the
/// number of entries saved.
class LBFGS : public Optimizer {
 public:
  /// @throws Error unless there is one group, lr is not negative, max_iter, max_eval and history_size are at least 1,
  /// and the line search is known
  explicit LBFGS(std::vector<OptimizerParamGroup> groups, const LBFGSOptions& defaults = {});
  explicit LBFGS(std::vector<Tensor> parameters, const LBFGSOptions& defaults = {})
      : LBFGS(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

  /// Runs up to max_iter iterations. The closure must clear the gradients, compute the loss, call its backward() and
  /// return it. @return the loss of the closure's first call, before any update
  /// @throws Error if there is no closure, if the parameters have several devices or dtypes, or while a Graph is being
  /// captured
  Tensor step(const LossClosure& closure = nullptr) override;

 private:
  struct Evaluation {
    double loss;
    Tensor gradient;
  };
  std::vector<StateSlot> state_slots() override;
  void resize_state() override;
  void update(const OptimizerParamGroup&, size_t) override {}  // step() does all the work
  void check_options(const OptimizerOptions& options) const override;
  void check_parameters() const;
  int64_t num_parameter_elements() const;
  Tensor flat_gradient() const;
  Evaluation evaluate(const LossClosure& closure) const;
  void move_parameters(double t) const;
  void update_history(const Tensor& gradient, int64_t history_size);
  Tensor compute_direction(const Tensor& gradient) const;
  size_t history_length() const;

  Tensor d_, t_, h_diag_, prev_flat_grad_, n_iter_, func_evals_;
  std::vector<Tensor> old_dirs_, old_stps_, ro_;  // size history_size; the first history_length() entries are defined
};

}  // namespace tandem::optim
