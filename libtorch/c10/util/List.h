// LibTorch's List: a list whose copies share the same elements.
#pragma once
#include <initializer_list>
#include <memory>
#include <vector>

#include "tandem/core/array_ref.h"

namespace tandem {

/// A list of T. Copies refer to the same elements; copy() makes a list of its own.
template <class T> class List {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = typename std::vector<T>::iterator;
  List() : elements_(std::make_shared<std::vector<T>>()) {}
  List(std::initializer_list<T> elements) : elements_(std::make_shared<std::vector<T>>(elements)) {}
  explicit List(ArrayRef<T> elements) : elements_(std::make_shared<std::vector<T>>(elements.begin(), elements.end())) {}
  explicit List(std::vector<T> elements) : elements_(std::make_shared<std::vector<T>>(std::move(elements))) {}
  /// The elements, for functions that read a list.
  operator ArrayRef<T>() const { return *elements_; }
  /// Returns a list with copies of the elements.
  List copy() const { return List(*elements_); }
  T get(size_t i) const { return elements_->at(i); }
  decltype(auto) operator[](size_t i) const { return elements_->at(i); }
  void set(size_t i, T value) const { elements_->at(i) = std::move(value); }
  T extract(size_t i) const { return std::move(elements_->at(i)); }
  iterator begin() const { return elements_->begin(); }
  iterator end() const { return elements_->end(); }
  bool empty() const { return elements_->empty(); }
  size_t size() const { return elements_->size(); }
  void reserve(size_t capacity) const { elements_->reserve(capacity); }
  void clear() const { elements_->clear(); }
  iterator insert(iterator position, T value) const { return elements_->insert(position, std::move(value)); }
  template <class... Args> iterator emplace(iterator position, Args&&... args) const {
    return elements_->emplace(position, std::forward<Args>(args)...);
  }
  void push_back(T value) const { elements_->push_back(std::move(value)); }
  void append(List other) const { elements_->insert(end(), other.begin(), other.end()); }
  template <class... Args> void emplace_back(Args&&... args) const {
    elements_->emplace_back(std::forward<Args>(args)...);
  }
  iterator erase(iterator position) const { return elements_->erase(position); }
  iterator erase(iterator first, iterator last) const { return elements_->erase(first, last); }
  void pop_back() const { elements_->pop_back(); }
  void resize(size_t count) const { elements_->resize(count); }
  void resize(size_t count, const T& value) const { elements_->resize(count, value); }
  /// Returns a copy of the elements.
  std::vector<T> vec() const { return *elements_; }
  /// Whether both lists are the same object.
  bool is(const List& other) const { return elements_ == other.elements_; }
  size_t use_count() const { return static_cast<size_t>(elements_.use_count()); }
  friend bool operator==(const List& a, const List& b) { return *a.elements_ == *b.elements_; }

 private:
  std::shared_ptr<std::vector<T>> elements_;
};

}  // namespace tandem
