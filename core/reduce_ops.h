// List of the reductions over dimensions, one line each. A line generates the method (x.sum(dims, keepdim)). The
// function and the out form (sum_out) are declared in ops/reduce/, in the header of the same name. `dims` lists each
// dimension once, in any order; an empty list means all dimensions. keepdim keeps reduced dimensions with size 1. This
// file includes nothing, so any file can expand the list.
#pragma once
// clang-format off

#define TANDEM_REDUCE_OPS(X)                                                                                           \
  X(sum,  "sum; integers and bools are summed as int64")                                                               \
  X(mean, "mean of floating-point numbers; NaN if there are no elements")                                              \
  X(amax, "largest element, or NaN if any element is NaN; equal elements share the gradient evenly")                   \
  X(amin, "smallest element, or NaN if any element is NaN; equal elements share the gradient evenly")                  \
  X(logsumexp, "ln(sum e^x), computed without overflow; integers and bools are accepted")
// clang-format on
