// Methods of Tensor that are made of others, beside the ones of their names.
#include <cmath>
#include <numbers>

#include "tandem/autograd/meta.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"

namespace tandem {

bool Tensor::retains_grad() const {
  const autograd::Meta* m = autograd::find_meta(*this);
  return m && m->retained;
}
bool Tensor::is_view() const {
  const autograd::Meta* m = autograd::find_meta(*this);
  return m && m->base.defined();
}
int64_t Tensor::output_nr() const {
  const autograd::Meta* m = autograd::find_meta(*this);
  return m ? m->slot : 0;
}

Tensor Tensor::round(int64_t decimals) const {
  if (decimals == 0) return round();
  TANDEM_CHECK(is_floating_point(), "round: dtype is ", dtype(), " and decimals ", decimals,
               "; accepted: floating point, or no decimals");
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return decimals > 0 ? (*this * power).round() / power : (*this / power).round() * power;
}
Tensor& Tensor::round_(int64_t decimals) const {
  return formula_inplace("round_", self(), {}, [&](const Tensor& x) { return x.round(decimals); });
}
Tensor Tensor::angle() const {
  const Tensor x = is_floating_point() ? *this : to(get_default_dtype());
  const Tensor positive = tandem::where(x.isnan(), x.detach(), zeros_like(x));
  return tandem::where(x < 0, Scalar(std::numbers::pi), positive) + x.sign() * 0;  // whose gradient is 0
}
Tensor Tensor::prod(int64_t dim, Flag keepdim, std::optional<DType> dtype) const {
  if (dtype && !tandem::is_floating_point(*dtype)) return to(*dtype).prod(dim, keepdim).to(*dtype);
  const Tensor x = dtype ? to(*dtype) : is_floating_point() ? *this : to(kInt64);
  const int64_t d = wrap_dim("prod", dim, x.dim());
  if (x.dim() == 0) return x.clone();
  if (x.size(d) > 0) {
    const Tensor last = (x.size(d) == 1 ? lead_gradient_to(x) : x).cumprod(d).narrow(d, -1, 1);
    return (keepdim ? last : last.squeeze(d)).clone(MemoryFormat::Contiguous);
  }
  Shape sizes = x.sizes();
  sizes[static_cast<size_t>(d)] = 1;
  return record("prod", ones(sizes, x.options()).sum(d, keepdim), {x}, {},
                [sizes = Shape(x.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, zeros(sizes, dy.options()))};
                });
}
Tensor Tensor::view(DType to) const {
  const int64_t before = itemsize(), after = detail::element_size(to);
  Shape sizes = this->sizes(), strides = this->strides();
  int64_t offset = storage_offset();
  if (before != after) {
    TANDEM_CHECK(dim() > 0 && strides.back() == 1, "view: x is ", dtype(), sizes, " with strides ", strides, "; for ",
                 to, " the elements of its last dimension must lie together");
    if (before > after) {
      const int64_t parts = before / after;
      for (int64_t& stride : strides) stride *= parts;
      offset *= parts, sizes.back() *= parts;
    } else {
      const int64_t joined = after / before;
      bool whole = sizes.back() % joined == 0 && offset % joined == 0;
      for (size_t d = 0; d + 1 < strides.size(); ++d) whole = whole && strides[d] % joined == 0;
      TANDEM_CHECK(whole, "view: x is ", dtype(), sizes, " with strides ", strides, " from element ", offset, "; ",
                   joined, " of its elements make one of ", to,
                   ", so all but the last stride must be multiples of that");
      for (int64_t& stride : strides) stride /= joined;
      offset /= joined, sizes.back() /= joined;
    }
    strides.back() = 1;
  }
  return Tensor(Ref<TensorImpl>(new TensorImpl(storage(), sizes, strides, offset, to)));
}
std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  TANDEM_CHECK(indices_or_sections.is_cpu() && indices_or_sections.dtype() == kInt64 && indices_or_sections.dim() <= 1,
               "tensor_split: the parts are ", indices_or_sections.dtype(), indices_or_sections.sizes(), " on ",
               indices_or_sections.device(), "; accepted: int64 of one dimension or none, on the CPU");
  if (indices_or_sections.dim() == 0) return tensor_split(indices_or_sections.item<int64_t>(), dim);
  const Tensor indices = indices_or_sections.contiguous();
  return tensor_split(IntArrayRef(indices.data<int64_t>(), static_cast<size_t>(indices.numel())), dim);
}

}  // namespace tandem
