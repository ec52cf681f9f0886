// Errors in how the user called a command (wrong options, unreadable input files). The command then exits with status
// 2.
#pragma once
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::tools {

constexpr int kUsageErrorExitStatus = 2;

/// An error in the user's request, not in the program. main() prints only the message, without the source location.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError if `condition` is false; the message is `parts`, concatenated.
template <class... Parts> void check_usage(bool condition, const Parts&... parts) {
  if (condition) return;
  std::ostringstream message;
  (message << ... << parts);
  throw UsageError(message.str());
}

/// Calls `body`, which processes user input, and returns its result. Rethrows an Error of the library as a UsageError.
template <class Body> auto rethrow_as_usage_error(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw UsageError(error.what_without_backtrace());
  }
}

/// Returns the word that is most similar to `input`. A word is similar if its edit distance is at most a third of the
/// length of `input`, or else if it begins with `input` and `input` has two letters or more. Returns "" if no word is
/// similar.
std::string nearest_word(const std::string& input, const std::vector<std::string>& words);
/// Returns "; did you mean 'demo'?" with the nearest word, or "" if no word is similar.
std::string suggest_nearest_word(const std::string& input, const std::vector<std::string>& words);
/// Joins words: "single, dp, all".
std::string join_with_commas(const std::vector<std::string>& words);

/// Returns `input`, limited to the number of usable cores. Prints a note to stderr if `input` is larger.
int check_num_threads(int input);

}  // namespace tandem::tools
