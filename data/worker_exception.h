// WorkerException: the exception that the iterating thread receives if a worker of the loader throws.
#pragma once
#include <exception>

#include "tandem/core/error.h"

namespace tandem::data {

/// An exception that a worker threw. what() contains the original message and describes the batch that the worker was
/// making.
class WorkerException : public Error {
 public:
  /// @param batch   description of what was being made, such as "the batch of examples 3, 4"; omitted if empty
  explicit WorkerException(const std::exception_ptr& original, const std::string& batch = "");
  /// Exception that was thrown in the worker.
  std::exception_ptr original_exception;
  std::string message;  // the message that what() returns
};

}  // namespace tandem::data
