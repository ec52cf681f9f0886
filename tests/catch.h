// Includes Catch2, version 2 or 3, and tandem/core/internal.h for tests of internal types.
#pragma once
#include "tandem/core/internal.h"  // lets tests use internal declarations

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Matchers::ContainsSubstring;
inline auto Contains(const std::string& text) { return ContainsSubstring(text); }
using Catch::Approx;
#else
#include <catch2/catch.hpp>
using Catch::Matchers::Contains;
#endif
