// List of the reductions over dimensions, one line each. A line generates the method (x.sum(dims, keepdim)). The
// function and the out form (sum_out) are declared in ops/reduce/, in the header of the same name. `dims` lists each
// dimension once, in any order; an empty list means all dimensions. keepdim keeps reduced dimensions with size 1. This
// file includes nothing, so any file can expand the list.
#pragma once
// clang-format off

#define TANDEM_REDUCE_OPS(X)                                                                                           \
  X(sum,  "the sum; of integers and bools int64")                                                                      \
  X(mean, "the mean of floating-point numbers; of none NaN")                                                           \
  X(amax, "the largest; a NaN wins; equal ones share the gradient evenly")                                             \
  X(amin, "the smallest; a NaN wins; equal ones share the gradient evenly")                                            \
  X(logsumexp, "ln(sum e^x), without overflow; of integers and bools too")
// clang-format on
