// Shared by reductions: the input as (outer, reduced, inner), and the sizes of the result. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// The dimensions that are reduced, a bit each; all of them where `dims` is empty. @throws Error where one is named
/// twice
unsigned dim_mask(const char* op, IntArrayRef dims, int64_t rank);
/// The sizes, with 1 in the reduced places, or without these.
Shape kept_sizes(IntArrayRef sizes, unsigned mask);
Shape dropped_sizes(IntArrayRef sizes, unsigned mask);
/// How many elements one result is made of.
int64_t reduced_count(IntArrayRef sizes, unsigned mask);
/// The dimensions of a channels-last tensor, outermost first; nothing for others.
Shape memory_order(const Tensor& x);
/// What has its dimensions in `order`, in their own order again and row-major.
Tensor in_logical_order(const Tensor& x, const Shape& order);

/// What a reduction over some dims needs: the input as (outer, reduced, inner), and the output's shape.
struct ReducedDims {
  ReducedDims(const char* op, const Tensor& original, IntArrayRef dims);
  /// What a kernel fills, and the same in the shape that the user gets.
  Tensor flat_output(DType dtype) const { return core::empty({x.size(0), x.size(2)}, dtype, x.device()); }
  Tensor restore(const Tensor& flat, bool keepdim) const;

  Tensor x;       // (outer, count, inner), contiguous, recorded nowhere
  Shape kept;     // sizes with 1 in the reduced places
  Shape dropped;  // without them
  Shape order;    // of x's dimensions in memory, where it is channels-last; else empty
  int64_t count = 1;
};

/// What lies around the dimensions that stay, as the pixels of all images lie around the channels: a floating x as
/// (N, C, L), to be reduced over N and L without a copy of it.
struct ChannelDims {
  ChannelDims(const char* op, const Tensor& original, IntArrayRef dims);
  /// A kernel's result of C numbers in the shape that the user gets.
  Tensor restore(const Tensor& flat, bool keepdim) const;

  Tensor x;       // (N, C, L), recorded nowhere; undefined where the dimensions do not lie so
  Shape lying;    // kept sizes, as they lie in memory
  Shape kept;     // sizes with 1 in the reduced places
  Shape dropped;  // without them
  Shape order;    // of x's dimensions in memory, where it is channels-last; else empty
};

/// A gradient of the reduced shape, with its 1s back, so that it broadcasts against the input.
inline Tensor with_dims(const Tensor& dy, const Shape& kept) { return dy.reshape(kept); }
/// Refused in the name of the op that was called, rather than of those it is made of.
void check_average(const char* op, const Tensor& x, IntArrayRef dims);

namespace detail {
/// 0, 1, 2, ... along dimension d of a tensor of x's sizes.
Tensor places_along(const Tensor& x, int64_t d);
}  // namespace detail

}  // namespace tandem
