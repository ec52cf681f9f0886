// Implements GradScaler: checks and unscales gradients by kernels, agrees on found_inf with the other ranks, and
// updates the scale on the device.
#include "tandem/parallel/amp/grad_scaler.h"

#include <algorithm>

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/optim.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/serialize/archive.h"

namespace tandem::amp {
namespace {

/// Gradients of an optimizer by device and dtype: those that kernels can process as flat memory, and copies of the
/// others.
struct Gradients {
  std::vector<Tensor> dense, copies, strided;  // copies[i] is a contiguous copy of strided[i]
};
std::map<std::pair<Device, DType>, Gradients> group_gradients(const optim::Optimizer& optimizer) {
  std::map<std::pair<Device, DType>, Gradients> groups;
  for (const Tensor& p : optimizer.parameters()) {
    const Tensor& g = p.grad();
    if (!g.defined()) continue;
    Gradients& group = groups[{g.device(), g.dtype()}];
    if (core::is_non_overlapping_and_dense(*g.impl())) {
      group.dense.push_back(g);
    } else {
      group.strided.push_back(g);
      group.copies.push_back(g.contiguous());
    }
  }
  return groups;
}
bool has_float16_gradient(const optim::Optimizer& optimizer) {
  const std::vector<Tensor>& all = optimizer.parameters();
  return std::any_of(all.begin(), all.end(),
                     [](const Tensor& p) { return p.grad().defined() && p.grad().dtype() == kFloat16; });
}
/// Returns 1 / scale. The quotient is computed in float64, as in PyTorch.
Tensor inverse_of(const Tensor& scale) { return scale.to(kFloat64).reciprocal().to(kFloat32); }

}  // namespace

GradScaler::GradScaler(GradScalerOptions options) : options_(std::move(options)) {
  if (!is_enabled()) return;
  TANDEM_CHECK(get_growth_factor() > 1, "GradScaler: The growth factor must be > 1.0. Got ", get_growth_factor());
  TANDEM_CHECK(get_backoff_factor() < 1, "GradScaler: The backoff factor must be < 1.0. Got ", get_backoff_factor());
}

void GradScaler::check_has_scale(const char* function) const {
  TANDEM_CHECK(scale_.defined(), "GradScaler::", function, ": Attempted ", function,
               " but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier "
               "in the iteration.");
}
void GradScaler::create_scale(Device device) {
  check_not_recorded("GradScaler::scale", "its first call allocates the scale; run one step before the capture");
  scale_ = full({}, options_.init_scale(), TensorOptions(kFloat32).device(device));
  growth_tracker_ = full({}, init_growth_tracker_, TensorOptions(kInt32).device(device));
}

Tensor GradScaler::scale(const Tensor& output) {
  if (!is_enabled()) return output;
  if (!scale_.defined()) create_scale(output.device());
  return output * scale_.to(output.device());
}
std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> out;
  out.reserve(outputs.size());
  for (const Tensor& t : outputs) out.push_back(scale(t));
  return out;
}

/// Returns the group whose ranks must agree; null if this rank decides alone.
distributed::ProcessGroupPtr GradScaler::group() const {
  distributed::ProcessGroupPtr group = options_.process_group().value_or(nullptr);
  if (!options_.process_group() && distributed::is_initialized()) group = distributed::default_group();
  return group && group->size() > 1 ? group : nullptr;
}
/// Returns 1 if a gradient is infinite or NaN on any rank, else 0: a float32 number on the scale's device. Multiplies
/// the gradients by `factor` if it is defined.
Tensor GradScaler::find_inf(const optim::Optimizer& optimizer, const Tensor& factor) const {
  const NoGradGuard guard;
  std::map<Device, Tensor> found_by_device, factor_by_device;
  auto groups = group_gradients(optimizer);
  for (auto& entry : groups) {
    const Device device = entry.first.first;
    Gradients& gradients = entry.second;
    Tensor& found = found_by_device[device];
    if (!found.defined()) found = zeros({}, TensorOptions(kFloat32).device(device));
    if (!gradients.copies.empty()) TANDEM_DISPATCH(device, find_non_finite, gradients.copies, found);
    if (!factor.defined()) {
      TANDEM_DISPATCH(device, find_non_finite, gradients.dense, found);
      continue;
    }
    Tensor& here = factor_by_device[device];
    if (!here.defined()) here = factor.to(device);
    TANDEM_DISPATCH(device, unscale_all, here, gradients.dense, found);
    for (const Tensor& g : gradients.dense) g.bump_version();
    for (Tensor& g : gradients.strided) g.mul_(here);
  }
  Tensor found;
  for (const auto& entry : found_by_device) {
    const Tensor next = entry.second.to(scale_.device());
    found = found.defined() ? found.maximum(next) : next;
  }
  if (!found.defined()) found = zeros_like(scale_);
  const distributed::ProcessGroupPtr ranks = group();
  TANDEM_CHECK(ranks || !found_by_device.empty(),
               "GradScaler: No inf checks were recorded for this optimizer. None of its ", optimizer.size(),
               " parameters has a gradient");
  if (!ranks) return found;
  optim::detail::warn_if_ranks_never_communicate();  // before this collective, which would hide it
  const Device device = ranks->backend() == "nccl" ? ranks->device() : found.device();
  const Tensor shared = found.to(device);
  ranks->all_reduce(shared, distributed::ReduceOp::MAX, "found_inf of GradScaler")->wait();
  return shared.to(scale_.device());
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  check_has_scale("unscale_");
  OptimizerProgress& progress = progress_[&optimizer];
  TANDEM_CHECK(progress.stage != Stage::unscaled,
               "GradScaler::unscale_: unscale_() has already been called on this optimizer since the last update().");
  TANDEM_CHECK(progress.stage != Stage::stepped,
               "GradScaler::unscale_: unscale_() is being called after step(). Accepted: before step()");
  TANDEM_CHECK(
      !has_float16_gradient(optimizer),
      "GradScaler::unscale_: Attempting to unscale FP16 gradients. They would underflow; accepted: gradients of "
      "other dtypes, such as those of float32 parameters under autocast, or step() without unscale_()");
  const OpSpan span("GradScaler.unscale_");
  progress.found_inf = find_inf(optimizer, inverse_of(scale_));
  progress.stage = Stage::unscaled;
}

Tensor GradScaler::step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure) {
  if (!is_enabled()) return optimizer.step(closure);
  TANDEM_CHECK(!closure, "GradScaler::step: Closure use is not currently supported if GradScaler is enabled.");
  check_has_scale("step");
  OptimizerProgress& progress = progress_[&optimizer];
  TANDEM_CHECK(progress.stage != Stage::stepped,
               "GradScaler::step: step() has already been called since the last update().");
  Tensor factor;
  if (progress.stage == Stage::ready) {
    if (has_float16_gradient(optimizer)) {
      factor = inverse_of(scale_);
      progress.found_inf = find_inf(optimizer, {});
    } else {
      unscale_(optimizer);
    }
  }
  optimizer.step_unless(progress.found_inf, factor);
  progress.stage = Stage::stepped;
  return {};
}

void GradScaler::update() {
  if (!is_enabled()) return;
  check_has_scale("update");
  const NoGradGuard guard;
  Tensor found;
  for (const auto& entry : progress_) {
    const Tensor& next = entry.second.found_inf;
    if (next.defined()) found = found.defined() ? found.maximum(next) : next;
  }
  TANDEM_CHECK(found.defined(), "GradScaler::update: No inf checks were recorded prior to update. Call step() before");
  TANDEM_DISPATCH(scale_.device(), update_scale, found, get_growth_factor(), get_backoff_factor(),
                  get_growth_interval(), scale_, growth_tracker_);
  scale_.bump_version();
  growth_tracker_.bump_version();
  progress_.clear();
}
void GradScaler::set_scale(const Tensor& new_scale) {
  if (!is_enabled()) return;
  check_has_scale("update");
  TANDEM_CHECK(
      new_scale.numel() == 1 && !new_scale.requires_grad(),
      "GradScaler::update: new_scale should be a float or a 1-element FloatTensor with requires_grad=False. Got "
      "a tensor of ",
      new_scale.sizes(), new_scale.requires_grad() ? " that requires a gradient" : "");
  const NoGradGuard guard;
  scale_.copy_(new_scale.view(scale_.sizes()));
  progress_.clear();
}
void GradScaler::update(const Tensor& new_scale) { set_scale(new_scale); }
void GradScaler::update(double new_scale) { set_scale(full({}, new_scale, kFloat64)); }

double GradScaler::get_scale() const {
  return !is_enabled() ? 1 : scale_.defined() ? scale_.item<double>() : options_.init_scale();
}
int64_t GradScaler::growth_tracker() const {
  return growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : init_growth_tracker_;
}

IValue GradScaler::state_dict() const {
  IValue state = IValue::dict();
  if (!is_enabled()) return state;
  state.insert("scale", get_scale());
  state.insert("growth_factor", get_growth_factor());
  state.insert("backoff_factor", get_backoff_factor());
  state.insert("growth_interval", get_growth_interval());
  state.insert("_growth_tracker", growth_tracker());
  return state;
}
void GradScaler::load_state_dict(const IValue& state) {
  if (!is_enabled()) return;
  TANDEM_CHECK(!state.entries().empty(),
               "GradScaler::load_state_dict: The source state dict is empty, possibly because it was saved from a "
               "disabled instance of GradScaler.");
  const double scale = state.at("scale").toScalar().to<double>();
  const double growth = state.at("growth_factor").toScalar().to<double>();
  const double backoff = state.at("backoff_factor").toScalar().to<double>();
  const int64_t interval = state.at("growth_interval").toInt(), tracker = state.at("_growth_tracker").toInt();
  options_.init_scale(scale).growth_factor(growth).backoff_factor(backoff).growth_interval(interval);
  init_growth_tracker_ = tracker;
  if (!scale_.defined()) return;
  const NoGradGuard guard;
  scale_.fill_(scale);
  growth_tracker_.fill_(tracker);
}
void GradScaler::save(serialize::OutputArchive& archive) const {
  const IValue state = state_dict();
  for (const IValue::Entry& entry : state.entries()) archive.write(entry.key().toStringRef(), entry.value());
}
void GradScaler::load(serialize::InputArchive& archive) { load_state_dict(archive.value()); }

}  // namespace tandem::amp
