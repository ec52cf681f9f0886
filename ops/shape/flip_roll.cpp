// Reordering elements along dimensions: flip, fliplr, flipud, roll, rot90.
#include "tandem/ops/shape/flip_roll.h"

#include <algorithm>
#include <numeric>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, flip, fliplr, flipud, roll, rot90);

Tensor Tensor::flip(IntArrayRef dims) const {
  unsigned named = 0;
  for (const int64_t d : dims) {
    const unsigned bit = 1u << wrap_dim("flip", d, dim());
    TANDEM_CHECK(!(named & bit), "flip: dim ", wrap_dim("flip", d, dim()),
                 " appears multiple times in the list of dims ", dims);
    named |= bit;
  }
  Tensor y;
  {
    const NoGradGuard guard;
    // Dimensions are processed in memory order, so that the result keeps this order.
    const Shape strides = core::strides_like(*this, MemoryFormat::Preserve);
    std::vector<int64_t> order(strides.size());
    std::iota(order.begin(), order.end(), 0);
    const auto is_outer = [&](int64_t a, int64_t b) {
      return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
    };
    if (!is_contiguous()) std::stable_sort(order.begin(), order.end(), is_outer);
    y = core::permute(*this, order);
    for (size_t k = 0; k < order.size(); ++k) {
      if (!(named >> order[k] & 1)) continue;
      const int64_t n = size(order[k]);
      y = y.index_select(static_cast<int64_t>(k), n - 1 - arange(n, TensorOptions(kInt64).device(device())));
    }
    y = y.storage() == storage() ? clone() : core::as_strided(y, sizes(), strides, 0);
  }
  return record_op("flip", y, {*this}, {},
                   [dims = Shape(dims)](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.flip(dims)}; });
}
Tensor Tensor::fliplr() const {
  TANDEM_CHECK(dim() >= 2, "fliplr: Input must be >= 2-d, got ", sizes());
  return flip({1});
}
Tensor Tensor::flipud() const {
  TANDEM_CHECK(dim() >= 1, "flipud: Input must be >= 1-d, got a scalar");
  return flip({0});
}

Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const {
  TANDEM_CHECK(!shifts.empty(), "roll: `shifts` required, got an empty list; pass one shift per dimension in dims");
  if (dims.empty() && shifts.size() == 1) return reshape_result(reshape({-1}).roll(shifts, 0), sizes());
  TANDEM_CHECK(shifts.size() == dims.size(), "roll: shifts and dimensions must align. shifts: ", shifts.size(),
               ", dims:", dims.size(), "; got shifts ", shifts, " and dims ", dims);
  TANDEM_CHECK_AS(IndexError, dim() > 0, "roll: Dimension specified as ", dims[0],
                  " but tensor has no dimensions; pass no dims for a scalar");
  Tensor y;
  // Shifts that undo the roll. There is one for each entry of dims, because a dimension may occur more than once.
  std::vector<int64_t> back;
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
  return record_op(
      "roll", y, {*this}, {},
      [back, dims = dims.vec()](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.roll(back, dims)}; });
}

Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const {
  TANDEM_CHECK(dims.size() == 2, "rot90: expected total rotation dims == 2, but got dims = ", dims.size());
  TANDEM_CHECK(dim() >= 2, "rot90: expected total dims >= 2, but got total dims = ", dim(), " for sizes ", sizes());
  const int64_t from = wrap_dim("rot90", dims[0], dim()), to = wrap_dim("rot90", dims[1], dim());
  TANDEM_CHECK(from != to, "rot90: expected rotation dims to be different, but got dim0 = ", dims[0],
               " and dim1 = ", dims[1]);
  Tensor y;
  {
    const NoGradGuard guard;
    switch ((k % 4 + 4) % 4) {
      case 1: y = transpose(from, to).flip({from}); break;
      case 2: y = flip({from, to}); break;
      case 3: y = transpose(from, to).flip({to}); break;
      default: y = clone(MemoryFormat::Contiguous);
    }
  }
  return record_op("rot90", y, {*this}, {}, [=](const BackwardContext&, const Tensor& dy) -> Grads {
    return {dy.rot90(-(k % 4), {from, to})};
  });
}

}  // namespace tandem
