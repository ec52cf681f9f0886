// Macros with which headers declare the operations listed in core/elementwise_ops.h: the function, its in-place
// version, and its out version.
#pragma once
#include "tandem/core/tensor.h"

// Out versions (exp_out(out, x)) write the result into `out` and return it. If the sizes of `out` are not the result's,
// `out` is resized, with a warning unless it has no elements. Its dtype must be able to hold the result. `out` must
// have x's dtype for sign, and for unary operations whose `accepts` column in core/elementwise_ops.h says numbers,
// real, rounded or integral. Out versions are not recorded by autograd, and throw if a gradient is required.
#define TANDEM_DECLARE_UNARY_OP(name, ...)                  \
  inline Tensor name(const Tensor& x) { return x.name(); }  \
  inline Tensor& name##_(Tensor& x) { return x.name##_(); } \
  Tensor& name##_out(Tensor& out, const Tensor& x);
#define TANDEM_DECLARE_BINARY_OP(name, ...)                                  \
  inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b);         \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b);
// Declares a function named as in torch.special, and its out version. There is no method and no in-place version.
#define TANDEM_DECLARE_SPECIAL_OP(name, ...) \
  Tensor name(const Tensor& x);              \
  Tensor& name##_out(Tensor& out, const Tensor& x);
// Declares an alias of a binary operation.
#define TANDEM_DECLARE_BINARY_ALIAS(alias, name)                                                              \
  inline Tensor alias(const Tensor& a, const Tensor& b) { return a.name(b); }                                 \
  inline Tensor alias(const Tensor& a, const Scalar& b) { return a.name(b); }                                 \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Tensor& b) { return name##_out(out, a, b); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Scalar& b) { return name##_out(out, a, b); }
