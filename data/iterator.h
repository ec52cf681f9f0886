// Iterator: iterates over the batches of one epoch of a loader.
#pragma once
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::data {

/// An input iterator. Its copies share one position and advance together. The first batch is fetched when it is first
/// accessed, or when the iterator is compared with the end.
template <class Batch> class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;

  /// Constructs the end iterator, which is equal for all loaders.
  Iterator() = default;
  /// @param next   returns the next batch, or nullopt at the end. Its exceptions propagate out of the iterator, which
  /// then keeps its position
  explicit Iterator(std::function<std::optional<Batch>()> next) : state_(std::make_shared<State>()) {
    state_->next = std::move(next);
  }

  /// Advances to the next batch. @throws Error at the end
  Iterator& operator++() {
    TANDEM_CHECK(state_, "Incrementing the DataLoader's past-the-end iterator is not allowed");
    TANDEM_CHECK(!at_end(), "DataLoader: Attempted to increment iterator past the end");
    state_->fetch();
    return *this;
  }
  /// Returns the current batch. @throws Error at the end
  Batch& operator*() const {
    TANDEM_CHECK(state_, "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    TANDEM_CHECK(!at_end(), "DataLoader: Attempted to dereference iterator that was past the end");
    return *state_->batch;
  }
  /// Returns the current batch. @throws Error at the end
  Batch* operator->() const { return &**this; }

  /// Two iterators are equal if one is a copy of the other, or if both are at the end and at least one of them is
  /// loader.end().
  friend bool operator==(const Iterator& a, const Iterator& b) {
    if (!a.state_) return b.at_end();
    if (!b.state_) return a.at_end();
    return a.state_ == b.state_;
  }

 private:
  struct State {
    void fetch() {
      std::optional<Batch> fetched = next();
      begun = true;
      batch.reset();
      if (fetched) batch.emplace(std::move(*fetched));
    }
    std::function<std::optional<Batch>()> next;
    std::optional<Batch> batch;
    bool begun = false;
  };
  bool at_end() const {
    if (!state_) return true;
    if (!state_->begun) state_->fetch();
    return !state_->batch;
  }
  std::shared_ptr<State> state_;  // null: loader.end()
};

}  // namespace tandem::data
