// Casts of operands under autocast.
#include "tandem/ops/autocast.h"

#include "tandem/core/autocast/autocast_cache.h"

namespace tandem::detail {

bool Autocast::is_eligible(const Tensor& x) const {
  return is_active_ && x.defined() && x.is_floating_point() && x.dtype() != kFloat64 &&
         x.device().type() == device_type_;
}
void Autocast::disable_autocast(CastPolicy policy, std::initializer_list<TensorList> operands) {
  AutocastState& state = ThreadContext::current().autocast;
  for (const TensorList list : operands)
    for (const Tensor& x : list)
      if (!is_active_ && x.defined() && state.enabled[static_cast<size_t>(x.device().type())]) {
        is_active_ = true;
        device_type_ = x.device().type();
      }
  if (!is_active_) return;
  const DType lower = state.dtypes[static_cast<size_t>(device_type_)];
  cast_dtype_ = policy == CastPolicy::float32 ? kFloat32 : lower;
  if (policy == CastPolicy::promote)
    for (const TensorList list : operands)
      for (const Tensor& x : list)
        if (is_eligible(x) && x.dtype() != lower) cast_dtype_ = kFloat32;
  previous_enabled_ = std::exchange(state.enabled, {});
  state.is_any_enabled = false;
}
void Autocast::restore_autocast() {
  AutocastState& state = ThreadContext::current().autocast;
  state.enabled = previous_enabled_;
  state.is_any_enabled = true;
}

Tensor Autocast::operator()(const Tensor& x) const {
  if (!is_eligible(x) || x.dtype() == cast_dtype_) return x;
  AutocastState& state = ThreadContext::current().autocast;
  const bool is_weight = x.dtype() == kFloat32 && x.requires_grad() && x.is_leaf();
  if (!is_weight || !state.cache_enabled) return x.to(cast_dtype_);
  if (!state.cache) state.cache = std::make_shared<AutocastCache>();
  return state.cache->cached_cast(x, cast_dtype_);
}
std::vector<Tensor> Autocast::operator()(TensorList list) const {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& x : list) out.push_back((*this)(x));
  return out;
}
std::optional<Tensor> Autocast::operator()(const std::optional<Tensor>& x) const {
  return x ? std::optional((*this)(*x)) : x;
}

}  // namespace tandem::detail
