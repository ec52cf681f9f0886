// OrderedDict: a dict that keeps the order of insertion, as LibTorch's.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <unordered_map>

#include "tandem/core/error.h"
#include "tandem/core/tensor_tree.h"

namespace tandem {

/// A dict in the order of insertion. `Key` is a string, or any other type that can be hashed and printed.
template <class Key, class Value> class OrderedDict {
 public:
  /// A key and its value.
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    /// Returns the key.
    const Key& key() const { return pair_.first; }
    /// Returns the value.
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    /// Returns the value.
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    /// Gives access to the value's members.
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    /// Returns the key and value as a pair.
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };

  OrderedDict() = default;
  /// @param key_description  what error messages call a key, such as "Parameter"
  explicit OrderedDict(std::string key_description) : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  /// Inserts a value and returns it. @throws Error if the key exists already
  Value& insert(Key key, Value value);
  /// Inserts all items of another dict. @throws Error if one of their keys exists already
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }
  /// Removes a value; later items move up by one position. @throws Error if the key does not exist
  void erase(const Key& key);
  /// Removes a value and returns it. @throws Error if the key does not exist
  Value pop(const Key& key);
  /// Returns a pointer to the value; null if the key does not exist.
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  const Value* find(const Key& key) const {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].value();
  }
  /// Whether the key exists.
  bool contains(const Key& key) const { return index_.count(key) != 0; }
  /// Returns the value. @throws Error if the key does not exist
  Value& operator[](const Key& key) { return const_cast<Value&>(std::as_const(*this)[key]); }
  /// Returns the value. @throws Error if the key does not exist
  const Value& operator[](const Key& key) const {
    const Value* const found = find(key);
    TANDEM_CHECK(found, "OrderedDict: ", key_description_, " '", key, "' is not defined; the dict has ", size(),
                 " items");
    return *found;
  }
  /// Returns item i. @throws IndexError unless i < size()
  Item& operator[](size_t i) { return const_cast<Item&>(std::as_const(*this)[i]); }
  /// Returns item i. @throws IndexError unless i < size()
  const Item& operator[](size_t i) const {
    TANDEM_CHECK_AS(IndexError, i < size(), "OrderedDict: Index ", i, " is out of bounds; the dict has ", size(),
                    " items");
    return items_[i];
  }
  /// Returns the first item. @throws IndexError if the dict is empty
  const Item& front() const { return (*this)[0]; }
  /// Returns the last item. @throws IndexError if the dict is empty
  const Item& back() const { return (*this)[size() - 1]; }
  /// Returns the number of items.
  size_t size() const { return items_.size(); }
  /// Whether the dict is empty.
  bool is_empty() const { return items_.empty(); }
  /// Removes all items.
  void clear() { items_.clear(), index_.clear(); }
  /// Reserves memory for `capacity` items.
  void reserve(size_t capacity) { items_.reserve(capacity), index_.reserve(capacity); }
  /// Returns an iterator to the first item.
  auto begin() { return items_.begin(); }
  /// Returns the end iterator.
  auto end() { return items_.end(); }
  /// Returns an iterator to the first item.
  auto begin() const { return items_.begin(); }
  /// Returns the end iterator.
  auto end() const { return items_.end(); }
  /// Returns the items in order.
  const std::vector<Item>& items() const { return items_; }
  /// Returns the keys in order.
  std::vector<Key> keys() const;
  /// Returns the values in order.
  std::vector<Value> values() const;
  /// Returns the (key, value) pairs in order.
  std::vector<std::pair<Key, Value>> pairs() const;

 private:
  std::string key_description_ = "Key";
  std::vector<Item> items_;
  std::unordered_map<Key, size_t> index_;  // index into items_ of each key
};

// Defined outside the class, because these members are slow to compile. nn/module.cpp instantiates them for Module.
template <class Key, class Value> Value& OrderedDict<Key, Value>::insert(Key key, Value value) {
  TANDEM_CHECK(index_.emplace(key, items_.size()).second, "OrderedDict: ", key_description_, " '", key,
               "' already defined");
  items_.emplace_back(std::move(key), std::move(value));
  return items_.back().value();
}
template <class Key, class Value> void OrderedDict<Key, Value>::erase(const Key& key) {
  const auto at = index_.find(key);
  TANDEM_CHECK(at != index_.end(), "OrderedDict: ", key_description_, " '", key, "' is not defined; the dict has ",
               size(), " items");
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

template <class K, class T> struct TensorTree<OrderedDict<K, T>> : detail::MapTensorTree<K, T> {
  template <class Value, class F> static void visit(Value& dict, const F& f) {
    for (auto& item : dict) TensorTree::visit_entry(item.key(), item.value(), f);
  }
};

}  // namespace tandem
