// progress: a progress bar on the terminal for a loop over batches or any other range, like Python's tqdm.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tandem/core/durations.h"
#include "tandem/core/owned_ptr.h"

namespace tandem::data {

namespace detail {

/// Returns "epoch 1:  42%|####      | 197/469 [00:03<00:04, 62.1it/s, loss 0.31]", cut to `width` columns. If `total`
/// is nullopt, leaves out the parts that depend on it.
std::string format_progress_line(const std::string& label, size_t done, std::optional<size_t> total, double seconds,
                                 const std::string& postfix, size_t width);

/// Draws the progress line on standard error, at most ten times a second, if standard error is a terminal. Otherwise
/// writes nothing.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::optional<size_t> total);
  ProgressBar(const ProgressBar&) = delete;
  ~ProgressBar() { end(); }
  void begin();
  /// Counts one more step.
  void advance();
  /// Draws the line for the last time, and moves to the next line.
  void end();
  void set_postfix(std::string postfix) { postfix_ = std::move(postfix); }

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string label_, postfix_;
  std::optional<size_t> total_;
  size_t num_done_ = 0;
  bool is_visible_, is_running_ = false;
  Clock::time_point start_time_, last_draw_time_;
};

/// Wraps the iterator `Base`, and advances the bar at each increment.
template <class Base, class End> class ProgressIterator {
 public:
  ProgressIterator(Base base, ProgressBar& bar) : base_iterator_(std::move(base)), bar_(&bar) {}
  decltype(auto) operator*() const { return *base_iterator_; }
  ProgressIterator& operator++() {
    bar_->advance();
    ++base_iterator_;
    return *this;
  }
  bool operator==(const End& end) const {
    const bool over = base_iterator_ == end;
    if (over) bar_->end();
    return over;
  }
  bool operator!=(const End& end) const { return !(*this == end); }

 private:
  Base base_iterator_;
  ProgressBar* bar_;
};

}  // namespace detail

/// Range that progress() returns. It iterates over the range that was passed to progress().
template <class Range> class Progress {
 public:
  Progress(Range&& range, std::string label, std::optional<size_t> total)
      : range_(std::forward<Range>(range)),
        bar_(new detail::ProgressBar(std::move(label), total ? total : get_range_size(range_))) {}
  /// Shows the bar and returns an iterator to the first element.
  auto begin() {
    using std::begin, std::end;
    auto first = begin(range_);
    bar_->begin();
    return detail::ProgressIterator<decltype(first), decltype(end(range_))>(std::move(first), *bar_);
  }
  /// Returns the end of the range.
  auto end() {
    using std::end;
    return end(range_);
  }
  /// Sets the text at the end of the line, such as "loss 0.31". It appears when the line is next drawn.
  void set_postfix(std::string text) { bar_->set_postfix(std::move(text)); }

 private:
  template <class R> static std::optional<size_t> get_range_size(R& range) {
    if constexpr (requires { std::optional<size_t>(range.size()); })
      return std::optional<size_t>(range.size());
    else
      return {};
  }
  Range range_;  // a reference if progress() was called with an lvalue
  tandem::detail::OwnedPtr<detail::ProgressBar> bar_;
};

/// Shows a bar for a loop: its progress, its rate, and the time left.
///
///     for (auto& batch : data::progress(*loader, "epoch 1")) train(batch);
///
///     epoch 1:  42%|####      | 197/469 [00:03<00:04, 62.1it/s]
///
/// The bar is written to standard error, and only if that is a terminal. To set the text at the end of the line, give
/// the range a name:
///
///     auto bar = data::progress(*loader, "epoch 1");
///     for (auto& batch : bar) bar.set_postfix("loss " + std::to_string(train(batch)));
///
/// @param range  a loader, a container or another range. It must outlive the loop, unless it is passed as an rvalue
/// @param total  number of steps; by default the range's size(). Without either, only the count and the rate are shown
template <class Range>
Progress<Range> progress(Range&& range, std::string label = "", std::optional<size_t> total = {}) {
  return Progress<Range>(std::forward<Range>(range), std::move(label), total);
}

}  // namespace tandem::data
