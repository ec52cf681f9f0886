// Macros with which headers declare the operations that core/elementwise_ops.h lists: the function, its in-place form,
// and its form with `out`.
#pragma once
#include "tandem/core/tensor.h"

// The forms with `out` write into it and give it back: it has the result's sizes, or no elements, and then gets those;
// its dtype holds the result's kind, and is the result's own where that is x's (column `accepts`: numbers, real,
// rounded, integral, and sign). They record nothing, and throw where a gradient is wanted.
#define TANDEM_DECLARE_UNARY_OP(name, ...)                  \
  inline Tensor name(const Tensor& x) { return x.name(); }  \
  inline Tensor& name##_(Tensor& x) { return x.name##_(); } \
  Tensor& name##_out(Tensor& out, const Tensor& x);
#define TANDEM_DECLARE_BINARY_OP(name, ...)                                  \
  inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b);         \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b);
// Functions alone, with the names of torch.special.
#define TANDEM_DECLARE_SPECIAL_OP(name, ...) \
  Tensor name(const Tensor& x);              \
  Tensor& name##_out(Tensor& out, const Tensor& x);
// Other spellings.
#define TANDEM_DECLARE_BINARY_ALIAS(alias, name)                                                              \
  inline Tensor alias(const Tensor& a, const Tensor& b) { return a.name(b); }                                 \
  inline Tensor alias(const Tensor& a, const Scalar& b) { return a.name(b); }                                 \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Tensor& b) { return name##_out(out, a, b); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Scalar& b) { return name##_out(out, a, b); }
