// Iterator: goes through the batches of one epoch of a loader.
#pragma once
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::data {

/// An input iterator: its copies are at the same batch, and go on together. The first batch is fetched when it is first
/// asked for, or when the iterator is compared with the end.
template <class Batch> class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;

  /// The end.
  Iterator() = default;
  /// @param next   gives the next batch, or nothing when there are no more; what it throws comes out of the iterator,
  ///               which then stays where it is
  explicit Iterator(std::function<std::optional<Batch>()> next) : state_(std::make_shared<State>()) {
    state_->next = std::move(next);
  }

  /// @throws Error at the end
  Iterator& operator++() {
    TANDEM_CHECK(!at_end(), "DataLoader: its iterator is already at the end");
    state_->fetch();
    return *this;
  }
  /// @throws Error at the end
  Batch& operator*() const {
    TANDEM_CHECK(!at_end(), "DataLoader: its iterator is at the end, where there is no batch");
    return *state_->batch;
  }
  /// @throws Error at the end
  Batch* operator->() const { return &**this; }

  /// Two iterators are equal when both are at the end, one of them loader.end(), or one is a copy of the other.
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
