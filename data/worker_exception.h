// WorkerException: what went wrong in a loader's worker, as the thread that iterates sees it.
#pragma once
#include <exception>

#include "tandem/core/error.h"

namespace tandem::data {

/// An exception in a worker. what() has the words of the original one, and which batch was to be made.
class WorkerException : public Error {
 public:
  /// @param batch   what was to be made, as in "the batch of examples 3, 4"; left out when empty
  explicit WorkerException(const std::exception_ptr& original, const std::string& batch = "");
  /// What was thrown in the worker.
  std::exception_ptr original_exception;
  std::string message;  // what() as a string
};

}  // namespace tandem::data
