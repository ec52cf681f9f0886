// Implements Progress: draws the progress bar, or prints a line of progress.
#include "tandem/tools/compare/measure/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tandem::tools::compare {

void Progress::begin_item(const std::string& what) {
  const double part = static_cast<double>(num_items_done_++) / static_cast<double>(std::max<int64_t>(num_items_, 1));
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
  const double left = part > 0 ? spent / part - spent : 0;
  if (isatty(STDERR_FILENO)) {
    std::string bar(24, '.');
    std::fill_n(bar.begin(), static_cast<int>(24 * part), '#');
    std::fprintf(stderr, "\r[%s] %3.0f s left  %-44.44s", bar.c_str(), left, what.c_str());
  } else if (static_cast<int64_t>(10 * part) > last_printed_tenth_) {
    last_printed_tenth_ = static_cast<int64_t>(10 * part);
    std::fprintf(stderr, "%3d %%  %3.0f s left  %s\n", static_cast<int>(last_printed_tenth_ * 10), left, what.c_str());
  }
}
void Progress::finish() {
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%80s\r", "");
}

}  // namespace tandem::tools::compare
