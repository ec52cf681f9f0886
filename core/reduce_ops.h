// The reductions over dimensions, a line each. From a line comes the method (x.sum(dims, keepdim)); the function and
// the form that writes into a given tensor (sum_out) are in the header of that name in ops/reduce/. `dims` is a list,
// which names each dimension once, in any order; an empty one means all. With keepdim they stay, of size 1. Includes
// nothing, so that anybody can expand it.
#pragma once
// clang-format off

#define TANDEM_REDUCE_OPS(X)                                                                                           \
  X(sum,  "the sum; of integers and bools int64")                                                                      \
  X(mean, "the mean of floating-point numbers; of none NaN")                                                           \
  X(amax, "the largest; a NaN wins; equal ones share the gradient evenly")                                             \
  X(amin, "the smallest; a NaN wins; equal ones share the gradient evenly")                                            \
  X(logsumexp, "ln(sum e^x), without overflow; of integers and bools too")
// clang-format on
