// Bernoulli-distributed numbers: bernoulli, bernoulli_.
#include "tandem/ops/random/bernoulli.h"

#include "tandem/kernels/fill.h"
#include "tandem/ops/random/fill_random.h"

namespace tandem {

/// Returns a mask of the elements whose uniform random number is below p. The numbers have 24 bits, as in the kernel of
/// bernoulli_(double).
static Tensor draw_bernoulli_mask(const Tensor& p, IntArrayRef sizes) {
  const NoGradGuard guard;
  check_each_in_range("bernoulli", "p must be in [0, 1]", p, 0, 1);
  return rand(sizes, TensorOptions(kFloat32).device(p.device())) < p.to(p.dtype() == kFloat64 ? kFloat64 : kFloat32);
}
Tensor& Tensor::bernoulli_(double p) const {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return fill_random("bernoulli_", self(), [&](const RandomReservation& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), bernoulli, p, d.state, d.offset, y);
  });
}
Tensor& Tensor::bernoulli_(const Tensor& p) const {
  check_random_dtype("bernoulli_", p);
  TANDEM_CHECK(broadcast_shapes("bernoulli_", sizes(), p.sizes()) == sizes(), "bernoulli_: p is ", p.sizes(),
               "; it must broadcast to x's sizes, ", sizes());
  TANDEM_CHECK(p.device() == device(), "bernoulli_: Expected all tensors to be on the same device, but got p is on ",
               p.device(), ", different from other tensors on ", device());
  return autograd::run_inplace(
      "bernoulli_", self(), {}, [&] { copy_elements(draw_bernoulli_mask(p, sizes()), self()); },
      [&](const Tensor&) { return draw_bernoulli_mask(p, sizes()).to(dtype()); }, autograd::InplaceAccess::overwrite);
}
Tensor Tensor::bernoulli() const {
  check_random_dtype("bernoulli", *this);
  return record_with_zero_derivatives("bernoulli", draw_bernoulli_mask(*this, sizes()).to(dtype()), *this);
}
Tensor Tensor::bernoulli(double p) const { return empty_like(*this).bernoulli_(p); }
Tensor Tensor::bernoulli(const Tensor& p) const {
  return record_with_zero_derivatives("bernoulli", empty_like(*this).bernoulli_(p.detach()), *this, p);
}

}  // namespace tandem
