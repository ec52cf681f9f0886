// Finds the tensors in what a module takes and returns: tensors, vectors, pairs, tuples, optionals and maps of them,
// and structs that say which of their members these are:
//
//     struct Output {
//       Tensor logits, hidden;
//       int64_t steps;
//       auto tensor_parts() { return std::tie(logits, hidden); }
//     };
#pragma once
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/nn/containers/ordered_dict.h"

namespace tandem::nn::parallel {

namespace detail {

template <class T>
concept HasTensorParts = requires(T& value) {
  value.tensor_parts();
};

/// What is visited before the values of a map, by visitors that take it.
template <class K> struct MapKey { const K& key; };

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
template <class K, class T> struct MapParts {
  static constexpr bool kHolds = TensorParts<T>::kHolds;
  template <class Value, class F> static void visit_one(const K& key, Value& value, const F& f) {
    if constexpr (std::is_invocable_v<const F&, MapKey<K>>) f(MapKey<K>{key});
    TensorParts<T>::visit(value, f);
  }
};
template <class K, class T, class... Rest> struct TensorParts<std::map<K, T, Rest...>> : MapParts<K, T> {
  template <class Value, class F> static void visit(Value& map, const F& f) {
    if constexpr (TensorParts::kHolds)
      for (auto& [key, value] : map) TensorParts::visit_one(key, value, f);
  }
};
template <class K, class T, class... Rest> struct TensorParts<std::unordered_map<K, T, Rest...>> : MapParts<K, T> {
  template <class Value, class F> static void visit(Value& map, const F& f) {
    if constexpr (TensorParts::kHolds) {
      std::map<K, decltype(&map.begin()->second)> sorted;  // two of the same keys may list them differently
      for (auto& [key, value] : map) sorted.emplace(key, &value);
      for (auto& [key, value] : sorted) TensorParts::visit_one(key, *value, f);
    }
  }
};
template <class K, class T> struct TensorParts<OrderedDict<K, T>> : MapParts<K, T> {
  template <class Value, class F> static void visit(Value& dict, const F& f) {
    if constexpr (TensorParts::kHolds)
      for (auto& item : dict) TensorParts::visit_one(item.key(), item.value(), f);
  }
};
template <HasTensorParts T> struct TensorParts<T> {
  static constexpr bool kHolds = true;
  template <class Value, class F> static void visit(Value& value, const F& f) {
    const auto one = [&]<class Part>(Part& part) {
      if constexpr (std::is_const_v<Value>)
        TensorParts<Part>::visit(std::as_const(part), f);
      else
        TensorParts<Part>::visit(part, f);
    };
    std::apply([&](auto&... parts) { (one(parts), ...); }, const_cast<T&>(value).tensor_parts());
  }
};
/// Whether a T is made of tensors and nothing else (of a struct: which says its tensors): what a replica may return.
template <class T> inline constexpr bool kOnlyTensors = false;
template <> inline constexpr bool kOnlyTensors<Tensor> = true;
template <class T> inline constexpr bool kOnlyTensors<std::vector<T>> = kOnlyTensors<T>;
template <class... T> inline constexpr bool kOnlyTensors<std::tuple<T...>> = (kOnlyTensors<T> && ...);
template <class A, class B> inline constexpr bool kOnlyTensors<std::pair<A, B>> = kOnlyTensors<A>&& kOnlyTensors<B>;
template <class K, class T, class... R> inline constexpr bool kOnlyTensors<std::map<K, T, R...>> = kOnlyTensors<T>;
template <class K, class T, class... R>
inline constexpr bool kOnlyTensors<std::unordered_map<K, T, R...>> = kOnlyTensors<T>;
template <class K, class T> inline constexpr bool kOnlyTensors<OrderedDict<K, T>> = kOnlyTensors<T>;
template <HasTensorParts T> inline constexpr bool kOnlyTensors<T> = true;

/// How an input is kept for a replica: cut, if it holds tensors, else as it is.
template <class T>
using ShardArgument = std::conditional_t<TensorParts<std::decay_t<T>>::kHolds, std::decay_t<T>, const T&>;

template <class T> std::vector<Tensor> tensors_of(const T& value) {
  std::vector<Tensor> out;
  TensorParts<T>::visit(value, [&](const Tensor& t) { out.push_back(t); });
  return out;
}
/// Lists the keys of maps.
struct KeyList {
  std::string& out;
  void operator()(const Tensor&) const {}
  template <class K> void operator()(const MapKey<K>& at) const {
    std::ostringstream text;
    text << (out.empty() ? "" : ", ") << at.key;
    out += text.str();
  }
};
/// The keys of all maps in it, in the order of a visit: "logits, hidden".
template <class T> std::string keys_of(const T& value) {
  std::string out;
  TensorParts<T>::visit(value, KeyList{out});
  return out;
}
/// The same value with other tensors in place of its own, in their order.
template <class T> T with_tensors(T value, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  TensorParts<T>::visit(value, [&](Tensor& t) { t = tensors[next++]; });
  return value;
}

}  // namespace detail
}  // namespace tandem::nn::parallel
