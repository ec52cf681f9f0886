// What is wrong with a command line, as opposed to what is wrong with the work: such a command ends with status 2.
#pragma once
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::tools {

constexpr int kUsageStatus = 2;

/// What was asked for cannot be done. main() prints it without a place in the sources, where nobody needs to look.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError with the parts streamed together, unless `condition` holds.
template <class... Parts> void check_usage(bool condition, const Parts&... parts) {
  if (condition) return;
  std::ostringstream message;
  (message << ... << parts);
  throw UsageError(message.str());
}

/// Runs what reads a user's words or files: an Error of the library is about those, and becomes a UsageError.
template <class Body> auto as_usage(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw UsageError(error.what_without_backtrace());
  }
}

/// The one of `words` that was probably meant: it begins like `asked`, or differs in a letter of three at most.
/// Empty if there is none.
std::string nearest(const std::string& asked, const std::vector<std::string>& words);
/// "; did you mean 'demo'?", or nothing
std::string did_you_mean(const std::string& asked, const std::vector<std::string>& words);
/// "single, dp, all"
std::string comma_separated(const std::vector<std::string>& words);

/// How many threads to compute with, where a user asked for `asked`: no more than there are cores, which it says.
int usable_threads(int asked);

}  // namespace tandem::tools
