// Rethrows exceptions of other threads, with the name of the thread's owner in the message. Internal.
#pragma once
#include <exception>
#include <string>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::detail {

/// Returns the message of an exception.
std::string exception_message(const std::exception_ptr& exception);
/// Throws a copy of the exception. If `who` is not empty, the copy's message begins with "who: ". If the exception is
/// an IndexError, NotImplementedError, OutOfMemoryError or DistributedError, the copy has the same type; any other
/// std::exception becomes an Error. The copy is not shared with other threads. An exception that is not a
/// std::exception is rethrown itself.
[[noreturn]] void rethrow_named(const std::exception_ptr& exception, const std::string& who);

}  // namespace tandem::detail
