// Converts between tensors and the column-major matrices that LAPACK takes on the host. A GPU's tensors are copied to
// the host and results copied back, which synchronizes. Internal.
#pragma once
#include <limits>

#include "tandem/kernels/lapack.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Checks a matrix argument. @throws Error unless x has shape (..., m, n) and is float32 or float64
void check_matrices(const char* op, const Tensor& x, const char* name = "A");
/// Checks a square matrix argument. @throws Error unless x has shape (..., n, n) and is float32 or float64
void check_square(const char* op, const Tensor& x);
/// Returns the sizes of x without the last `last` ones: the batch dimensions.
inline IntArrayRef batch_sizes(const Tensor& x, size_t last = 2) { return x.sizes().slice(0, x.sizes().size() - last); }
/// Returns sizes with `more` appended.
Shape append_sizes(IntArrayRef sizes, std::initializer_list<int64_t> more);
/// Returns the device where LAPACK computes: x's device for a CPU tensor, the CPU for a GPU's tensor.
inline Device get_host_device(const Tensor& x) { return x.is_cpu() ? x.device() : Device(kCPU); }
/// Copies the matrices x (..., m, n) to the host in column-major order. Returns a contiguous tensor (batch, n, m) that
/// autograd does not record.
Tensor to_column_major(const char* op, const Tensor& x);
/// Convert results on the host to tensors on `device`. from_column_major converts column-major matrices (batch, n, m)
/// to (leading..., m, n). copy_from_host converts a tensor (batch, ...) to (leading..., ...).
Tensor from_column_major(const Tensor& columns, IntArrayRef leading, Device device);
Tensor copy_from_host(const Tensor& y, IntArrayRef leading, Device device);
/// Transposes the matrices of a result. Autograd does not treat the returned tensor as a view, although it shares y's
/// memory.
Tensor transpose_result(const Tensor& y);
/// Checks that info is 0 for every matrix. @throws LinAlgError otherwise. Its message is the first nonzero info,
/// between the texts `before` and `after`, and names the matrix if there are several
void check_lapack_info(const char* op, const Tensor& info, const char* before, const char* after);

/// Factors of P^T a = L U on the host, in the form in which the kernel lu_factor returns them.
struct LuFactors {
  Tensor lu, pivots, info;
};
LuFactors factor_lu(const char* op, const Tensor& a);
/// Broadcasts the batch dimensions of a and b. @throws Error unless both are matrices with one dtype and one device
std::pair<Tensor, Tensor> broadcast_batch_dims(const char* op, const Tensor& a, const Tensor& b);
/// Returns whether b holds vectors rather than matrices, by PyTorch's rule: b is 1-d, or its sizes are those of a
/// without the last size.
inline bool is_vector_rhs(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == batch_sizes(a, 1));
}
/// Returns the identity matrices (..., n, n), each multiplied by one number of x (...).
Tensor scaled_identity(const Tensor& x, int64_t n);
/// Returns the matrix of differences x[j] - x[i] at (i, j), with ones on the diagonal.
Tensor pairwise_differences(const Tensor& x);
/// Returns the machine precision of float32 or float64.
inline double machine_epsilon(DType dtype) {
  return dtype == kFloat32 ? double(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
}

}  // namespace tandem::detail
