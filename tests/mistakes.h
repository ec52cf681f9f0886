// Mistakes and what the engine's errors must say of them, for the tests of errors.
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
  std::vector<std::string> words;  // all of them are in the message
};
/// Each mistake throws an Error whose message has all its words.
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
