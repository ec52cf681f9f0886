// LibTorch's logging and checks: LOG(INFO) << "text", CHECK(condition), CHECK_EQ(a, b). <torch/torch.h> leaves this
// header out, because test frameworks have macros of these names.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tandem/core/error.h"

namespace tandem::detail {

constexpr int kLogInfo = 0, kLogWarning = 1, kLogError = 2, kLogFatal = 3;
/// The lowest severity that is printed: the environment variable TORCH_CPP_LOG_LEVEL, which is INFO, WARNING, ERROR or
/// FATAL, or a number; by default WARNING.
inline int lowest_log_severity() {
  static const int severity = [] {
    const char* const text = std::getenv("TORCH_CPP_LOG_LEVEL");
    if (!text || !*text) return kLogWarning;
    const char* const names[] = {"INFO", "WARNING", "ERROR", "FATAL"};
    for (int i = 0; i < 4; ++i)
      if (std::string(text) == names[i]) return i;
    return std::atoi(text);
  }();
  return severity;
}
/// A line of the log. The destructor prints it; if it is fatal, it then aborts the program.
class LogMessage {
 public:
  LogMessage(const char* file, int line, int severity) : severity_(severity) {
    text_ << '[' << "VIWEF"[severity + 1] << ' ' << file << ':' << line << "] ";
  }
  ~LogMessage() {
    if (severity_ >= lowest_log_severity()) std::fprintf(stderr, "%s\n", text_.str().c_str());
    if (severity_ == kLogFatal) std::abort();
  }
  LogMessage(const LogMessage&) = delete;
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
  int severity_;
};
/// Makes both branches of a conditional expression void; & binds weaker than << and stronger than ?:.
struct IgnoreStream {
  void operator&(std::ostream&) {}
};

}  // namespace tandem::detail

#define TANDEM_LOG_INFO ::tandem::detail::kLogInfo
#define TANDEM_LOG_WARNING ::tandem::detail::kLogWarning
#define TANDEM_LOG_ERROR ::tandem::detail::kLogError
#define TANDEM_LOG_FATAL ::tandem::detail::kLogFatal
#define LOG(severity) ::tandem::detail::LogMessage(__FILE__, __LINE__, TANDEM_LOG_##severity).stream()
#define LOG_IF(severity, condition) \
  !(condition) ? static_cast<void>(0) : ::tandem::detail::IgnoreStream() & LOG(severity)
/// Verbose lines are printed if TORCH_CPP_LOG_LEVEL is -n or less.
#define VLOG_IS_ON(n) (-(n) >= ::tandem::detail::lowest_log_severity())
#define VLOG(n) !VLOG_IS_ON(n) ? static_cast<void>(0) : ::tandem::detail::IgnoreStream() & LOG(INFO)
#define CHECK(condition) \
  (condition) ? static_cast<void>(0) : ::tandem::detail::IgnoreStream() & LOG(FATAL) << "Check failed: " #condition " "
#define TANDEM_CHECK_OP(a, b, op) CHECK((a)op(b)) << '(' << (a) << " vs. " << (b) << ") "
#define CHECK_EQ(a, b) TANDEM_CHECK_OP(a, b, ==)
#define CHECK_NE(a, b) TANDEM_CHECK_OP(a, b, !=)
#define CHECK_LT(a, b) TANDEM_CHECK_OP(a, b, <)
#define CHECK_LE(a, b) TANDEM_CHECK_OP(a, b, <=)
#define CHECK_GT(a, b) TANDEM_CHECK_OP(a, b, >)
#define CHECK_GE(a, b) TANDEM_CHECK_OP(a, b, >=)
#define CHECK_NOTNULL(pointer) (pointer)
#ifdef NDEBUG
#define DCHECK(condition) \
  while (false) CHECK(condition)
#else
#define DCHECK(condition) CHECK(condition)
#endif
#define TORCH_CHECK_EQ(a, b) CHECK_EQ(a, b)
#define TORCH_CHECK_NE(a, b) CHECK_NE(a, b)
#define TORCH_CHECK_LT(a, b) CHECK_LT(a, b)
#define TORCH_CHECK_LE(a, b) CHECK_LE(a, b)
#define TORCH_CHECK_GT(a, b) CHECK_GT(a, b)
#define TORCH_CHECK_GE(a, b) CHECK_GE(a, b)
/// Throws tandem::Error unless the condition holds.
#define CAFFE_ENFORCE(condition, ...) TANDEM_CHECK(condition, #condition " " __VA_OPT__(, ) __VA_ARGS__)
/// LibTorch counts calls of its API; Tandem does not.
#define C10_LOG_API_USAGE_ONCE(...) static_cast<void>(0)
