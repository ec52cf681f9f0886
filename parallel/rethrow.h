// An exception of another thread, with the name of who threw it. Internal.
#pragma once
#include <exception>
#include <string>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::detail {

/// What an exception says.
std::string what_of(const std::exception_ptr& exception);
/// Throws it as what it was, if it is one of Tandem's errors, with "who: " before what it says (nothing if who is
/// empty). It is a copy: no other thread holds what is thrown.
[[noreturn]] void rethrow_named(const std::exception_ptr& exception, const std::string& who);

}  // namespace tandem::detail
