// Reductions and scans. Those over several dims accept them in any order; an empty list means all.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

// core/reduce_ops.h says what they compute. The forms with `out` are as those of ops/elementwise.h.
#define TANDEM_DECLARE(name, ...)                                                            \
  inline Tensor name(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) { \
    return x.name(dims, keepdim);                                                            \
  }                                                                                          \
  Tensor& name##_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
TANDEM_REDUCE_OPS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
/// Divided by n - 1 (unbiased) or n.
inline Tensor var(const Tensor& x) { return x.var(); }
template <std::same_as<bool> Bool> Tensor var(const Tensor& x, Bool unbiased) { return x.var(unbiased); }
inline Tensor var(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.var(dims, unbiased, keepdim);
}
inline Tensor std(const Tensor& x) { return x.std(); }
template <std::same_as<bool> Bool> Tensor std(const Tensor& x, Bool unbiased) { return x.std(unbiased); }
inline Tensor std(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.std(dims, unbiased, keepdim);
}
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
/// (values, positions); of several equal extremes the first, and the gradient goes to that one.
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.max(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.min(dim, keepdim);
}
inline Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmax(dim, keepdim);
}
inline Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmin(dim, keepdim);
}
inline Tensor all(const Tensor& x) { return x.all(); }
inline Tensor any(const Tensor& x) { return x.any(); }
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor cumsum(const Tensor& x, int64_t dim) { return x.cumsum(dim); }
/// (sum |x|^p)^(1/p) of real numbers, all or over some dims; p may be infinite, but for no elements only 0 or more.
inline Tensor norm(const Tensor& x, double p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.norm(p, dims, keepdim);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.sort(dim, descending);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                       detail::Flag sorted = true) {
  return x.topk(k, dim, largest, sorted);
}

/// Largest absolute difference within atol + rtol |b|, elementwise, and equal shapes.
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return a.allclose(b, rtol, atol, equal_nan);
}
inline bool equal(const Tensor& a, const Tensor& b) { return a.equal(b); }

}  // namespace tandem
