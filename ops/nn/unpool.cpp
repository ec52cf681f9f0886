// Max unpooling: elements put back where a max pool found them.
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/nn/pool.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
namespace {
Tensor unpool(const char* op, const Tensor& x, const Tensor& indices, IntArrayRef output_size, int64_t spatial) {
  TANDEM_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": x is ", x.sizes(), "; accepted: ", spatial,
               " dimensions after the channels, with a batch or without");
  TANDEM_CHECK(indices.dtype() == kInt64 && indices.sizes() == x.sizes(), op, ": indices is ", indices.dtype(), " ",
               indices.sizes(), " and x is ", x.sizes(), "; accepted: int64 of x's sizes");
  TANDEM_CHECK(static_cast<int64_t>(output_size.size()) == spatial, op, ": output_size is ", output_size,
               "; accepted: ", spatial, " numbers");
  Shape sizes = x.sizes();
  int64_t places = 1;
  for (size_t d = 0; d < output_size.size(); ++d) {
    TANDEM_CHECK(output_size[d] > 0, op, ": output_size is ", output_size, "; sizes must be positive");
    places *= output_size[d];
    sizes[sizes.size() - output_size.size() + d] = output_size[d];
  }
  Shape flat = x.sizes().slice(0, static_cast<size_t>(x.dim() - spatial));
  flat.push_back(places);
  const Tensor y = zeros(flat, x.options()).scatter(-1, indices.flatten(-spatial), x.flatten(-spatial));
  return reshape_result(y, sizes);
}
}  // namespace

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  return unpool("max_unpool2d", x, indices, output_size, 2);
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding) {
  for (const int64_t s : Triple(stride)) TANDEM_CHECK(s > 0, "max_unpool3d: stride is ", stride, "; accepted: above 0");
  for (const int64_t p : Triple(padding))
    TANDEM_CHECK(p >= 0, "max_unpool3d: padding is ", padding, "; accepted: 0 or more");
  return unpool("max_unpool3d", x, indices, output_size, 3);
}

}  // namespace tandem
