// Sizes of the tiles of the kernels of half types. They are limited by the registers of a thread (255), and by the
// shared memory of a block on GPUs of compute capability 8.6 (99 KiB).
#pragma once
#include "tandem/kernels/cuda/attention/matrix_tile.cuh"

namespace tandem::kernels::cuda {

/// Forward: 128 queries, and 64 keys or, for wide heads, 32.
template <class T, int D> using HalfForwardTile = MatrixTile<T, D, 2, (D > 64 ? 4 : 8)>;
template <class T, int D>
inline constexpr size_t kHalfForwardSharedBytes = (HalfForwardTile<T, D>::kRowTile +
                                                   2 * HalfForwardTile<T, D>::kColumnTile) *
                                                  sizeof(T);
/// Backward: score tiles of 64 rows and 32 columns. There are two tiles of rows (keys and values, or queries and
/// gradients), and two of columns, twice, because the next ones are copied while these are used.
template <class T, int D> using HalfBackwardTile = MatrixTile<T, D, 1, 4>;
template <class T, int D>
inline constexpr size_t kHalfBackwardSharedBytes = (2 * HalfBackwardTile<T, D>::kRowTile +
                                                    4 * HalfBackwardTile<T, D>::kColumnTile) *
                                                   sizeof(T);
static_assert(kHalfForwardSharedBytes<Half, 128> <= 99 * 1024 && kHalfBackwardSharedBytes<Half, 128> <= 99 * 1024);

}  // namespace tandem::kernels::cuda
