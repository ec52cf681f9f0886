// Numerical derivatives along dimensions, estimated from neighbours: gradient.
#include "tandem/ops/reduce/gradient.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, gradient);

namespace {
/// Reshapes the distances of neighbours (size - 1) so that they broadcast along dimension d of x.
Tensor reshape_along(const Tensor& distances, const Tensor& x, int64_t d) {
  Shape column(static_cast<size_t>(x.dim()), 1);
  column[static_cast<size_t>(d)] = distances.numel();
  return distances.reshape(column);
}
/// Returns the slope of the parabola through three neighbours a, b, c with distances h and k, at b or at the ends. For
/// equal distances the slopes are (c - a) / 2h, (-3a + 4b - c) / 2h and (a - 4b + 3c) / 2h.
Tensor gradient_along(const Tensor& x, int64_t d, const Tensor& distances, int64_t edge_order) {
  const int64_t n = x.size(d);
  const Tensor gaps = reshape_along(distances, x, d);
  const auto part = [&](int64_t at, int64_t count) { return x.narrow(d, at, count); };
  const auto gap = [&](int64_t at, int64_t count) { return gaps.narrow(d, at, count); };
  Tensor first = (part(1, 1) - part(0, 1)) / gap(0, 1), last = (part(n - 1, 1) - part(n - 2, 1)) / gap(n - 2, 1);
  if (n == 2) return cat({first, last}, d);
  const auto inner = [&](int64_t at, int64_t count) {
    const Tensor h = gap(at, count), k = gap(at + 1, count), a = part(at, count), b = part(at + 1, count);
    return (part(at + 2, count) - b) * (h / k / (h + k)) + (b - a) * (k / h / (h + k));
  };
  if (edge_order == 2) {
    const Tensor h = gap(0, 1), k = gap(1, 1), e = gap(n - 3, 1), f = gap(n - 2, 1);
    const Tensor second = (part(2, 1) - part(1, 1)) / k, before = (part(n - 2, 1) - part(n - 3, 1)) / e;
    first = first + (first - second) * (h / (h + k));
    last = last + (last - before) * (f / (e + f));
  }
  return cat({first, inner(0, n - 2), last}, d);
}
/// Returns the derivatives along dims. distances(i, d, x) are the distances of neighbours along the i-th listed
/// dimension, d.
template <class Distances>
std::vector<Tensor> numerical_gradients(const Tensor& given, const std::vector<int64_t>& dims, int64_t edge_order,
                                        const Distances& distances) {
  const Tensor x = promote_to_floating(given);
  TANDEM_CHECK(edge_order == 1 || edge_order == 2, "gradient only supports edge_order=1 and edge_order=2, got ",
               edge_order);
  std::vector<Tensor> all;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim("gradient", dims[i], x.dim());
    TANDEM_CHECK(x.dim() > 0 && x.size(d) > edge_order,
                 "gradient expected each dimension size to be at least edge_order+1, got ", x.sizes(),
                 " and edge_order ", edge_order);
    all.push_back(gradient_along(x, d, distances(i, d, x), edge_order));
  }
  return all;
}
std::vector<int64_t> all_dims(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}
std::vector<int64_t> to_dims(const Tensor& x, std::optional<int64_t> dim) {
  return dim ? std::vector<int64_t>{*dim} : all_dims(x);
}
std::vector<Tensor> gradient_with_spacing(const Tensor& x, ArrayRef<Scalar> spacing, const std::vector<int64_t>& dims,
                                          int64_t edge_order) {
  TANDEM_CHECK(spacing.size() == 1 || spacing.size() == dims.size(),
               "gradient expected spacing to be unspecified, a scalar, or a list of one number per dimension, ",
               dims.size(), ", but got a list of length ", spacing.size());
  return numerical_gradients(x, dims, edge_order, [&](size_t i, int64_t d, const Tensor& real) {
    return full({real.size(d) - 1}, spacing[spacing.size() == 1 ? 0 : i], real.options());
  });
}
std::vector<Tensor> gradient_at_coordinates(const Tensor& x, TensorList positions, const std::vector<int64_t>& dims,
                                            int64_t edge_order) {
  TANDEM_CHECK(positions.size() == dims.size(),
               "gradient expected spacing to be a list of one tensor of coordinates per dimension, ", dims.size(),
               ", but got a list of length ", positions.size());
  return numerical_gradients(x, dims, edge_order, [&](size_t i, int64_t d, const Tensor&) {
    TANDEM_CHECK(positions[i].dim() == 1,
                 "gradient expected each element of spacing to have one dimension, but got an element with ",
                 positions[i].dim(), " dimensions!");
    TANDEM_CHECK(positions[i].size(0) == x.size(d), "gradient: the coordinates along dimension ", d, " of ", x.sizes(),
                 " are ", positions[i].sizes(), "; accepted: (", x.size(d), ",)");
    return promote_to_floating(positions[i]).diff();
  });
}
}  // namespace

std::vector<Tensor> gradient(const Tensor& x, const std::optional<Scalar>& spacing, std::optional<int64_t> dim,
                             int64_t edge_order) {
  return gradient_with_spacing(x, spacing.value_or(1), to_dims(x, dim), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, const Scalar& spacing, IntArrayRef dims, int64_t edge_order) {
  return gradient_with_spacing(x, spacing, dims.vec(), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order) {
  return gradient_with_spacing(x, Scalar(1), dims.vec(), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim,
                             int64_t edge_order) {
  return gradient_with_spacing(x, spacing, to_dims(x, dim), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, int64_t edge_order) {
  return gradient_with_spacing(x, spacing, dims.vec(), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, TensorList positions, std::optional<int64_t> dim, int64_t edge_order) {
  return gradient_at_coordinates(x, positions, to_dims(x, dim), edge_order);
}
std::vector<Tensor> gradient(const Tensor& x, TensorList positions, IntArrayRef dims, int64_t edge_order) {
  return gradient_at_coordinates(x, positions, dims.vec(), edge_order);
}

}  // namespace tandem
