// Formats the line of a progress bar, and draws it on a terminal.
#include "tandem/data/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tandem/core/internal.h"

namespace tandem::data {
namespace {

constexpr auto kMinRedrawInterval = std::chrono::milliseconds(100);

/// Returns "03:25", or "1:03:25".
std::string format_duration(double seconds) {
  const auto s = static_cast<long long>(seconds);
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%02lld:%02lld", s / 60, s % 60);
  return text;
}
/// Returns "62.1it/s", or "3.20s/it" if it is slow.
std::string format_rate(size_t done, double seconds) {
  if (done == 0 || seconds <= 0) return "?it/s";
  const double rate = static_cast<double>(done) / seconds, shown = rate >= 1 ? rate : 1 / rate;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f%s",
                shown >= 100  ? 0
                : shown >= 10 ? 1
                              : 2,
                shown, rate >= 1 ? "it/s" : "s/it");
  return text;
}
size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string detail::format_progress_line(const std::string& label, size_t done, std::optional<size_t> total,
                                         double seconds, const std::string& postfix, size_t width) {
  const std::string prefix = label.empty() ? "" : label + ": ";
  std::string count = std::to_string(done), times = format_duration(seconds);
  if (total) {
    count.append("/").append(std::to_string(*total));
    const double left = static_cast<double>(*total - std::min(done, *total));
    times.append("<").append(done > 0 ? format_duration(seconds / static_cast<double>(done) * left) : "?");
  } else {
    count += "it";
  }
  const std::string end =
      " " + count + " [" + times + ", " + format_rate(done, seconds) + (postfix.empty() ? "" : ", " + postfix) + "]";
  if (!total) return (prefix + end.substr(1)).substr(0, width);
  const double part = *total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(*total));
  char percent[8];
  std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(100 * part));
  const size_t used = prefix.size() + 6 + end.size();  // 6 columns: the percentage and the bar's two ends
  if (used + 4 > width) return (prefix + percent + end).substr(0, width);
  std::string bar(std::min<size_t>(width - used, 40), ' ');
  std::fill_n(bar.begin(), static_cast<size_t>(part * static_cast<double>(bar.size())), '#');
  return prefix + percent + "|" + bar + "|" + end;
}

detail::ProgressBar::ProgressBar(std::string label, std::optional<size_t> total)
    : label_(std::move(label)), total_(total), is_visible_(::isatty(STDERR_FILENO) == 1) {}

void detail::ProgressBar::begin() {
  end();
  num_done_ = 0;
  is_running_ = true;
  start_time_ = Clock::now();
  if (is_visible_) draw();
}
void detail::ProgressBar::advance() {
  ++num_done_;
  if (is_visible_ && Clock::now() - last_draw_time_ >= kMinRedrawInterval) draw();
}
void detail::ProgressBar::end() {
  if (!is_running_) return;
  is_running_ = false;
  if (!is_visible_) return;
  draw();
  std::fputc('\n', stderr);
}
void detail::ProgressBar::draw() {
  last_draw_time_ = Clock::now();
  const double seconds = std::chrono::duration<double>(last_draw_time_ - start_time_).count();
  // The last column stays empty, because some terminals would move to the next line after it. The escape sequence
  // \033[K clears the rest of the line.
  const std::string line = format_progress_line(label_, num_done_, total_, seconds, postfix_, terminal_width() - 1);
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
}

}  // namespace tandem::data
