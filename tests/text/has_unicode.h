// Tells whether this build has utf8proc. Tests of tokenizers are skipped without it.
#pragma once
#include "tandem/tests/catch.h"
#include "tandem/text/unicode.h"

namespace tandem::test {

inline bool has_unicode() {
  try {
    text::detail::require_unicode_support("this test");
  } catch (const NotImplementedError& e) {
    WARN("skipped: " << e.what());
    return false;
  }
  return true;
}

}  // namespace tandem::test
