// Matrix products by cuBLASLt if it is in the build and supports the case, otherwise by Tandem's own kernels. These
// compute tiles of the result (tiles.cuh describes what limits their speed). If a or b is a vector, one block of
// threads computes each sum; every number is then used in one multiply-add only, so memory limits the speed.
#include "tandem/kernels/matmul.h"

#include "tandem/kernels/cuda/cublas.h"
#include "tandem/kernels/cuda/tiles.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

/// Loads the rows of a or the columns of b into tiles, for any strides. Implements the Reader interface of tiles.cuh.
template <class T> struct MatrixReader {
  const T* data;
  int64_t lines, batch_stride, line_stride, depth_stride;
  using Line = const T*;
  __device__ void select(int64_t batch) { data += batch * batch_stride; }
  __device__ bool is_contiguous_along_k() const { return depth_stride == 1; }
  __device__ const T* line(int64_t i) const { return i < lines ? data + i * line_stride : nullptr; }
  __device__ int64_t depth(int64_t k) const { return k * depth_stride; }
  __device__ OpMath<T> read(const T* line, int64_t depth) const { return line ? OpMath<T>(line[depth]) : OpMath<T>(0); }
};

bool run_cublas(const MatmulCall& call) { return cublas_matmul(call.a, call.b, call.bias, call.c); }
/// Returns whether a or b is a vector, and both are contiguous along the dimension that is summed over.
bool is_matrix_vector(const MatmulCall& call) {
  const bool dense = call.a.size(2) <= 1 || (call.a.stride(2) == 1 && call.b.stride(1) == 1);
  return std::min(call.c.size(1), call.c.size(2)) == 1 && dense;
}
template <bool kDots> bool native_matmul(const MatmulCall& call) {
  const Tensor &a = call.a, &b = call.b, &c = call.c;
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  visit_floating("matmul", c.dtype(), [&]<class T>() {
    const MatrixReader<T> rows{a.data<T>(), m, a.stride(0), a.stride(1), a.stride(2)};
    const MatrixReader<T> columns{b.data<T>(), n, b.stride(0), b.stride(2), b.stride(1)};
    const MatrixWriter<T> writer{c.data<T>(), m, n, call.bias.defined() ? call.bias.data<T>() : nullptr};
    using C = OpMath<T>;
    // In double, a 128-wide tile is not possible: the 64 results of a thread would fill all of its 128 registers.
    constexpr int kWidest = sizeof(C) == 4 ? 128 : 64;
    const Tiling t = choose_tiling(batch, m, n, k, kWidest);
    if constexpr (kDots)
      launch_dots<C>("matmul", rows, columns, writer, t, c.device());
    else
      launch_tiles<C, kWidest>("matmul", rows, columns, writer, t, c.device());
  });
  return true;
}
constexpr Implementation<bool, MatmulCall> kMatmulImplementations[] = {
    {"cuBLASLt", supports_every_problem, run_cublas},
    {"dots", is_matrix_vector, native_matmul<true>},
    {"tiles", supports_every_problem, native_matmul<false>},
};

}  // namespace

std::span<const Implementation<bool, MatmulCall>> matmul_implementations() { return kMatmulImplementations; }

void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  if (c.numel() > 0) run_first_supported<kMatmulImplementations>(MatmulCall{a, b, bias, c});
}

}  // namespace tandem::kernels::cuda
