// progress: a bar on the terminal for a loop over batches, or over anything else, as Python's tqdm draws one.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tandem/core/durations.h"
#include "tandem/core/owned.h"

namespace tandem::data {

namespace detail {

/// "epoch 1:  42%|####      | 197/469 [00:03<00:04, 62.1it/s, loss 0.31]", or what is known of it, in up to `width`
/// columns.
std::string progress_line(const std::string& label, size_t done, std::optional<size_t> total, double seconds,
                          const std::string& postfix, size_t width);

/// The line on the standard error, redrawn ten times a second where that is a terminal. Elsewhere nothing is written.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::optional<size_t> total);
  ProgressBar(const ProgressBar&) = delete;
  ~ProgressBar() { end(); }
  void begin();
  /// One more is done.
  void advance();
  /// Leaves the line as it stands, and goes to the next one.
  void end();
  void set_postfix(std::string postfix) { postfix_ = std::move(postfix); }

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string label_, postfix_;
  std::optional<size_t> total_;
  size_t done_ = 0;
  bool visible_, under_way_ = false;
  Clock::time_point start_, drawn_;
};

/// Iterates as `Base` does, and tells the bar.
template <class Base, class End> class ProgressIterator {
 public:
  ProgressIterator(Base base, ProgressBar& bar) : base_(std::move(base)), bar_(&bar) {}
  decltype(auto) operator*() const { return *base_; }
  ProgressIterator& operator++() {
    bar_->advance();
    ++base_;
    return *this;
  }
  bool operator==(const End& end) const {
    const bool over = base_ == end;
    if (over) bar_->end();
    return over;
  }
  bool operator!=(const End& end) const { return !(*this == end); }

 private:
  Base base_;
  ProgressBar* bar_;
};

}  // namespace detail

/// What progress() returns: a range that iterates as the one in it does.
template <class Range> class Progress {
 public:
  Progress(Range&& range, std::string label, std::optional<size_t> total)
      : range_(std::forward<Range>(range)),
        bar_(new detail::ProgressBar(std::move(label), total ? total : size_of(range_))) {}
  /// The first element; the bar appears.
  auto begin() {
    using std::begin, std::end;
    auto first = begin(range_);
    bar_->begin();
    return detail::ProgressIterator<decltype(first), decltype(end(range_))>(std::move(first), *bar_);
  }
  /// Behind the last element.
  auto end() {
    using std::end;
    return end(range_);
  }
  /// Text at the end of the line, "loss 0.31", from the next drawing on.
  void set_postfix(std::string text) { bar_->set_postfix(std::move(text)); }

 private:
  template <class R> static std::optional<size_t> size_of(R& range) {
    if constexpr (requires { std::optional<size_t>(range.size()); })
      return std::optional<size_t>(range.size());
    else
      return {};
  }
  Range range_;  // a reference, where progress() was given something that stays
  tandem::detail::Owned<detail::ProgressBar> bar_;
};

/// A bar for a loop: how far it has come, its rate, and the time left.
///
///     for (auto& batch : data::progress(*loader, "epoch 1")) train(batch);
///
///     epoch 1:  42%|####      | 197/469 [00:03<00:04, 62.1it/s]
///
/// It is written to the standard error, and only where that is a terminal. For text at the end of the line the range
/// needs a name:
///
///     auto bar = data::progress(*loader, "epoch 1");
///     for (auto& batch : bar) bar.set_postfix("loss " + std::to_string(train(batch)));
///
/// @param range  a loader or container, or what else a `for` goes through; it must stay as long as the loop runs,
/// unless
///               it is given away
/// @param total  how many steps there are; what the range's size() says, unless given. Without either, only the count
///               and the rate are shown
template <class Range>
Progress<Range> progress(Range&& range, std::string label = "", std::optional<size_t> total = {}) {
  return Progress<Range>(std::forward<Range>(range), std::move(label), total);
}

}  // namespace tandem::data
