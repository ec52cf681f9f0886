// Extremes up to each element, what is there most often, and slices made shorter.
#include "tandem/autograd/inplace.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/reduce/search.h"
#include "tandem/ops/reduce/statistics.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using namespace detail;

namespace {
/// 0, 1, 2, ... along dimension d of a tensor of x's sizes.
Tensor places_along(const Tensor& x, int64_t d) {
  Shape column(static_cast<size_t>(x.dim()), 1);
  column[static_cast<size_t>(d)] = x.size(d);
  return arange(x.size(d), TensorOptions(kInt64).device(x.device())).reshape(column).expand(x.sizes());
}
/// In log2(size) steps: after k of them each element knows the extreme of itself and the 2^k - 1 before it.
std::tuple<Tensor, Tensor> running_extreme(const char* op, const Tensor& x, int64_t dim, bool largest) {
  const int64_t d = wrap_dim(op, dim, x.dim());
  if (x.dim() == 0) return {x.clone(), zeros({}, TensorOptions(kInt64).device(x.device()))};
  Tensor at;
  {
    const NoGradGuard guard;
    Tensor y = x.detach();
    at = places_along(x, d);
    for (int64_t reach = 1; reach < x.size(d); reach *= 2) {
      const int64_t rest = x.size(d) - reach;
      const Tensor before = y.narrow(d, 0, rest), here = y.narrow(d, reach, rest);
      const Tensor wins = largest ? here >= before : here <= before;
      const Tensor later = (wins & before.eq(before)) | here.ne(here);  // a NaN is unequal to itself
      y = cat({y.narrow(d, 0, reach), where(later, here, before)}, d);
      at = cat({at.narrow(d, 0, reach), where(later, at.narrow(d, reach, rest), at.narrow(d, 0, rest))}, d);
    }
    at = at.clone(MemoryFormat::Contiguous);
  }
  return {x.gather(d, at), at};
}
}  // namespace
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return running_extreme("cummax", *this, dim, true); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return running_extreme("cummin", *this, dim, false); }

std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, Flag keepdim) const {
  const int64_t d = wrap_dim("mode", dim, this->dim());
  if (this->dim() == 0) return {clone(), zeros({}, TensorOptions(kInt64).device(device()))};
  TANDEM_CHECK_AS(IndexError, size(d) > 0, "mode: dimension ", d, " of ", sizes(), " has no elements to choose from");
  Tensor at;
  {
    const NoGradGuard guard;
    const auto [sorted, order] = detach().transpose(d, -1).sort(-1);
    // Counts the equal elements before each: the last of a run has the most. NaNs come last, each a run of its own.
    const Tensor place = places_along(sorted, sorted.dim() - 1);
    Tensor starts = place.clone();
    if (size(d) > 1) {
      const Tensor later = starts.narrow(-1, 1, size(d) - 1);
      later.masked_fill_(sorted.narrow(-1, 1, size(d) - 1).eq(sorted.narrow(-1, 0, size(d) - 1)), 0);
    }
    const Tensor count = place - std::get<0>(starts.cummax(-1)), last = count.argmax(-1, true);
    at = order.gather(-1, last).transpose(d, -1).contiguous();
  }
  const Tensor values = gather(d, at);
  if (keepdim) return {values, at};
  Shape left = values.sizes();
  left.erase(static_cast<size_t>(d));
  return {reshape_result(values, left), reshape_result(at, left)};
}

Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  check_accepted("renorm", Accepts::real, dtype());
  TANDEM_CHECK(this->dim() >= 2 && p.to_double() > 0 && maxnorm.to_double() >= 0, "renorm: x is ", sizes(), ", p ", p,
               " and maxnorm ", maxnorm, "; accepted: two dimensions or more, p > 0 and maxnorm >= 0");
  if (is_half(dtype())) return to(kFloat32).renorm(p, dim, maxnorm).to(dtype());
  const int64_t d = wrap_dim("renorm", dim, this->dim());
  std::vector<int64_t> others;
  for (int64_t k = 0; k < this->dim(); ++k)
    if (k != d) others.push_back(k);
  const Tensor lengths = detach().norm(p.to_double(), others, true), over = lengths > maxnorm;
  // The recorded norm leaves out the slices that are not shortened: a NaN among them would make the gradient NaN.
  const Tensor length = autograd::any_wants_grad({*this})
                            ? tandem::where(over, *this, Scalar(0)).norm(p.to_double(), others, true)
                            : lengths;
  const Tensor scale = tandem::where(over, maxnorm.to_double() / (length + 1e-7), 1.0);
  return contiguous() * scale;
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return autograd::inplace(
      "renorm_", self(), {}, [&] { copy_elements(detach().renorm(p, dim, maxnorm), self()); },
      [&](const Tensor& old) { return old.clone().renorm(p, dim, maxnorm); });
}

}  // namespace tandem
