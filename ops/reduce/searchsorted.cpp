// Searching in sorted sequences: searchsorted and bucketize.
#include "tandem/ops/reduce/searchsorted.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(none, bucketize, searchsorted);

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, Flag out_int32, Flag right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  const char* op = "searchsorted";
  TANDEM_CHECK(!side || *side == "left" || *side == "right", op, ": side is \"", side.value_or(""),
               "\"; accepted: \"left\" and \"right\"");
  TANDEM_CHECK(!side || !right || *side == "right", op, ": right is set and side is \"left\"; they must agree");
  const bool upper = right || (side && *side == "right");
  const NoGradGuard guard;
  TANDEM_CHECK(sorted_sequence.dim() >= 1, op, ": the sequence is a scalar; accepted: one dimension or more");
  Tensor sequence = sorted_sequence.detach(), wanted = values.detach();
  if (sorter.defined()) {
    TANDEM_CHECK(sorter.sizes() == sequence.sizes() && sorter.dtype() == kInt64, op, ": sorter is ", sorter.dtype(),
                 sorter.sizes(), "; accepted: int64", sequence.sizes());
    sequence = sequence.gather(-1, sorter);
  }
  TANDEM_CHECK(wanted.device() == sequence.device(), op, ": values are on ", wanted.device(), " and the sequence on ",
               sequence.device(), "; both must be on one device");
  if (wanted.dtype() != sequence.dtype()) {
    const DType type = result_type(wanted, sequence);
    wanted = wanted.to(type);
    sequence = sequence.to(type);
  }
  const int64_t n = sequence.size(-1);
  if (sequence.dim() == 1) {
    sequence = sequence.unsqueeze(0);
    wanted = wanted.reshape({1, -1});
  } else {
    bool fits = wanted.dim() == sequence.dim();
    for (int64_t d = 0; fits && d + 1 < wanted.dim(); ++d) fits = wanted.size(d) == sequence.size(d);
    TANDEM_CHECK(fits, op, ": the sequence is ", sequence.sizes(), " and values are ", values.sizes(),
                 "; all sizes but the last must agree");
    const int64_t rows = numel_of(IntArrayRef(sequence.sizes()).slice(0, sequence.sizes().size() - 1));
    sequence = sequence.reshape({rows, n});
    wanted = wanted.reshape({rows, wanted.size(-1)});
  }
  const TensorOptions options = TensorOptions(kInt64).device(values.device());
  Tensor low = zeros(wanted.sizes(), options);
  if (n > 0 && low.numel() > 0) {  // binary search
    Tensor high = full_like(low, n);
    for (int64_t left = n; left > 0; left /= 2) {
      const Tensor middle = (low + high).floor_divide(2), at = sequence.gather(1, middle.clamp_max(n - 1));
      const Tensor beyond =
          (upper ? at > wanted : at >= wanted).logical_not() & (low < high);  // true for NaN, which goes to the end
      high = where(beyond, high, where(low < high, middle, high));
      low = where(beyond, middle + 1, low);
    }
  }
  low = low.reshape(values.sizes());
  return out_int32 ? low.to(kInt32) : low;
}
Tensor detail::number_beside(const Tensor& x, const Scalar& s) {
  return full({}, s, TensorOptions(result_type(x, s)).device(x.device()));
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, Flag out_int32, Flag right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  TANDEM_CHECK(sorted_sequence.dim() == 1, "searchsorted: a number in a sequence of ", sorted_sequence.sizes(),
               "; accepted: one dimension");
  return searchsorted(sorted_sequence, number_beside(sorted_sequence, value), out_int32, right, side, sorter);
}
Tensor bucketize(const Tensor& values, const Tensor& boundaries, Flag out_int32, Flag right) {
  TANDEM_CHECK(boundaries.dim() == 1, "bucketize: boundaries are ", boundaries.sizes(), "; accepted: one dimension");
  return searchsorted(boundaries, values, out_int32, right);
}
Tensor bucketize(const Scalar& value, const Tensor& boundaries, Flag out_int32, Flag right) {
  return bucketize(number_beside(boundaries, value), boundaries, out_int32, right);
}

}  // namespace tandem
