// Tensors made as another one is, and sequences by powers or with their end.
#include <cmath>

#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"

namespace tandem {

Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options) {
  Shape strides(sizes.size(), 0);
  int64_t stride = 1;
  TANDEM_CHECK(physical_layout.size() == sizes.size(), "empty_permuted: sizes are ", sizes, " and physical_layout ",
               physical_layout, "; accepted: each dimension once");
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(physical_layout[i]);
    TANDEM_CHECK(d < sizes.size() && strides[d] == 0, "empty_permuted: sizes are ", sizes, " and physical_layout ",
                 physical_layout, "; accepted: each dimension once");
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return empty_strided(sizes, strides, options);
}
using namespace detail;

namespace {
/// Options with x's dtype and device where they leave these open.
TensorOptions made_as(const Tensor& x, const TensorOptions& options) {
  return options.dtype(options.dtype_or(x.dtype())).device(options.device_or(x.device()));
}
}  // namespace
Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& options) const {
  return empty(sizes, made_as(*this, options));
}
Tensor Tensor::new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) const {
  return empty_strided(sizes, strides, made_as(*this, options));
}
Tensor Tensor::new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) const {
  return full(sizes, value, made_as(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef sizes, const TensorOptions& options) const {
  return ones(sizes, made_as(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& options) const {
  return zeros(sizes, made_as(*this, options));
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  TANDEM_CHECK(!options.pinned_memory(),
               "empty_strided: pinned memory was asked for, which it does not make; use pin_memory()");
  Tensor y = core::empty_strided(sizes, strides, options.dtype(), options.device());
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  const DType type = options.dtype();
  const TensorOptions wide = options.requires_grad(false).dtype(kFloat64);  // powers of the rounded would be far off
  TANDEM_CHECK(type != kBool, "logspace: dtype is bool; accepted: numbers");
  Tensor y = linspace(start.to_double(), end.to_double(), steps, wide);
  y = (full({}, base, wide).pow(y)).to(type);
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return range(start, end, 1, options);
}
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const double first = start.to_double(), last = end.to_double(), by = step.to_double();
  TANDEM_CHECK(by != 0 && (last - first) * by >= 0 && std::isfinite(first) && std::isfinite(last), "range: steps of ",
               step, " do not lead from ", start, " to ", end);
  const double count = std::floor((last - first) / by) + 1;
  // Half a step behind the last, so that rounding neither adds nor loses one.
  const Tensor y = arange(first, first + (count - 0.5) * by, by, options.requires_grad(false).dtype(options.dtype()));
  return options.requires_grad() ? y.requires_grad_() : y;
}
bool can_cast(DType from, DType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

}  // namespace tandem
