// Sorting: sort, argsort, msort, topk and kthvalue.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

/// Returns (values, indices) sorted along dim, in ascending or descending order. NaNs count as largest. Sorting is
/// always stable, even if `stable` is false.
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
/// Returns the indices that sort() returns.
inline Tensor argsort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
template <std::same_as<bool> Bool>
Tensor argsort(const Tensor& x, Bool, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
/// Returns (values, indices) of the k largest or smallest elements along dim, in sorted order. @throws Error unless k
/// is between 0 and the size
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                       detail::Flag sorted = true) {
  return x.topk(k, dim, largest, sorted);
}
/// Returns the elements in ascending order along dimension 0.
inline Tensor msort(const Tensor& x) { return x.msort(); }
/// Returns (values, indices) of the k-th smallest elements along dim; k counts from 1.
inline std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.kthvalue(k, dim, keepdim);
}

}  // namespace tandem
