// Searching in sorted sequences: searchsorted and bucketize.
#include "tandem/ops/reduce/searchsorted.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(none, bucketize, searchsorted);

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, Flag out_int32, Flag right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  const char* op = "searchsorted";
  TANDEM_CHECK(!side || *side == "left" || *side == "right", op, "(): side can only be 'left' or 'right' but got ",
               side.value_or(""));
  TANDEM_CHECK(!side || !right || *side == "right", op,
               "(): side and right can't be set to opposites, got side of left while right was true");
  const bool upper = right || (side && *side == "right");
  const NoGradGuard guard;
  TANDEM_CHECK(sorted_sequence.dim() >= 1, op,
               "(): boundaries tensor should have positive dimension, but got 0 dimension");
  Tensor sequence = sorted_sequence.detach(), wanted = values.detach();
  if (sorter.defined()) {
    TANDEM_CHECK(sorter.sizes() == sequence.sizes(), op,
                 "(): boundary and sorter must have the same size, but got boundary tensor ", sequence.sizes(),
                 " and got sorter tensor ", sorter.sizes());
    TANDEM_CHECK(sorter.dtype() == kInt64, op, "(): sorter must be a tensor of long dtype but got dtype ",
                 sorter.dtype());
    sequence = sequence.gather(-1, sorter);
  }
  TANDEM_CHECK(
      wanted.device() == sequence.device(), op,
      "(): boundaries and input value tensors should have same device type, but got boundaries tensor device type ",
      sequence.device(), " and input value tensor device type ", wanted.device(), "; move one of them with to()");
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
    TANDEM_CHECK(fits, op,
                 "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
                 "input value tensor must match, but we got boundaries tensor ",
                 sequence.sizes(), " and input value tensor ", values.sizes());
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
          // for a NaN this is true in every step, so a NaN goes to the end
          (upper ? at > wanted : at >= wanted).logical_not() & (low < high);
      high = where(beyond, high, where(low < high, middle, high));
      low = where(beyond, middle + 1, low);
    }
  }
  low = low.reshape(values.sizes());
  return out_int32 ? low.to(kInt32) : low;
}
Tensor detail::wrapped_scalar_tensor(const Tensor& x, const Scalar& s) {
  return full({}, s, TensorOptions(result_type(x, s)).device(x.device()));
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, Flag out_int32, Flag right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  TANDEM_CHECK(sorted_sequence.dim() == 1,
               "searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
               "boundaries tensor dim(",
               sorted_sequence.dim(), ")");
  return searchsorted(sorted_sequence, wrapped_scalar_tensor(sorted_sequence, value), out_int32, right, side, sorter);
}
Tensor bucketize(const Tensor& values, const Tensor& boundaries, Flag out_int32, Flag right) {
  TANDEM_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, but got dim(",
               boundaries.dim(), ")");
  return searchsorted(boundaries, values, out_int32, right);
}
Tensor bucketize(const Scalar& value, const Tensor& boundaries, Flag out_int32, Flag right) {
  return bucketize(wrapped_scalar_tensor(boundaries, value), boundaries, out_int32, right);
}

}  // namespace tandem
