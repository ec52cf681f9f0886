// Repeating elements: repeat, tile, repeat_interleave.
#include "tandem/ops/shape/repeat.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, repeat, repeat_interleave, tile);

Tensor Tensor::repeat(IntArrayRef repeats) const {
  for (const int64_t n : repeats) TANDEM_CHECK(n >= 0, "repeat: repeats must be non-negative, got ", repeats);
  TANDEM_CHECK(static_cast<int64_t>(repeats.size()) >= dim(),
               "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, "
               "got repeats ",
               repeats, " for sizes ", sizes());
  Shape had(repeats.size(), 1), out = had;
  for (size_t d = 0, missing = had.size() - sizes().size(); d < had.size(); ++d) {
    if (d >= missing) had[d] = sizes()[d - missing];
    out[d] = repeats[d] * had[d];
  }
  if (std::find(repeats.begin(), repeats.end(), 0) != repeats.end())
    return record_op("repeat", empty(out, options()), {*this}, {},
                     [had = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       return {zeros(had, dy.options())};
                     });
  // (a, b) repeated (r, s) times is (1, a, 1, b) expanded to (r, a, s, b). Dimensions that are not repeated are merged
  // with the dimensions before them, so that three repeated dimensions fit into the maximum number of dimensions. If
  // more are repeated, the last ones are repeated first, in a separate step.
  std::vector<int64_t> from, to;
  size_t repeated = 0, half = 0;
  for (size_t d = 0; d < had.size(); ++d) {
    if (repeats[d] != 1) {
      from.push_back(1);
      to.push_back(repeats[d]);
      if (++repeated == 3) half = d;
    } else if (!from.empty()) {
      from.back() *= had[d];
      to.back() *= had[d];
      continue;
    }
    from.push_back(had[d]);
    to.push_back(had[d]);
  }
  if (from.size() > kMaxDims) {
    Shape first(repeats), last(repeats);
    for (size_t d = 0; d < had.size(); ++d) (d < half ? last : first)[d] = 1;
    return repeat(last).repeat(first);
  }
  const Shape wide(to), thin(from);
  Tensor y = core::empty(out, dtype(), device());
  {
    const NoGradGuard guard;
    copy_elements(core::expand(reshape(thin), wide), core::try_view(y, wide));
  }
  return record_op("repeat", y, {*this}, {},
                   [wide, thin, sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                     return {tandem::sum_to_size(dy.reshape(wide), thin).reshape(sizes)};
                   });
}
Tensor Tensor::tile(IntArrayRef repeats) const {
  Shape all = repeats;
  while (static_cast<int64_t>(all.size()) < dim()) all.insert(0, 1);
  return repeat(all);
}

/// Checks the size of the result of repeat_interleave, if the caller gave one.
static void check_output_size(std::optional<int64_t> given, int64_t size) {
  TANDEM_CHECK(!given || *given == size, "repeat_interleave: Invalid output_size, expected ", size, " but got ",
               *given);
}
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> given,
                                 std::optional<int64_t> output_size) const {
  TANDEM_CHECK(repeats >= 0, "repeat_interleave: Repeats must be non-negative, got ", repeats);
  TANDEM_CHECK_AS(IndexError, !given || dim() > 0, "repeat_interleave: Dimension specified as ", given.value_or(0),
                  " but tensor has no dimensions; pass no dim for a scalar");
  if (!given) {
    check_output_size(output_size, numel() * repeats);
    return numel() == 0 ? reshape({0}).clone()
                        : reshape_result(reshape({-1, 1}).expand({numel(), repeats}).clone(MemoryFormat::Contiguous),
                                         {numel() * repeats});
  }
  const auto d = static_cast<size_t>(wrap_dim("repeat_interleave", *given, dim()));
  Shape sizes = this->sizes();
  const int64_t outer = numel_of(IntArrayRef(sizes).slice(0, d)), n = sizes[d];
  const int64_t inner = numel_of(IntArrayRef(sizes).slice(d + 1, sizes.size() - d - 1));
  sizes[d] *= repeats;
  check_output_size(output_size, sizes[d]);
  return reshape_result(
      reshape({outer * n, 1, inner}).expand({outer * n, repeats, inner}).clone(MemoryFormat::Contiguous), sizes);
}

/// Returns a vector that lists each position i of the vector `counts`, repeated counts[i] times.
static Tensor repeat_indices(const Tensor& counts, int64_t positions, std::optional<int64_t> output_size) {
  check_not_recorded("repeat_interleave", "the number of slices depends on the values of repeats");
  TANDEM_CHECK(counts.dim() <= 1, "repeat_interleave: repeats must be 0-dim or 1-dim tensor, got ", counts.sizes());
  TANDEM_CHECK(counts.dtype() == kInt64 || counts.dtype() == kInt32,
               "repeat_interleave: repeats has to be int64 or int32, got ", counts.dtype());
  TANDEM_CHECK(counts.numel() == positions || counts.numel() == 1,
               "repeat_interleave: repeats must have the same size as input along dim, but got repeats.size(0) = ",
               counts.numel(), " and input.size(dim) = ", positions, "; a single element is accepted too");
  const NoGradGuard guard;
  const Tensor host = counts.reshape({-1}).cpu().to(kInt64).contiguous();
  const int64_t* const repeats = host.data<int64_t>();
  std::vector<int64_t> index;
  for (int64_t i = 0; i < positions; ++i) {
    const int64_t n = repeats[host.numel() == 1 ? 0 : i];
    TANDEM_CHECK(n >= 0, "repeat_interleave: repeats can not be negative, got ", n);
    index.insert(index.end(), static_cast<size_t>(n), i);
  }
  check_output_size(output_size, static_cast<int64_t>(index.size()));
  Tensor y = empty({static_cast<int64_t>(index.size())}, kInt64);
  std::copy(index.begin(), index.end(), y.data<int64_t>());
  return y.to(counts.device());
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> given,
                                 std::optional<int64_t> output_size) const {
  if (!given || dim() == 0) {
    if (given) wrap_dim("repeat_interleave", *given, dim());
    return reshape({-1}).index_select(0, repeat_indices(repeats, numel(), output_size));
  }
  const int64_t d = wrap_dim("repeat_interleave", *given, dim());
  return index_select(d, repeat_indices(repeats, size(d), output_size));
}
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  TANDEM_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat, got ", repeats.sizes());
  return repeat_indices(repeats, repeats.numel(), output_size).to(repeats.dtype());
}

}  // namespace tandem
