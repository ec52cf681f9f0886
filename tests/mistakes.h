// Helper for tests of error messages: a list of mistakes, and the words that each error message must contain.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"

namespace tandem::test {

struct Mistake {
  const char* name;
  std::function<void()> make;
  std::vector<std::string> words;  // the message contains all of them
};
/// Checks that each mistake throws an Error whose message contains all its words.
inline void check(const std::vector<Mistake>& mistakes) {
  for (const Mistake& m : mistakes) {
    INFO(m.name);
    std::string message = "no error at all";
    try {
      m.make();
    } catch (const Error& error) {
      message = error.what();
    }
    for (const std::string& word : m.words) CHECK_THAT(message, Contains(word));
  }
}
}  // namespace tandem::test
