// Helpers of reductions: view the input as (outer, reduced, inner), and compute the sizes of the result. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a bit mask of the reduced dimensions; all bits if `dims` is empty. @throws Error if a dimension is listed
/// twice
unsigned make_dim_mask(const char* op, IntArrayRef dims, int64_t rank);
/// get_keepdim_sizes sets the reduced dimensions to 1; get_squeezed_sizes removes them.
Shape get_keepdim_sizes(IntArrayRef sizes, unsigned mask);
Shape get_squeezed_sizes(IntArrayRef sizes, unsigned mask);
/// Returns the number of elements that are reduced to one element of the result.
int64_t num_reduced_elements(IntArrayRef sizes, unsigned mask);
/// Returns the order of a channels-last tensor's dimensions in memory, outermost first; empty for other tensors.
Shape get_memory_order(const Tensor& x);
/// Permutes x, whose dimensions are in `memory_order`, back to their logical order, and makes the result contiguous.
Tensor to_logical_order(const Tensor& x, const Shape& memory_order);

/// Data for a reduction over some dims: the input as (outer, reduced, inner), and the sizes of the output.
struct ReducedDims {
  ReducedDims(const char* op, const Tensor& original, IntArrayRef dims);
  /// allocate_output allocates the output that a kernel fills. restore_result_shape reshapes this output to the
  /// sizes of the operation's result.
  Tensor allocate_output(DType dtype) const { return core::empty({x.size(0), x.size(2)}, dtype, x.device()); }
  Tensor restore_result_shape(const Tensor& flat, bool keepdim) const;

  Tensor x;                  // input as (outer, reduced_size, inner): contiguous, not recorded by autograd
  Shape keepdim_sizes;       // sizes of the input with reduced dimensions set to 1
  Shape squeezed_sizes;      // sizes of the input without reduced dimensions
  Shape memory_order;        // memory order of the input's dimensions if the input is channels-last; otherwise empty
  int64_t reduced_size = 1;  // number of elements that are reduced to one element of the result
};

/// Input of a reduction over all dimensions except one run of adjacent dimensions, for example over batch and pixels
/// but not channels. Presents a floating-point x without a copy as (N, C, L), to be reduced over N and L.
struct ChannelDims {
  ChannelDims(const char* op, const Tensor& original, IntArrayRef dims);
  /// Reshapes the output of a kernel, C numbers, to the sizes of the operation's result.
  Tensor restore_result_shape(const Tensor& flat, bool keepdim) const;

  // input as (N, C, L), not recorded by autograd; undefined if the layout of the input does not allow this
  Tensor x;
  Shape sizes_in_memory_order;  // the sizes in `keepdim_sizes`, in the order in which the dimensions lie in memory
  Shape keepdim_sizes;          // sizes of the input with reduced dimensions set to 1
  Shape squeezed_sizes;         // sizes of the input without reduced dimensions
  Shape memory_order;           // memory order of the input's dimensions if the input is channels-last; otherwise empty
};

/// Reshapes a gradient of the reduced result to the sizes with reduced dimensions of 1, so that it broadcasts against
/// the input.
inline Tensor reshape_to_keepdim(const Tensor& dy, const Shape& keepdim_sizes) { return dy.reshape(keepdim_sizes); }
/// Checks the arguments of an average on behalf of the called operation, so that errors do not name the operations
/// inside it.
/// @throws NotImplementedError unless x is floating-point, and Error for invalid dims
void check_average(const char* op, const Tensor& x, IntArrayRef dims);

namespace detail {
/// Checks that there are elements to choose from along `dims`, all dimensions if it is empty. @throws IndexError
void check_reduction_not_empty(const char* op, const Tensor& x, IntArrayRef dims);
/// Returns the indices 0, 1, 2, ... along dimension d, expanded to x's sizes.
Tensor arange_along_dim(const Tensor& x, int64_t d);
}  // namespace detail

}  // namespace tandem
