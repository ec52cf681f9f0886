// Clamping: clamp, clip, clamp_min, clamp_max, in place and with out.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// min(max(x, min), max) in x's dtype, or a floating one where a bound is one and x is of integers; clip is another
/// spelling. Bounds are numbers or tensors, of which one may be undefined.
inline Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp(min, max);
}
inline Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp(min, max); }
inline Tensor& clamp_(Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
inline Tensor& clamp_(Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp_(min, max); }
inline Tensor clip(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp(min, max);
}
inline Tensor clip(const Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp(min, max); }
inline Tensor& clip_(Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
inline Tensor& clip_(Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp_(min, max); }
/// One bound of clamp.
inline Tensor clamp_min(const Tensor& x, const Scalar& bound) { return x.clamp_min(bound); }
inline Tensor clamp_min(const Tensor& x, const Tensor& bound) { return x.clamp_min(bound); }
inline Tensor& clamp_min_(Tensor& x, const Scalar& bound) { return x.clamp_min_(bound); }
inline Tensor& clamp_min_(Tensor& x, const Tensor& bound) { return x.clamp_min_(bound); }
inline Tensor clamp_max(const Tensor& x, const Scalar& bound) { return x.clamp_max(bound); }
inline Tensor clamp_max(const Tensor& x, const Tensor& bound) { return x.clamp_max(bound); }
inline Tensor& clamp_max_(Tensor& x, const Scalar& bound) { return x.clamp_max_(bound); }
inline Tensor& clamp_max_(Tensor& x, const Tensor& bound) { return x.clamp_max_(bound); }

Tensor& clamp_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor& clip_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor& clamp_min_out(Tensor& out, const Tensor& x, const Scalar& bound);
Tensor& clamp_max_out(Tensor& out, const Tensor& x, const Scalar& bound);

}  // namespace tandem
