// Padding: pad, constant_pad_nd, reflection_pad1d to 3d, replication_pad1d to 3d.
#include "tandem/ops/nn/pad.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, reflection_pad1d, reflection_pad2d, replication_pad1d, replication_pad2d,
                   replication_pad3d);
TANDEM_CAST_POLICY(none, constant_pad_nd, pad, reflection_pad3d);

namespace {

void check_pad_sizes(const char* op, const Tensor& x, IntArrayRef pad) {
  TANDEM_CHECK(pad.size() % 2 == 0, op, ": Length of pad must be even but instead it equals ", pad.size());
  TANDEM_CHECK(static_cast<int64_t>(pad.size() / 2) <= x.dim(), op,
               ": Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
               pad.size(), " while the input has ", x.dim(), " dimensions.");
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const int64_t dim = x.dim() - 1 - static_cast<int64_t>(k);
    TANDEM_CHECK(x.size(dim) + pad[2 * k] + pad[2 * k + 1] >= 0, op, ": The input size ", x.size(dim),
                 ", plus negative padding ", pad[2 * k], " and ", pad[2 * k + 1],
                 " resulted in a negative output size, which is invalid. Check dimension ", dim, " of your input.");
  }
}

/// Returns the position of the element of x that padding puts at position i, which goes from -before to size + after -
/// 1.
int64_t get_source_index(PaddingMode mode, int64_t i, int64_t size) {
  if (mode == PaddingMode::replicate) return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == PaddingMode::circular) return (i + size) % size;
  return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
}
/// Pads one dimension with index_select, whose gradient sums over repeated elements.
Tensor pad_dim(const char* op, const Tensor& x, int64_t dim, int64_t before, int64_t after, PaddingMode mode) {
  if (before == 0 && after == 0) return x;
  // PyTorch first cuts off elements (negative pads), then wraps around the remaining elements.
  if (mode == PaddingMode::circular && (before < 0 || after < 0)) {
    const int64_t start = std::max<int64_t>(-before, 0), rest = x.size(dim) - start - std::max<int64_t>(-after, 0);
    TANDEM_CHECK(rest > 0, op, ": Negative padding value is resulting in an empty dimension: padding (", before, ", ",
                 after, ") at dimension ", dim, " of size ", x.size(dim));
    const Tensor left = x.narrow(dim, start, rest);
    return before > 0 || after > 0
               ? pad_dim(op, left, dim, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0), mode)
               : left.clone(MemoryFormat::Contiguous);
  }
  const int64_t size = x.size(dim);
  TANDEM_CHECK(size > 0, op, ": dimension ", dim, " of ", x.sizes(), " is empty; padding needs at least one element");
  TANDEM_CHECK(size + before + after > 0, op, ": Negative padding value is resulting in an empty dimension: padding (",
               before, ", ", after, ") at dimension ", dim, " of size ", size);
  TANDEM_CHECK(mode != PaddingMode::reflect || (before < size && after < size), op,
               ": Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ",
               after, ") at dimension ", dim, " of input ", x.sizes());
  TANDEM_CHECK(mode != PaddingMode::circular || (before <= size && after <= size), op,
               ": Padding value causes wrapping around more than once. Got padding (", before, ", ", after,
               ") at dimension ", dim, " of size ", size, "; each may be at most that size");
  std::vector<int64_t> from;
  for (int64_t i = -before; i < size + after; ++i) from.push_back(get_source_index(mode, i, size));
  return x.index_select(dim, tensor(from, TensorOptions(kInt64).device(x.device())));
}
/// Implements a padding operation for a fixed number of dimensions.
/// @param spatial  number of dimensions that the operation pads; `pad` must have a pair of numbers for each of them
Tensor pad_nd(const char* op, const Tensor& x, IntArrayRef pad, PaddingMode mode, int64_t spatial) {
  TANDEM_CHECK(static_cast<int64_t>(pad.size()) == 2 * spatial, op, ": padding size is expected to be ", 2 * spatial,
               ", but got: ", pad.size());
  const size_t batch = x.dim() == spatial + 2 ? 1 : 0;
  TANDEM_CHECK(
      (x.dim() == spatial + 1 || x.dim() == spatial + 2) &&
          (mode == PaddingMode::circular || numel_of(x.sizes().slice(batch, x.sizes().size() - batch)) > 0),
      op, ": Expected ", spatial + 1, "D or ", spatial + 2,
      "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ", x.sizes());
  Tensor y = mode == PaddingMode::circular ? x : attach_inputs_to_backward(x);
  for (int64_t k = 0; k < spatial; ++k)
    y = pad_dim(op, y, x.dim() - 1 - k, pad[static_cast<size_t>(2 * k)], pad[static_cast<size_t>(2 * k + 1)], mode);
  return std::all_of(pad.begin(), pad.end(), [](int64_t n) { return n == 0; }) ? y.clone(x.suggest_memory_format()) : y;
}

}  // namespace

Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value) {
  check_pad_sizes("constant_pad_nd", x, pad);
  Tensor y;
  {
    const NoGradGuard guard;
    Shape sizes = x.sizes();
    Tensor from = x;
    for (size_t k = 0; k < pad.size() / 2; ++k) {
      const int64_t dim = x.dim() - 1 - static_cast<int64_t>(k), before = pad[2 * k], after = pad[2 * k + 1];
      const int64_t cut = std::max<int64_t>(-before, 0);
      sizes[static_cast<size_t>(dim)] += before + after;
      from = from.narrow(dim, std::min(cut, x.size(dim)),
                         std::max<int64_t>(x.size(dim) - cut - std::max<int64_t>(-after, 0), 0));
    }
    y = empty(sizes, x.options(), x.suggest_memory_format()).fill_(value);
    if (from.numel() > 0 && y.numel() > 0) {
      Tensor middle = y;
      for (size_t k = 0; k < pad.size() / 2; ++k) {
        const int64_t dim = x.dim() - 1 - static_cast<int64_t>(k);
        middle = middle.narrow(dim, std::max<int64_t>(pad[2 * k], 0), from.size(dim));
      }
      middle.copy_(from);
    }
  }
  Shape back;
  for (const int64_t p : pad) back.push_back(-p);
  return record_op("constant_pad_nd", y, {x}, {}, [back](const BackwardContext&, const Tensor& dy) -> Grads {
    // `back` holds the negated pads. Padding dy by them cuts off what the forward added; elements that the forward cut
    // off get gradient 0.
    return {constant_pad_nd(dy, back, 0)};
  });
}
Tensor pad(const Tensor& x, IntArrayRef pad, PaddingMode mode, double value) {
  if (mode == PaddingMode::constant) return constant_pad_nd(x, pad, value);
  TANDEM_CHECK(mode == PaddingMode::reflect || mode == PaddingMode::replicate || mode == PaddingMode::circular,
               "pad: Unrecognised padding mode ", detail::mode_name(mode),
               "; accepted: constant, reflect, replicate and circular");
  TANDEM_CHECK(value == 0, "pad: Padding mode \"", detail::mode_name(mode), "\" doesn't take in value argument");
  TANDEM_CHECK(pad.size() % 2 == 0, "pad: Padding length must be divisible by 2, but is ", pad.size());
  const auto spatial = static_cast<int64_t>(pad.size() / 2);
  TANDEM_CHECK(spatial >= 1 && spatial <= 3 && (x.dim() == spatial + 1 || x.dim() == spatial + 2), "pad: Padding size ",
               pad.size(), " is not supported for ", x.dim(),
               "D input tensor. Accepted in this mode: 2 for 2D or 3D input, 4 for 3D or 4D, 6 for 4D or 5D");
  // Autocast treats this call as one of reflection_pad1d, replication_pad2d, ...
  const bool is_listed = mode == PaddingMode::replicate || (mode == PaddingMode::reflect && spatial < 3);
  if (const Autocast cast{is_listed ? CastPolicy::float32 : CastPolicy::none, x})
    return pad_nd("pad", cast(x), pad, mode, spatial);
  return pad_nd("pad", x, pad, mode, spatial);
}
Tensor pad(const Tensor& x, IntArrayRef pads, const std::string& mode, std::optional<double> value) {
  if (mode == "constant") return constant_pad_nd(x, pads, value.value_or(0));
  for (const PaddingMode known : {PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular})
    if (mode == detail::mode_name(known)) return pad(x, pads, known, value.value_or(0));
  TANDEM_FAIL("pad: Unrecognised padding mode ", mode, "; accepted: constant, reflect, replicate and circular");
}
const char* detail::mode_name(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::zeros: return "zeros";
    case PaddingMode::constant: return "constant";
    case PaddingMode::reflect: return "reflect";
    case PaddingMode::replicate: return "replicate";
    case PaddingMode::circular: return "circular";
    case PaddingMode::border: return "border";
    default: return "reflection";
  }
}
Tensor reflection_pad1d(const Tensor& x, IntArrayRef padding) {
  if (const Autocast cast{cast_policy::reflection_pad1d, x}) return reflection_pad1d(cast(x), padding);
  return pad_nd("reflection_pad1d", x, padding, PaddingMode::reflect, 1);
}
Tensor reflection_pad2d(const Tensor& x, IntArrayRef padding) {
  if (const Autocast cast{cast_policy::reflection_pad2d, x}) return reflection_pad2d(cast(x), padding);
  return pad_nd("reflection_pad2d", x, padding, PaddingMode::reflect, 2);
}
Tensor reflection_pad3d(const Tensor& x, IntArrayRef padding) {
  return pad_nd("reflection_pad3d", x, padding, PaddingMode::reflect, 3);
}
Tensor replication_pad1d(const Tensor& x, IntArrayRef padding) {
  if (const Autocast cast{cast_policy::replication_pad1d, x}) return replication_pad1d(cast(x), padding);
  return pad_nd("replication_pad1d", x, padding, PaddingMode::replicate, 1);
}
Tensor replication_pad2d(const Tensor& x, IntArrayRef padding) {
  if (const Autocast cast{cast_policy::replication_pad2d, x}) return replication_pad2d(cast(x), padding);
  return pad_nd("replication_pad2d", x, padding, PaddingMode::replicate, 2);
}
Tensor replication_pad3d(const Tensor& x, IntArrayRef padding) {
  if (const Autocast cast{cast_policy::replication_pad3d, x}) return replication_pad3d(cast(x), padding);
  return pad_nd("replication_pad3d", x, padding, PaddingMode::replicate, 3);
}

}  // namespace tandem
