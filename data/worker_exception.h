// WorkerException: an exception of a loader's worker, as the iterating thread receives it.
#pragma once
#include <exception>

#include "tandem/core/error.h"

namespace tandem::data {

/// An exception in a worker. what() has the original message, and names the batch that was being made.
class WorkerException : public Error {
 public:
  /// @param batch   description of what was being made, such as "the batch of examples 3, 4"; omitted if empty
  explicit WorkerException(const std::exception_ptr& original, const std::string& batch = "");
  /// Exception that was thrown in the worker.
  std::exception_ptr original_exception;
  std::string message;  // what() as a string
};

}  // namespace tandem::data
