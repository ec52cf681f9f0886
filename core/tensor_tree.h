// TensorTree: visits all tensors in a value. The value may be a tensor, an optional, vector, array, tuple, pair or map,
// nested in any way, or a struct that lists its members that hold tensors:
//
//     struct Output {
//       Tensor logits, hidden;
//       int64_t steps;
//       auto tensor_parts() { return std::tie(logits, hidden); }
//     };
//
// DataLoader, DataParallel, DistributedDataParallel and module hooks find tensors in this way.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem {

/// Describes where values of type T hold tensors. The primary template is for types without tensors, and for unknown
/// types. A type that cannot have tensor_parts() has a specialisation, as OrderedDict and data::Example do.
template <class T> struct TensorTree {
  /// Whether a T can hold tensors.
  static constexpr bool kHasTensors = false;
  /// Whether visit() finds all tensors of a T; false for unknown classes.
  static constexpr bool kIsKnownType = !std::is_class_v<T>;
  /// Whether a T consists only of tensors, so that DataParallel can gather it.
  static constexpr bool kHasOnlyTensors = false;
  /// Calls f with each tensor of a T or const T, in a fixed order. This primary template has no tensors to visit.
  template <class Value, class F> static void visit(Value&, const F&) {}
};

namespace detail {

/// Calls f with each tensor of a value, in order; with const tensors if the value is const.
template <class T, class F> void visit_tensors(T& value, const F& f) {
  using Tree = TensorTree<std::remove_const_t<T>>;
  if constexpr (Tree::kHasTensors) Tree::visit(value, f);
}
/// The constants kHasTensors, kIsKnownType and kHasOnlyTensors of TensorTree for a type that is composed of the types
/// Parts.
template <class... Parts> struct ComposedTensorTree {
  static constexpr bool kHasTensors = (TensorTree<std::remove_cvref_t<Parts>>::kHasTensors || ...);
  static constexpr bool kIsKnownType = (TensorTree<std::remove_cvref_t<Parts>>::kIsKnownType && ...);
  static constexpr bool kHasOnlyTensors = (TensorTree<std::remove_cvref_t<Parts>>::kHasOnlyTensors && ...);
};
/// The tree of a list.
template <class T> struct ListTensorTree : ComposedTensorTree<T> {
  template <class Value, class F> static void visit(Value& list, const F& f) {
    for (auto& each : list) visit_tensors(each, f);
  }
};
/// TensorTree of a tuple or a pair.
template <class... Parts> struct TupleTensorTree : ComposedTensorTree<Parts...> {
  template <class Value, class F> static void visit(Value& tuple, const F& f) {
    std::apply([&](auto&... each) { (visit_tensors(each, f), ...); }, tuple);
  }
};
/// Passed to the visitor before each value of a map, if the visitor accepts it.
template <class K> struct MapKey { const K& key; };
/// TensorTree of a map, in which only the values hold tensors.
template <class K, class T> struct MapTensorTree : ComposedTensorTree<T> {
  template <class Value, class F> static void visit_entry(const K& key, Value& value, const F& f) {
    if constexpr (std::is_invocable_v<const F&, MapKey<K>>) f(MapKey<K>{key});
    visit_tensors(value, f);
  }
};
template <class T>
concept HasTensorParts = requires(T& value) {
  value.tensor_parts();
};
template <class K>
concept HasOrder = requires(const K& a, const K& b) {
  a < b;
};

/// Returns the tensors of a value, in the order of visit().
template <class T> std::vector<Tensor> collect_tree_tensors(const T& value) {
  std::vector<Tensor> out;
  visit_tensors(value, [&](const Tensor& t) { out.push_back(t); });
  return out;
}
/// Returns a copy of the value with its tensors replaced by `tensors`, in the order of visit().
template <class T> T replace_tensors(T value, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  visit_tensors(value, [&](Tensor& t) { t = tensors[next++]; });
  return value;
}

}  // namespace detail

template <> struct TensorTree<Tensor> {
  static constexpr bool kHasTensors = true, kIsKnownType = true, kHasOnlyTensors = true;
  template <class Value, class F> static void visit(Value& tensor, const F& f) { f(tensor); }
};
template <class T, class... R> struct TensorTree<std::vector<T, R...>> : detail::ListTensorTree<T> {};
template <class T, size_t N> struct TensorTree<std::array<T, N>> : detail::ListTensorTree<T> {};
template <class T> struct TensorTree<std::optional<T>> : detail::ComposedTensorTree<T> {
  static constexpr bool kHasOnlyTensors = false;
  template <class Value, class F> static void visit(Value& value, const F& f) {
    if (value) detail::visit_tensors(*value, f);
  }
};
template <class... T> struct TensorTree<std::tuple<T...>> : detail::TupleTensorTree<T...> {};
template <class A, class B> struct TensorTree<std::pair<A, B>> : detail::TupleTensorTree<A, B> {};
template <class K, class T, class... R> struct TensorTree<std::map<K, T, R...>> : detail::MapTensorTree<K, T> {
  template <class Value, class F> static void visit(Value& map, const F& f) {
    for (auto& [key, value] : map) TensorTree::visit_entry(key, value, f);
  }
};
template <class K, class T, class... R>
struct TensorTree<std::unordered_map<K, T, R...>> : detail::MapTensorTree<K, T> {
  template <class Value, class F> static void visit(Value& map, const F& f) {
    std::vector<decltype(&*map.begin())> entries;
    for (auto& entry : map) entries.push_back(&entry);
    if constexpr (detail::HasOrder<K>)  // sort by key, because two maps with equal keys may iterate in different orders
      std::sort(entries.begin(), entries.end(), [](auto a, auto b) { return a->first < b->first; });
    for (const auto entry : entries) TensorTree::visit_entry(entry->first, entry->second, f);
  }
};
template <detail::HasTensorParts T> struct TensorTree<T> {
  static constexpr bool kHasTensors = true, kIsKnownType = true, kHasOnlyTensors = true;
  template <class Value, class F> static void visit(Value& value, const F& f) {
    const auto one = [&]<class Part>(Part& part) {
      detail::visit_tensors(static_cast<std::conditional_t<std::is_const_v<Value>, const Part, Part>&>(part), f);
    };
    std::apply([&](auto&... parts) { (one(parts), ...); }, const_cast<T&>(value).tensor_parts());
  }
};

}  // namespace tandem
