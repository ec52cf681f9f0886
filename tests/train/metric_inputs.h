// Short forms for tests of metrics: tensors from lists, and the message of an error.
#pragma once
#include "tandem/tandem.h"

namespace tandem::test {

inline Tensor labels(std::initializer_list<int64_t> values) { return tensor(std::vector<int64_t>(values), kInt64); }
inline Tensor numbers(std::initializer_list<double> values) { return tensor(std::vector<double>(values), kFloat64); }

/// Returns the message of the Error that `call` throws, or "no error".
template <class Call> std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

}  // namespace tandem::test
