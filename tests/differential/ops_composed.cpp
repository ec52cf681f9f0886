// Op table of the differential tests: operations that are composed of other operations.
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

// clang-format off
void add_composed_ops(OpTable& table) {
  OP("movedim", (Tensor x, int64_t source, int64_t destination), x.movedim(source, destination))
  OP("diagonal", (Tensor x, int64_t offset, int64_t dim1, int64_t dim2), x.diagonal(offset, dim1, dim2))
  OP("tensor_split", (Tensor x, int64_t sections, int64_t dim), x.tensor_split(sections, dim))
  OP("broadcast_to", (Tensor x, Ints sizes), x.broadcast_to(sizes))
  OP("ravel", (Tensor x), x.ravel())
  OP("flip", (Tensor x, Ints dims), x.flip(dims))
  OP("roll", (Tensor x, int64_t shift, int64_t dim), x.roll(shift, dim))
  OP("rot90", (Tensor x, int64_t k), x.rot90(k))
  OP("tile", (Tensor x, Ints repeats), x.tile(repeats))
  OP("repeat_interleave", (Tensor x, int64_t repeats, MaybeInt dim), x.repeat_interleave(repeats, dim))
  OP("tril", (Tensor x, int64_t diagonal), x.tril(diagonal))
  OP("triu", (Tensor x, int64_t diagonal), x.triu(diagonal))
  OP("tril_", (Tensor x, int64_t diagonal), x.tril_(diagonal))
  OP("diag_embed", (Tensor x, int64_t offset), x.diag_embed(offset))
  OP("trace", (Tensor x), x.trace())
  OP("lerp", (Tensor x, Tensor y, Scalar weight), x.lerp(y, weight))
  OP("addcmul", (Tensor x, Tensor y, Tensor z, Scalar value), x.addcmul(y, z, value))
  OP("addcdiv", (Tensor x, Tensor y, Tensor z, Scalar value), x.addcdiv(y, z, value))
  OP("hypot", (Tensor x, Tensor y), x.hypot(y))
  OP("logaddexp", (Tensor x, Tensor y), x.logaddexp(y))
  OP("copysign", (Tensor x, Tensor y), x.copysign(y))
  OP("xlogy", (Tensor x, Tensor y), x.xlogy(y))
  OP("nan_to_num", (Tensor x), x.nan_to_num())
  OP("deg2rad", (Tensor x), x.deg2rad())
  OP("hardshrink", (Tensor x), x.hardshrink())
  OP("hardtanh", (Tensor x), tandem::hardtanh(x))
  OP("hardswish", (Tensor x), tandem::hardswish(x))
  OP("log_sigmoid", (Tensor x), tandem::log_sigmoid(x))
  OP("celu", (Tensor x), tandem::celu(x))
  OP("glu", (Tensor x, int64_t dim), tandem::glu(x, dim))
  OP("count_nonzero", (Tensor x, Ints dims), x.count_nonzero(dims))
  OP("nansum", (Tensor x, Ints dims, bool keepdim), x.nansum(dims, keepdim))
  OP("aminmax", (Tensor x, MaybeInt dim, bool keepdim), x.aminmax(dim, keepdim))
  OP("median", (Tensor x), x.median())
  OP("cumprod", (Tensor x, int64_t dim), x.cumprod(dim))
  OP("logcumsumexp", (Tensor x, int64_t dim), x.logcumsumexp(dim))
  OP("diff", (Tensor x, int64_t n, int64_t dim), x.diff(n, dim))
  OP("outer", (Tensor x, Tensor y), x.outer(y))
  OP("inner", (Tensor x, Tensor y), x.inner(y))
  OP("kron", (Tensor x, Tensor y), x.kron(y))
  OP("dist", (Tensor x, Tensor y, double p), x.dist(y, p))
}
// clang-format on

}  // namespace tandem::differential
