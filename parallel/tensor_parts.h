// Finds the tensors in what a module takes and returns: tensors, and vectors, pairs, tuples and optionals of them.
#pragma once
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::parallel::detail {

/// `kHolds`: whether a T can hold tensors. visit(value, f) calls f on each of them in a fixed order.
template <class T> struct TensorParts {
  static constexpr bool kHolds = false;
  template <class Value, class F> static void visit(Value&, const F&) {}
};
template <> struct TensorParts<Tensor> {
  static constexpr bool kHolds = true;
  template <class Value, class F> static void visit(Value& tensor, const F& f) { f(tensor); }
};
template <class T> struct TensorParts<std::vector<T>> {
  static constexpr bool kHolds = TensorParts<T>::kHolds;
  template <class Value, class F> static void visit(Value& list, const F& f) {
    if constexpr (kHolds)
      for (auto& each : list) TensorParts<T>::visit(each, f);
  }
};
template <class T> struct TensorParts<std::optional<T>> {
  static constexpr bool kHolds = TensorParts<T>::kHolds;
  template <class Value, class F> static void visit(Value& value, const F& f) {
    if (value) TensorParts<T>::visit(*value, f);
  }
};
template <class... T> struct TensorParts<std::tuple<T...>> {
  static constexpr bool kHolds = (TensorParts<T>::kHolds || ...);
  template <class Value, class F> static void visit(Value& tuple, const F& f) {
    std::apply([&](auto&... each) { (TensorParts<T>::visit(each, f), ...); }, tuple);
  }
};
template <class A, class B> struct TensorParts<std::pair<A, B>> {
  static constexpr bool kHolds = TensorParts<A>::kHolds || TensorParts<B>::kHolds;
  template <class Value, class F> static void visit(Value& pair, const F& f) {
    TensorParts<A>::visit(pair.first, f);
    TensorParts<B>::visit(pair.second, f);
  }
};
/// Whether a T is made of tensors and nothing else: what a replica may return.
template <class T> inline constexpr bool kOnlyTensors = false;
template <> inline constexpr bool kOnlyTensors<Tensor> = true;
template <class T> inline constexpr bool kOnlyTensors<std::vector<T>> = kOnlyTensors<T>;
template <class... T> inline constexpr bool kOnlyTensors<std::tuple<T...>> = (kOnlyTensors<T> && ...);
template <class A, class B> inline constexpr bool kOnlyTensors<std::pair<A, B>> = kOnlyTensors<A>&& kOnlyTensors<B>;

/// How an input is kept for a replica: cut, if it holds tensors, else as it is.
template <class T>
using ShardArgument = std::conditional_t<TensorParts<std::decay_t<T>>::kHolds, std::decay_t<T>, const T&>;

template <class T> std::vector<Tensor> tensors_of(const T& value) {
  std::vector<Tensor> out;
  TensorParts<T>::visit(value, [&](const Tensor& t) { out.push_back(t); });
  return out;
}
/// The same value with other tensors in place of its own, in their order.
template <class T> T with_tensors(T value, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  TensorParts<T>::visit(value, [&](Tensor& t) { t = tensors[next++]; });
  return value;
}

}  // namespace tandem::nn::parallel::detail
