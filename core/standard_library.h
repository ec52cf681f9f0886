// Link-time check that a program and the library use the same standard library with the same memory layout. If they do
// not, linking fails, and the name of the missing symbol says why.
#pragma once
#include <cstddef>  // for the macros that identify the standard library, which every standard header defines

#if defined(_LIBCPP_VERSION)
#define TANDEM_STANDARD_LIBRARY this_program_uses_libcxx_and_Tandem_was_built_with_another_standard_library
#elif defined(_GLIBCXX_DEBUG)
#define TANDEM_STANDARD_LIBRARY \
  this_program_is_compiled_with_D_GLIBCXX_DEBUG_and_Tandem_was_not_so_compile_both_with_it_or_both_without
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define TANDEM_STANDARD_LIBRARY \
  this_program_is_compiled_with_D_GLIBCXX_USE_CXX11_ABI_0_and_Tandem_was_not_so_compile_both_with_it_or_both_without
#else
#define TANDEM_STANDARD_LIBRARY \
  this_program_and_Tandem_were_compiled_for_different_standard_libraries_or_one_of_them_with_D_GLIBCXX_DEBUG
#endif

namespace tandem::detail {
extern const char TANDEM_STANDARD_LIBRARY;
[[gnu::used]] static const char* const standard_library = &TANDEM_STANDARD_LIBRARY;
}  // namespace tandem::detail
