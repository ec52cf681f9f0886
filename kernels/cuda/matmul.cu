// Matrix products by cuBLASLt if it is in the build and supports the case, otherwise by Tandem's own kernels: by tiles
// (tiles.cuh says what bounds them) or, if a or b is a vector, by one block of threads for each sum. The latter use
// each number for a single multiply-add, so they are bound by memory.
#include "tandem/kernels/matmul.h"

#include "tandem/kernels/cuda/cublas.h"
#include "tandem/kernels/cuda/native.h"
#include "tandem/kernels/cuda/tiles.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

/// Reads the rows of a or the columns of b through strides.
template <class T> struct MatrixReader {
  const T* data;
  int64_t lines, batch_stride, line_stride, depth_stride;
  using Line = const T*;
  __device__ void select(int64_t batch) { data += batch * batch_stride; }
  __device__ bool depth_first() const { return depth_stride == 1; }
  __device__ const T* line(int64_t i) const { return i < lines ? data + i * line_stride : nullptr; }
  __device__ int64_t depth(int64_t k) const { return k * depth_stride; }
  __device__ Upcast<T> read(const T* line, int64_t depth) const { return line ? Upcast<T>(line[depth]) : Upcast<T>(0); }
};

}  // namespace

void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  if (!cublas_matmul(a, b, bias, c)) native_matmul(a, b, bias, c);
}

void native_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  if (c.numel() == 0) return;
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  visit_floating("matmul", c.dtype(), [&]<class T>() {
    const MatrixReader<T> rows{a.data<T>(), m, a.stride(0), a.stride(1), a.stride(2)};
    const MatrixReader<T> columns{b.data<T>(), n, b.stride(0), b.stride(2), b.stride(1)};
    const MatrixWriter<T> writer{c.data<T>(), m, n, bias.defined() ? bias.data<T>() : nullptr};
    using C = Upcast<T>;
    // In double, a thread's 64 results would fill the 128 registers that it may have in a 128-wide tile.
    constexpr int kWidest = sizeof(C) == 4 ? 128 : 64;
    const Tiling t = tiling_of(batch, m, n, k, kWidest);
    const bool dense = k <= 1 || (rows.depth_stride == 1 && columns.depth_stride == 1);
    if (std::min(m, n) == 1 && dense) return launch_dots<C>("matmul", rows, columns, writer, t, c.device());
    launch_tiles<C, kWidest>("matmul", rows, columns, writer, t, c.device());
  });
}

}  // namespace tandem::kernels::cuda
