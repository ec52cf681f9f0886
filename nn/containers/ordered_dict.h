// OrderedDict: names and values in the order in which they were inserted, as LibTorch's.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <unordered_map>

#include "tandem/core/error.h"
#include "tandem/core/tensor_tree.h"

namespace tandem {

/// Keys are strings, or anything else that hashes and prints.
template <class Key, class Value> class OrderedDict {
 public:
  /// A name and its value.
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    /// The name.
    const Key& key() const { return pair_.first; }
    /// The value.
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    /// The value.
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    /// The value's members.
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    /// Both as a pair.
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };

  OrderedDict() = default;
  OrderedDict(std::initializer_list<Item> items) {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  /// @throws Error when there is a value of this name already
  Value& insert(Key key, Value value);
  /// Inserts all of another. @throws Error when there is a value of one of its names already
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }
  /// Removes a value; what comes behind it moves up. @throws Error when there is none of this name
  void erase(const Key& key);
  /// Removes a value and gives it. @throws Error when there is none of this name
  Value pop(const Key& key);
  /// Null when there is none.
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  const Value* find(const Key& key) const {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].value();
  }
  /// Whether there is a value of this name.
  bool contains(const Key& key) const { return index_.count(key) != 0; }
  /// @throws Error when there is none
  Value& operator[](const Key& key) { return const_cast<Value&>(std::as_const(*this)[key]); }
  /// @throws Error when there is none
  const Value& operator[](const Key& key) const {
    const Value* const found = find(key);
    TANDEM_CHECK(found, "OrderedDict: there is nothing named '", key, "' among ", size(), " values");
    return *found;
  }
  /// The item at a position. @throws IndexError unless i < size()
  Item& operator[](size_t i) { return const_cast<Item&>(std::as_const(*this)[i]); }
  /// The item at a position. @throws IndexError unless i < size()
  const Item& operator[](size_t i) const {
    TANDEM_CHECK_AS(IndexError, i < size(), "OrderedDict: index is ", i, "; there are ", size(), " values");
    return items_[i];
  }
  /// The first item. @throws IndexError when there is none
  const Item& front() const { return (*this)[0]; }
  /// The last item. @throws IndexError when there is none
  const Item& back() const { return (*this)[size() - 1]; }
  /// How many items there are.
  size_t size() const { return items_.size(); }
  /// Whether there is no item.
  bool is_empty() const { return items_.empty(); }
  /// Removes all items.
  void clear() { items_.clear(), index_.clear(); }
  /// Makes room for so many items.
  void reserve(size_t capacity) { items_.reserve(capacity), index_.reserve(capacity); }
  /// The items in order.
  auto begin() { return items_.begin(); }
  /// Behind the last item.
  auto end() { return items_.end(); }
  /// The items in order.
  auto begin() const { return items_.begin(); }
  /// Behind the last item.
  auto end() const { return items_.end(); }
  /// The items in order.
  const std::vector<Item>& items() const { return items_; }
  /// The names in order.
  std::vector<Key> keys() const;
  /// The values in order.
  std::vector<Value> values() const;
  /// Names and values in order.
  std::vector<std::pair<Key, Value>> pairs() const;

 private:
  std::vector<Item> items_;
  std::unordered_map<Key, size_t> index_;  // of items_
};

// Not in the class: these are what takes long to compile, and Module's dicts have them in one place (nn/module.cpp).
template <class Key, class Value> Value& OrderedDict<Key, Value>::insert(Key key, Value value) {
  TANDEM_CHECK(index_.emplace(key, items_.size()).second, "OrderedDict: there is a value named '", key, "' already");
  items_.emplace_back(std::move(key), std::move(value));
  return items_.back().value();
}
template <class Key, class Value> void OrderedDict<Key, Value>::erase(const Key& key) {
  const auto at = index_.find(key);
  TANDEM_CHECK(at != index_.end(), "OrderedDict: there is nothing named '", key, "' among ", size(), " values");
  const size_t gone = at->second;
  index_.erase(at);
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (size_t i = gone; i < items_.size(); ++i) index_[items_[i].key()] = i;
}
template <class Key, class Value> Value OrderedDict<Key, Value>::pop(const Key& key) {
  Value out = (*this)[key];
  erase(key);
  return out;
}
template <class Key, class Value> std::vector<Key> OrderedDict<Key, Value>::keys() const {
  std::vector<Key> out;
  for (const Item& i : items_) out.push_back(i.key());
  return out;
}
template <class Key, class Value> std::vector<Value> OrderedDict<Key, Value>::values() const {
  std::vector<Value> out;
  for (const Item& i : items_) out.push_back(i.value());
  return out;
}
template <class Key, class Value> std::vector<std::pair<Key, Value>> OrderedDict<Key, Value>::pairs() const {
  std::vector<std::pair<Key, Value>> out;
  for (const Item& i : items_) out.push_back(i.pair());
  return out;
}

template <class K, class T> struct TensorTree<OrderedDict<K, T>> : detail::MapTree<K, T> {
  template <class Value, class F> static void visit(Value& dict, const F& f) {
    for (auto& item : dict) TensorTree::visit_entry(item.key(), item.value(), f);
  }
};

}  // namespace tandem
