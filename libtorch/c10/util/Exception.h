// LibTorch's warnings: macros, and the handler that gets them. Tandem's own messages on standard error do not pass
// through the handler. (nn/module/libtorch_macros.h has the TORCH_CHECK macros.)
#pragma once
#include <atomic>
#include <cstdio>
#include <sstream>
#include <string>

namespace tandem {

/// A warning: its text and where it was raised.
class Warning {
 public:
  struct SourceLocation {
    const char *function, *file;
    unsigned line;
  };
  Warning(SourceLocation location, std::string message) : location_(location), message_(std::move(message)) {}
  const SourceLocation& source_location() const noexcept { return location_; }
  const std::string& msg() const noexcept { return message_; }

 private:
  SourceLocation location_;
  std::string message_;
};
/// Receives warnings. This base class prints them to standard error.
class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  virtual void process(const Warning& warning) {
    std::fprintf(stderr, "[W %s:%u] Warning: %s (function %s)\n", warning.source_location().file,
                 warning.source_location().line, warning.msg().c_str(), warning.source_location().function);
  }
};
namespace WarningUtils {
inline WarningHandler* get_base_handler() {
  static WarningHandler handler;
  return &handler;
}
namespace detail {
inline thread_local WarningHandler* handler = nullptr;
inline bool warn_always = false;
}  // namespace detail
/// Sets this thread's handler; the default handler if it is null.
inline void set_warning_handler(WarningHandler* handler) noexcept { detail::handler = handler; }
inline WarningHandler* get_warning_handler() noexcept { return detail::handler ? detail::handler : get_base_handler(); }
/// If true, TORCH_WARN_ONCE warns each time.
inline void set_warnAlways(bool wanted) noexcept { detail::warn_always = wanted; }
inline bool get_warnAlways() noexcept { return detail::warn_always; }
/// Sets this thread's handler until the guard ends.
class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : before_(get_warning_handler()) {
    set_warning_handler(handler);
  }
  ~WarningHandlerGuard() { set_warning_handler(before_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* before_;
};
}  // namespace WarningUtils
/// Passes a warning to this thread's handler.
inline void warn(const Warning& warning) { WarningUtils::get_warning_handler()->process(warning); }

namespace detail {
template <class... Args>
void warn_from_parts(const char* function, const char* file, unsigned line, const Args&... args) {
  std::ostringstream text;
  (text << ... << args);
  warn(Warning({function, file, line}, text.str()));
}
}  // namespace detail

}  // namespace tandem

/// Raises a warning whose text is the arguments, one after the other.
#define TORCH_WARN(...) ::tandem::detail::warn_from_parts(__func__, __FILE__, __LINE__, __VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN(__VA_ARGS__)
/// Raises a warning the first time that it is reached.
#define TORCH_WARN_ONCE(...)                                                                                    \
  do {                                                                                                          \
    static std::atomic<bool> tandem_has_warned{false};                                                          \
    if (!tandem_has_warned.exchange(true) || ::tandem::WarningUtils::get_warnAlways()) TORCH_WARN(__VA_ARGS__); \
  } while (false)
