// Between tensors and LAPACK's kernels: matrices by columns, on the host, and back. Internal. Tensors of a GPU are
// copied to the host and their results back, which waits for the GPU.
#pragma once
#include <limits>

#include "tandem/kernels/lapack.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// @throws Error unless x is (..., m, n) of float32 or float64
void check_matrices(const char* op, const Tensor& x);
/// @throws Error unless it is (..., n, n) as well
void check_square(const char* op, const Tensor& x);
/// The sizes before the last `last` ones, and how many matrices these are.
inline IntArrayRef leading_sizes(const Tensor& x, size_t last = 2) {
  return x.sizes().slice(0, x.sizes().size() - last);
}
/// Sizes with more behind them.
Shape joined(IntArrayRef sizes, std::initializer_list<int64_t> more);
/// x's device, or the host's for a tensor of a GPU.
inline Device host_of(const Tensor& x) { return x.is_cpu() ? x.device() : Device(kCPU); }
/// A copy of the matrices of x (..., m, n) on the host, by columns: contiguous (batch, n, m), recorded nowhere.
Tensor to_columns(const char* op, const Tensor& x);
/// Such a tensor as (leading..., m, n) on `device`, and one of (batch, ...) as (leading..., ...).
Tensor from_columns(const Tensor& columns, IntArrayRef leading, Device device);
Tensor from_host(const Tensor& y, IntArrayRef leading, Device device);
/// The transposed matrices of a result, which is no view for its user.
Tensor transpose_result(const Tensor& y);
/// @throws LinAlgError that names the first matrix for which info is not 0, and what that says (its value follows)
void check_info(const char* op, const Tensor& info, const char* meaning);

/// The factors of P^T a = L U, on the host, as the kernel lu_factor gives them.
struct LuFactors {
  Tensor lu, pivots, info;
};
LuFactors factor_lu(const char* op, const Tensor& a);
/// Both with the batch that they broadcast to. @throws Error unless both are matrices of one dtype and device
std::pair<Tensor, Tensor> broadcast_matrices(const char* op, const Tensor& a, const Tensor& b);
/// Whether b is vectors beside matrices a, by PyTorch's rule: one, or of a's sizes but the last.
inline bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == leading_sizes(a, 1));
}
/// x on the diagonals of matrices: (..., n) or, of one number a matrix, (...) repeated.
Tensor times_identity(const Tensor& x, int64_t n);
/// At (i, j) x[j] - x[i], with ones in place of the zeros of the diagonal.
Tensor differences(const Tensor& x);
/// Machine precision.
inline double precision(DType dtype) {
  return dtype == kFloat32 ? double(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
}
/// Meaning of a nonzero info of LU factors, for check_info.
inline constexpr const char* kSingular = "is singular: an element of U's diagonal, counted from 1 by info, is zero";

}  // namespace tandem::detail
