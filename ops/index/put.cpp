// put and put_: write or add elements at positions that count in row-major order over all dimensions.
#include "tandem/ops/index/put.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, put);

Tensor Tensor::put(const Tensor& index, const Tensor& source, Flag accumulate) const {
  check_same_dtype_and_device("put", "x", *this, "source", source);
  TANDEM_CHECK(source.numel() == index.numel(),
               "put: Expected source and index to have the same number of elements, but got source.numel() = ",
               source.numel(), ", index.numel() = ", index.numel());
  const Tensor positions = wrap_negative_indices(check_and_convert_index("put", *this, index), numel()).reshape({-1});
  const Tensor flat = reshape({-1}), from = source.reshape({-1});
  return reshape_result(accumulate ? flat.index_add(0, positions, from) : flat.scatter(0, positions, from), sizes());
}
Tensor& Tensor::put_(const Tensor& index, const Tensor& source, Flag accumulate) const {
  return write_inplace("put_", self(), {source}, [&](const Tensor& x) { return x.put(index, source, accumulate); });
}

}  // namespace tandem
