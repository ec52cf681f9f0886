// Sorting: sort, argsort, msort, topk and kthvalue.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

/// (values, positions) along dim in ascending or descending order; NaNs count as largest. Equal elements keep their
/// order, whether or not `stable` asks for it.
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.sort(dim, descending);
}
template <std::same_as<bool> Bool>
std::tuple<Tensor, Tensor> sort(const Tensor& x, Bool, int64_t dim, detail::Flag descending) {
  return x.sort(dim, descending);
}
template <std::same_as<std::optional<bool>> Stable>
std::tuple<Tensor, Tensor> sort(const Tensor& x, Stable, int64_t dim = -1, detail::Flag descending = false) {
  return x.sort(dim, descending);
}
/// The positions that sort gives.
inline Tensor argsort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
template <std::same_as<bool> Bool>
Tensor argsort(const Tensor& x, Bool, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
/// (values, positions) of the k largest or smallest elements along dim, in order. @throws Error unless k is 0 to the
/// size
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                       detail::Flag sorted = true) {
  return x.topk(k, dim, largest, sorted);
}
/// The elements in ascending order along dimension 0.
inline Tensor msort(const Tensor& x) { return x.msort(); }
/// (the k-th smallest, from 1 on, its position) along dim
inline std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.kthvalue(k, dim, keepdim);
}

}  // namespace tandem
