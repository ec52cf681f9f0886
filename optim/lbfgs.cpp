// Implements LBFGS: the search direction by the two-loop recursion, and steps with or without a line search.
#include "tandem/optim/lbfgs.h"

#include <algorithm>

#include "tandem/core/loop/run_loop.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/strong_wolfe.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<LBFGSOptions>;
namespace {

double max_abs(const Tensor& t) { return t.abs().max().item<double>(); }
double to_number(const Tensor& number) { return number.defined() ? number.item<double>() : 0; }
Tensor to_tensor(double number) { return full({}, number, kFloat64); }
int64_t get_max_eval(const LBFGSOptions& o) { return o.max_eval().value_or(o.max_iter() * 5 / 4); }

}  // namespace

void LBFGSOptions::visit_options(const Visitor& f) {
  const auto whole = [&](const char* name, int64_t& setting) {
    double value = static_cast<double>(setting);
    f(name, &value);
    setting = static_cast<int64_t>(value);
  };
  f("lr", &lr());
  f("tolerance_grad", &tolerance_grad());
  f("tolerance_change", &tolerance_change());
  whole("max_iter", max_iter());
  whole("history_size", history_size());
  const int64_t evaluations = get_max_eval(*this);
  int64_t now = evaluations;
  whole("max_eval", now);
  if (now != evaluations) max_eval() = now;
  bool searches = line_search_fn().has_value();
  f("strong_wolfe", &searches);
  if (searches != line_search_fn().has_value())
    line_search_fn() = searches ? std::optional<std::string>("strong_wolfe") : std::nullopt;
}

LBFGS::LBFGS(std::vector<OptimizerParamGroup> groups, const LBFGSOptions& defaults) : Optimizer(defaults.clone()) {
  TANDEM_CHECK(groups.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups); got ",
               groups.size(), " groups");
  add_param_groups(std::move(groups));
}
void LBFGS::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<LBFGSOptions>("LBFGS", options);
  detail::check_not_negative("LBFGS", "learning rate", o.lr());
  TANDEM_CHECK(!o.master_weights(), "LBFGS: master_weights is not supported; accepted: false, or float32 parameters");
  TANDEM_CHECK(o.max_iter() >= 1 && get_max_eval(o) >= 1 && o.history_size() >= 1, "LBFGS: max_iter is ", o.max_iter(),
               ", max_eval ", get_max_eval(o), ", history_size ", o.history_size(), "; each must be 1 or more");
  TANDEM_CHECK(!o.line_search_fn() || *o.line_search_fn() == "strong_wolfe",
               "LBFGS: only 'strong_wolfe' is supported as line_search_fn, got '", o.line_search_fn().value_or(""),
               "'");
}
void LBFGS::check_parameters() const {
  TANDEM_CHECK(param_groups().size() == 1, "LBFGS doesn't support per-parameter options (parameter groups); got ",
               param_groups().size(), " groups");
  const Tensor& first = parameters().front();
  for (const Tensor& p : parameters())
    TANDEM_CHECK(p.device() == first.device() && p.dtype() == first.dtype(),
                 "LBFGS: all parameters must have the same dtype and device, got ", first.dtype(), " on ",
                 first.device(), " and ", p.dtype(), " on ", p.device());
}
void LBFGS::resize_state() {
  const auto& o = static_cast<const LBFGSOptions&>(param_groups().front().options());
  for (std::vector<Tensor>* list : {&old_dirs_, &old_stps_, &ro_}) list->resize(static_cast<size_t>(o.history_size()));
}
size_t LBFGS::history_length() const {
  const auto end = std::find_if(old_dirs_.begin(), old_dirs_.end(), [](const Tensor& t) { return !t.defined(); });
  return static_cast<size_t>(end - old_dirs_.begin());
}
int64_t LBFGS::num_parameter_elements() const {
  int64_t n = 0;
  for (const Tensor& p : parameters()) n += p.numel();
  return n;
}

Tensor LBFGS::flat_gradient() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : parameters())
    parts.push_back(detail::has_valid_grad("LBFGS", p) ? p.grad().to(p.dtype()).reshape({-1})
                                                       : zeros_like(p).reshape({-1}));
  return cat(parts);
}
LBFGS::Evaluation LBFGS::evaluate(const LossClosure& closure) const {
  const EnableGradGuard guard;
  const double loss = closure().item<double>();
  const NoGradGuard unrecorded;
  return {loss, flat_gradient()};
}
/// Moves the parameters by t along the direction.
void LBFGS::move_parameters(double t) const {
  int64_t offset = 0;
  for (const Tensor& p : parameters()) {
    p.add_(d_.narrow(0, offset, p.numel()).view(p.sizes()), t);
    offset += p.numel();
  }
}

/// Stores the changes of the parameters and of the gradient since the last iteration, unless their dot product is too
/// small, which means that the loss is not convex between the two points.
void LBFGS::update_history(const Tensor& gradient, int64_t history_size) {
  const Tensor y = gradient - prev_flat_grad_, s = d_ * to_number(t_);
  const Tensor ys = y.dot(s);
  if (!(ys.item<double>() > 1e-10)) return;
  const auto capacity = static_cast<size_t>(history_size);
  const size_t count = history_length(), dropped = count < capacity ? 0 : count - capacity + 1;
  for (std::vector<Tensor>* list : {&old_dirs_, &old_stps_, &ro_}) {
    list->erase(list->begin(), list->begin() + static_cast<std::ptrdiff_t>(dropped));
    list->resize(capacity);
  }
  const size_t at = count - dropped;
  old_dirs_[at] = y;
  old_stps_[at] = s;
  ro_[at] = 1.0 / ys;
  h_diag_ = ys / y.dot(y);
}
/// Returns minus the gradient times the approximate inverse Hessian, by the two-loop recursion of Nocedal (1980). Does
/// not synchronize with the host.
Tensor LBFGS::compute_direction(const Tensor& gradient) const {
  const size_t count = history_length();
  std::vector<Tensor> al(count);
  Tensor q = gradient.neg();
  for (size_t i = count; i-- > 0;) {
    al[i] = old_stps_[i].dot(q) * ro_[i];
    q.sub_(old_dirs_[i] * al[i]);
  }
  Tensor r = h_diag_.defined() ? q * h_diag_ : q;
  for (size_t i = 0; i < count; ++i) r.add_(old_stps_[i] * (al[i] - old_dirs_[i].dot(r) * ro_[i]));
  return r;
}

Tensor LBFGS::step(const LossClosure& closure) {
  check_not_recorded("LBFGS", "the host reads losses and gradients to decide when to stop");
  TANDEM_CHECK(closure,
               "LBFGS requires a closure function that clears the gradients, computes the loss, calls backward() on it "
               "and returns it");
  check_parameters();
  detail::warn_if_ranks_never_communicate();
  const NoGradGuard guard;
  const PhaseSpan phase("optimizer");  // this trace span includes the closure's forwards and backwards
  const OpSpan span("LBFGS.step");
  const auto o = static_cast<const LBFGSOptions&>(param_groups().front().options());
  const Tensor& first = parameters().front();
  for (StateSlot& slot : state_slots())  // moves the state to the parameters' device and dtype
    if (slot.tensor.defined()) slot.tensor = slot.tensor.to(first.device(), slot.dtype.value_or(first.dtype()));

  Tensor original;
  Evaluation now = evaluate([&] { return original = closure(); });
  if (num_parameter_elements() == 0) return original;
  int64_t evaluations = 1, iterations = static_cast<int64_t>(to_number(n_iter_));
  const int64_t max_evaluations = get_max_eval(o);
  const int64_t evaluations_before = static_cast<int64_t>(to_number(func_evals_));
  bool optimal = max_abs(now.gradient) <= o.tolerance_grad();
  for (int64_t i = 1; i <= o.max_iter() && !optimal; ++i) {
    if (++iterations == 1) {
      d_ = now.gradient.neg();
    } else {
      update_history(now.gradient, o.history_size());
      d_ = compute_direction(now.gradient);
    }
    prev_flat_grad_ = now.gradient;
    const double loss_before = now.loss;
    double t = o.lr();
    if (iterations == 1) t *= std::min(1.0, 1.0 / now.gradient.abs().sum().item<double>());
    const double directional_derivative = now.gradient.dot(d_).item<double>();
    t_ = to_tensor(t);
    if (directional_derivative > -o.tolerance_change()) break;

    if (o.line_search_fn()) {
      std::vector<Tensor> start;
      for (const Tensor& p : parameters()) start.push_back(p.clone());
      const auto at = [&](double distance) {
        move_parameters(distance);
        const Evaluation e = evaluate(closure);
        for (size_t k = 0; k < start.size(); ++k) Tensor(parameters()[k]).copy_(start[k]);
        return detail::LinePoint{distance, e.loss, e.gradient, e.gradient.dot(d_).item<double>()};
      };
      const detail::LinePoint found = detail::strong_wolfe(at, {0, now.loss, now.gradient, directional_derivative}, t,
                                                           max_abs(d_), max_evaluations - evaluations, evaluations);
      t = found.t;
      t_ = to_tensor(t);
      now = {found.loss, found.gradient};
      move_parameters(t);
      optimal = max_abs(now.gradient) <= o.tolerance_grad();
    } else {
      move_parameters(t);
      if (i != o.max_iter()) {  // skipped in the last iteration, because the next step() evaluates the loss
        now = evaluate(closure);
        optimal = max_abs(now.gradient) <= o.tolerance_grad();
        ++evaluations;
      }
    }
    if (evaluations >= max_evaluations || std::abs(t) * max_abs(d_) <= o.tolerance_change() ||
        std::abs(now.loss - loss_before) < o.tolerance_change())
      break;
  }
  n_iter_ = to_tensor(static_cast<double>(iterations));
  func_evals_ = to_tensor(static_cast<double>(evaluations_before + evaluations));
  return original;
}

std::vector<Optimizer::StateSlot> LBFGS::state_slots() {
  const Tensor& p = parameters().front();
  const tandem::detail::Shape vector{num_parameter_elements()}, number{};
  std::vector<StateSlot> out = {{"0.d", p, false, d_, vector},
                                {"0.t", p, true, t_, number, kFloat64},
                                {"0.H_diag", p, true, h_diag_, number, p.dtype()},
                                {"0.prev_flat_grad", p, false, prev_flat_grad_, vector},
                                {"0.n_iter", p, true, n_iter_, number, kFloat64},
                                {"0.func_evals", p, true, func_evals_, number, kFloat64}};
  for (size_t i = 0; i < old_dirs_.size(); ++i) {
    const std::string index = std::to_string(i).insert(0, 1, '.');  // insert() and not +, because gcc 12 warns about +
    out.push_back({"0.old_dirs" + index, p, false, old_dirs_[i], vector});
    out.push_back({"0.old_stps" + index, p, false, old_stps_[i], vector});
    out.push_back({"0.ro" + index, p, true, ro_[i], number, p.dtype()});
  }
  return out;
}

}  // namespace tandem::optim
