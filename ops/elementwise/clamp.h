// Clamping: clamp, clip, clamp_min, clamp_max, with in-place and out versions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns min(max(x, min), max); clip is an alias. Bounds are numbers or tensors, and one of them may be missing. If
/// bounds are numbers, the dtype is x's, unless a bound has a higher category: for example, an integer x with a
/// floating bound gives a floating result. If bounds are tensors, dtypes promote.
/// @throws Error if both bounds are missing. If bounds are numbers, also if the result would be bool, if min is above
/// the range of an integer dtype, or if max is below it
inline Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp(min, max);
}
inline Tensor clamp(const Tensor& x, const Tensor& min = {}, const Tensor& max = {}) { return x.clamp(min, max); }
inline Tensor& clamp_(Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
inline Tensor& clamp_(Tensor& x, const Tensor& min = {}, const Tensor& max = {}) { return x.clamp_(min, max); }
inline Tensor clip(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp(min, max);
}
inline Tensor clip(const Tensor& x, const Tensor& min = {}, const Tensor& max = {}) { return x.clamp(min, max); }
inline Tensor& clip_(Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
inline Tensor& clip_(Tensor& x, const Tensor& min = {}, const Tensor& max = {}) { return x.clamp_(min, max); }
/// clamp with one bound.
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
