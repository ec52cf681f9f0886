// Converts between tensors and the column-major matrices that LAPACK takes on the host, checks matrix arguments, and
// computes LU factors.
#include "tandem/ops/linalg/host_lapack.h"

#include <algorithm>
#include <sstream>

namespace tandem::detail {

void check_matrices(const char* op, const Tensor& x, const char* name) {
  TANDEM_CHECK(x.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions, got ", x.sizes());
  TANDEM_CHECK(x.is_floating_point(), op, ": Expected a floating point or complex tensor as input. Got ", x.dtype());
  TANDEM_CHECK(!is_reduced_floating_point(x.dtype()), op, ": Low precision dtypes not supported. Got ", x.dtype(),
               "; accepted: float32 and float64");
}
void check_square(const char* op, const Tensor& x) {
  check_matrices(op, x);
  TANDEM_CHECK(x.size(-1) == x.size(-2), op, ": A must be batches of square matrices, but they are ", x.size(-2),
               " by ", x.size(-1), " matrices");
}
Shape append_sizes(IntArrayRef sizes, std::initializer_list<int64_t> more) {
  Shape out = sizes;
  for (const int64_t size : more) out.push_back(size);
  return out;
}
Tensor to_column_major(const char* op, const Tensor& x) {
  if (!x.is_cpu()) check_not_recorded(op, "it is computed on the host, with copies to it and back");
  const NoGradGuard guard;
  const Tensor host = x.detach().to(get_host_device(x));
  const Tensor columns = core::transpose(host, -2, -1).clone(MemoryFormat::Contiguous);
  return core::try_view(columns, {numel_of(batch_sizes(x)), x.size(-1), x.size(-2)});
}
Tensor copy_from_host(const Tensor& y, IntArrayRef leading, Device device) {
  Shape sizes = leading;
  for (int64_t d = 1; d < y.dim(); ++d) sizes.push_back(y.size(d));
  return core::try_view(y, sizes).to(device);
}
Tensor from_column_major(const Tensor& columns, IntArrayRef leading, Device device) {
  const NoGradGuard guard;
  return core::transpose(copy_from_host(columns, leading, device), -2, -1);
}
Tensor transpose_result(const Tensor& y) {
  return record_op("transpose", core::transpose(y, -2, -1), {y}, {},
                   [](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.transpose(-2, -1)}; });
}
void check_lapack_info(const char* op, const Tensor& info, const char* before, const char* after) {
  check_not_recorded(op, "the host checks whether it succeeded");
  const Tensor host = contiguous_detached(info.cpu());
  const int32_t* const first = host.data<int32_t>();
  const int32_t* const found = std::find_if(first, first + host.numel(), [](int32_t i) { return i != 0; });
  if (found == first + host.numel()) return;
  std::ostringstream batch;
  if (host.numel() > 1) batch << "(Batch element " << found - first << "): ";
  TANDEM_CHECK_AS(LinAlgError, false, op, ": ", batch.str(), before, *found, after);
}

LuFactors factor_lu(const char* op, const Tensor& a) {
  LuFactors f;
  f.lu = to_column_major(op, a);
  const int64_t batch = f.lu.size(0), least = std::min(f.lu.size(1), f.lu.size(2));
  f.pivots = core::empty({batch, least}, kInt32, f.lu.device());
  f.info = core::empty({batch}, kInt32, f.lu.device());
  TANDEM_DISPATCH_HOST(f.lu.device(), lu_factor, f.lu, f.pivots, f.info);
  return f;
}

std::pair<Tensor, Tensor> broadcast_batch_dims(const char* op, const Tensor& a, const Tensor& b) {
  check_product_operands(op, a, b);
  check_matrices(op, a);
  check_matrices(op, b, "B");
  const Shape leading = broadcast_shapes(op, batch_sizes(a), batch_sizes(b));
  const auto widen = [&](const Tensor& x) {
    return batch_sizes(x) == IntArrayRef(leading) ? x : x.expand(append_sizes(leading, {x.size(-2), x.size(-1)}));
  };
  return {widen(a), widen(b)};
}
Tensor scaled_identity(const Tensor& x, int64_t n) {
  return x.unsqueeze(-1).expand(append_sizes(x.sizes(), {n})).diag_embed();
}
Tensor pairwise_differences(const Tensor& x) {
  return x.unsqueeze(-2) - x.unsqueeze(-1) + eye(x.size(-1), x.options());
}

}  // namespace tandem::detail
