// OrderedDict: names and values in the order in which they were inserted, as LibTorch's.
#pragma once
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/error.h"

namespace tandem {

/// Keys are strings, or anything else that hashes and prints.
template <class Key, class Value> class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    const Key& key() const { return pair_.first; }
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    const std::pair<Key, Value>& pair() const { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };

  /// @throws Error when there is a value of this name already
  Value& insert(Key key, Value value) {
    TANDEM_CHECK(index_.emplace(key, items_.size()).second, "OrderedDict: there is a value named '", key, "' already");
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  /// Null when there is none.
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  const Value* find(const Key& key) const {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].value();
  }
  bool contains(const Key& key) const { return index_.count(key) != 0; }
  /// @throws Error when there is none
  Value& operator[](const Key& key) { return const_cast<Value&>(std::as_const(*this)[key]); }
  const Value& operator[](const Key& key) const {
    const Value* const found = find(key);
    TANDEM_CHECK(found, "OrderedDict: there is nothing named '", key, "' among ", size(), " values");
    return *found;
  }
  Item& operator[](size_t i) { return const_cast<Item&>(std::as_const(*this)[i]); }
  const Item& operator[](size_t i) const {
    TANDEM_CHECK_AS(IndexError, i < size(), "OrderedDict: index is ", i, "; there are ", size(), " values");
    return items_[i];
  }
  const Item& front() const { return (*this)[0]; }
  const Item& back() const { return (*this)[size() - 1]; }
  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  void clear() { items_.clear(), index_.clear(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const std::vector<Item>& items() const { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const Item& i : items_) out.push_back(i.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Item& i : items_) out.push_back(i.value());
    return out;
  }

 private:
  std::vector<Item> items_;
  std::unordered_map<Key, size_t> index_;  // of items_
};

}  // namespace tandem
