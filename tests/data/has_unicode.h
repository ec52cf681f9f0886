// Tells whether this build has utf8proc. Tests of tokenizers are skipped without it.
#pragma once
#include "tandem/data/text/unicode.h"
#include "tandem/tests/catch.h"

namespace tandem::test {

inline bool has_unicode() {
  try {
    data::detail::require_unicode_support("this test");
  } catch (const NotImplementedError& e) {
    WARN("skipped: " << e.what());
    return false;
  }
  return true;
}

}  // namespace tandem::test
