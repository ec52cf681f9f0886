// Elements moved on along dimensions, around the end: roll.
#include "tandem/ops/shape/roll.h"

#include "tandem/autograd/record.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const {
  TANDEM_CHECK(!shifts.empty(), "roll: shifts is empty; accepted: one shift for each dimension");
  if (dims.empty() && shifts.size() == 1) return reshape_result(reshape({-1}).roll(shifts, 0), sizes());
  TANDEM_CHECK(shifts.size() == dims.size(), "roll: shifts are ", shifts, " and dims ", dims,
               "; both must be of one length");
  TANDEM_CHECK_AS(IndexError, dim() > 0, "roll: a scalar has no dimension ", dims, "; accepted: no dims");
  Tensor y;
  std::vector<int64_t> back;  // a dimension may be rolled more than once
  {
    const NoGradGuard guard;
    y = *this;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t d = wrap_dim("roll", dims[i], dim());
      const int64_t n = size(d);
      const int64_t shift = n ? (shifts[i] % n + n) % n : 0;
      back.push_back(-shift);
      if (shift != 0) y = cat({y.narrow(d, n - shift, shift), y.narrow(d, 0, n - shift)}, d);
    }
    if (y.storage() == storage()) y = clone(MemoryFormat::Contiguous);
  }
  return record("roll", y, {*this}, {},
                [back, dims = dims.vec()](const Context&, const Tensor& dy) -> Grads { return {dy.roll(back, dims)}; });
}

}  // namespace tandem
