// Windows along a dimension, parts that share nothing, transposes, and what a tensor says of itself.
#include <iostream>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  const int64_t d = wrap_dim("unfold", dimension, dim()), n = dim() == 0 ? 1 : this->size(d);
  TANDEM_CHECK(size >= 0 && size <= n && step > 0, "unfold: size is ", size, " and step ", step, " for dimension ", d,
               " of ", sizes(), "; accepted: a size of 0 to ", n, " and a positive step");
  Shape to = sizes(), strides = this->strides();
  const int64_t stride = dim() == 0 ? 1 : this->stride(d), count = (n - size) / step + 1;
  if (dim() > 0) to[static_cast<size_t>(d)] = count, strides[static_cast<size_t>(d)] = stride * step;
  to.push_back(size), strides.push_back(stride);
  Tensor y = core::as_strided(*this, to, strides, storage_offset());
  return record_view("unfold", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads {
                       if (sizes.empty()) return {dy.sum(-1)};
                       if (size == 0) return {zeros(sizes, dy.options())};
                       // An element is in several windows perhaps: window i has place i * step + j.
                       const TensorOptions places = TensorOptions(kInt64).device(dy.device());
                       const Tensor at = arange(count, places).unsqueeze(1) * step + arange(size, places);
                       const Tensor flat = dy.movedim(-1, d + 1).flatten(d, d + 1);
                       return {zeros(sizes, dy.options()).index_add(d, at.reshape({-1}), flat)};
                     });
}

namespace {
std::vector<Tensor> apart(std::vector<Tensor> parts) {
  for (Tensor& part : parts) part = part.clone();
  return parts;
}
}  // namespace
std::vector<Tensor> Tensor::unsafe_chunk(int64_t chunks, int64_t dim) const { return apart(chunk(chunks, dim)); }
std::vector<Tensor> Tensor::unsafe_split(int64_t size, int64_t dim) const { return apart(split(size, dim)); }
std::vector<Tensor> Tensor::unsafe_split_with_sizes(IntArrayRef sizes, int64_t dim) const {
  return apart(split(sizes, dim));
}

Tensor Tensor::squeeze(IntArrayRef dims) const {
  std::vector<bool> chosen(std::max<size_t>(sizes().size(), 1), false);
  for (const int64_t d : dims) {
    const auto at = static_cast<size_t>(wrap_dim("squeeze", d, dim()));
    TANDEM_CHECK(!chosen[at], "squeeze: dims ", dims, " name dimension ", at, " twice; accepted: each once");
    chosen[at] = true;
  }
  Tensor y = *this;
  for (int64_t d = dim() - 1; d >= 0; --d)
    if (chosen[static_cast<size_t>(d)]) y = y.squeeze(d);
  return y.is_same(*this) ? alias() : y;
}
Tensor Tensor::adjoint() const {
  TANDEM_CHECK(dim() >= 2, "adjoint: x is ", sizes(), "; accepted: two dimensions or more");
  return transpose(-2, -1);
}
Tensor Tensor::matrix_H() const {
  TANDEM_CHECK(dim() == 2, "matrix_H: x is ", sizes(), "; accepted: a matrix");
  return transpose(0, 1);
}
Tensor Tensor::alias() const {
  return record_view("alias", core::alias(*this), *this,
                     [](const Context&, const Tensor& dy) -> Grads { return {dy}; });
}
Tensor Tensor::sum_to_size(IntArrayRef wanted) const {
  bool fits = static_cast<int64_t>(wanted.size()) <= dim();
  for (size_t k = 1; fits && k <= wanted.size(); ++k)
    fits = wanted[wanted.size() - k] == 1 || wanted[wanted.size() - k] == sizes()[sizes().size() - k];
  TANDEM_CHECK(fits, "sum_to_size: ", wanted, " does not broadcast to ", sizes());
  return tandem::sum_to_size(*this, wanted);
}

bool Tensor::is_nonzero() const {
  TANDEM_CHECK(numel() == 1, "is_nonzero: the tensor is ", sizes(), "; accepted: one element");
  const Scalar value = item();
  return value.is_floating_point() ? value.to_double() != 0 : value.to_int64() != 0;
}
void Tensor::print() const {
  std::ostringstream line;
  if (defined())
    line << '[' << toString() << ' ' << sizes() << "]\n";
  else
    line << "[UndefinedTensor]\n";
  std::cerr << line.str();
}
std::string Tensor::toString() const {
  return std::string(is_cuda() ? "CUDA" : "CPU") + libtorch_name(dtype()) + "Type";
}

}  // namespace tandem
