// Implements TokenWindows: cuts windows from a token file.
#include "tandem/text/token_windows.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::text {

TokenWindows::TokenWindows(TokenFile file, const TokenWindowsOptions& options)
    : file_(std::move(file)),
      options_(options),
      begin_(options.begin()),
      end_(options.end() > 0 ? options.end() : file_.size() + options.end()),
      stride_(options.stride() == 0 ? options.block_size() : options.stride()) {
  TANDEM_CHECK(options.block_size() >= 1 && stride_ >= 1, "TokenWindows: block_size is ", options.block_size(),
               " and stride is ", stride_, "; accepted: 1 or more");
  TANDEM_CHECK(begin_ >= 0 && end_ <= file_.size() && begin_ <= end_ && end_ - begin_ > options.block_size(),
               "TokenWindows: the range from ", begin_, " to ", end_, " of the ", file_.size(), " tokens of ",
               file_.path(), " has no window of ", options.block_size(), " + 1 tokens; accepted: a longer range, or a ",
               "smaller block_size");
  num_windows_ = static_cast<size_t>((end_ - begin_ - 1 - options.block_size()) / stride_ + 1);
}

data::Example<> TokenWindows::get(size_t index) {
  TANDEM_CHECK(index < num_windows_, "TokenWindows: there is no window ", index, "; accepted: less than ",
               num_windows_);
  const int64_t length = options_.block_size();
  int64_t begin = begin_ + static_cast<int64_t>(index) * stride_;
  if (options_.random_positions()) begin = begin_ + randint(end_ - begin_ - length, {1}, kInt64).item<int64_t>();
  const Tensor window = empty({length + 1}, kInt64);
  file_.read(begin, length + 1, window.data<int64_t>());
  return {window.narrow(0, 0, length), window.narrow(0, 1, length)};
}

}  // namespace tandem::text
