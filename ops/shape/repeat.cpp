// Slices given several times: tile, repeat_interleave.
#include "tandem/autograd/record.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor Tensor::tile(IntArrayRef repeats) const {
  Shape all = repeats;
  while (static_cast<int64_t>(all.size()) < dim()) all.insert(0, 1);
  return repeat(all);
}

Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> given) const {
  TANDEM_CHECK(repeats >= 0, "repeat_interleave: repeats is ", repeats, "; accepted: 0 or more");
  TANDEM_CHECK_AS(IndexError, !given || dim() > 0, "repeat_interleave: a scalar has no dimension ", given.value_or(0),
                  "; accepted: no dim");
  if (!given) {
    return numel() == 0 ? reshape({0}).clone()
                        : reshape_result(reshape({-1, 1}).expand({numel(), repeats}).clone(MemoryFormat::Contiguous),
                                         {numel() * repeats});
  }
  const auto d = static_cast<size_t>(wrap_dim("repeat_interleave", *given, dim()));
  Shape sizes = this->sizes();
  const int64_t outer = numel_of(IntArrayRef(sizes).slice(0, d)), n = sizes[d];
  const int64_t inner = numel_of(IntArrayRef(sizes).slice(d + 1, sizes.size() - d - 1));
  sizes[d] *= repeats;
  return reshape_result(
      reshape({outer * n, 1, inner}).expand({outer * n, repeats, inner}).clone(MemoryFormat::Contiguous), sizes);
}

namespace {
/// Each place in `counts`, which is of one dimension, as often as it says.
Tensor places_of(const Tensor& counts, int64_t places) {
  check_not_recorded("repeat_interleave", "the repeats tell how many slices there are");
  TANDEM_CHECK(counts.dim() <= 1 && (counts.dtype() == kInt64 || counts.dtype() == kInt32),
               "repeat_interleave: repeats is ", counts.dtype(), counts.sizes(),
               "; accepted: int64 or int32 of one dimension");
  TANDEM_CHECK(counts.numel() == places || counts.numel() == 1, "repeat_interleave: there are ", counts.numel(),
               " repeats for ", places, " slices; accepted: one for all or one for each");
  const NoGradGuard guard;
  const Tensor host = counts.reshape({-1}).cpu().to(kInt64).contiguous();
  const int64_t* const repeats = host.data<int64_t>();
  std::vector<int64_t> index;
  for (int64_t i = 0; i < places; ++i) {
    const int64_t n = repeats[host.numel() == 1 ? 0 : i];
    TANDEM_CHECK(n >= 0, "repeat_interleave: repeats holds ", n, "; accepted: 0 or more");
    index.insert(index.end(), static_cast<size_t>(n), i);
  }
  Tensor y = empty({static_cast<int64_t>(index.size())}, kInt64);
  std::copy(index.begin(), index.end(), y.data<int64_t>());
  return y.to(counts.device());
}
}  // namespace
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> given) const {
  if (!given || dim() == 0) {
    if (given) wrap_dim("repeat_interleave", *given, dim());
    return reshape({-1}).index_select(0, places_of(repeats, numel()));
  }
  const int64_t d = wrap_dim("repeat_interleave", *given, dim());
  return index_select(d, places_of(repeats, size(d)));
}
Tensor repeat_interleave(const Tensor& repeats) {
  TANDEM_CHECK(repeats.dim() == 1, "repeat_interleave: repeats is ", repeats.sizes(), "; accepted: one dimension");
  return places_of(repeats, repeats.numel()).to(repeats.dtype());
}

}  // namespace tandem
