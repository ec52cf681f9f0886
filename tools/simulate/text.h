// append_printf: appends formatted text to a string.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

namespace tandem::simulate {

/// Appends text, formatted as by printf.
[[gnu::format(printf, 2, 3)]] inline void append_printf(std::string& text, const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  if (length > 0) {
    const size_t before = text.size();
    text.resize(before + static_cast<size_t>(length) + 1);
    std::vsnprintf(text.data() + before, static_cast<size_t>(length) + 1, format, again);
    text.pop_back();  // removes the null character that vsnprintf writes
  }
  va_end(again);
}

}  // namespace tandem::simulate
