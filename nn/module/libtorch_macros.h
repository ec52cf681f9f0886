// LibTorch's macros under LibTorch's names. A program ported from LibTorch changes only its include and the namespace
// torch; macros are in no namespace.
#pragma once
#include <sstream>

#include "tandem/nn/module.h"

namespace tandem::detail {
inline const char* check_message(const char* condition) { return condition; }
template <class... Parts> std::string check_message(const char*, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
}  // namespace tandem::detail

#ifndef TORCH_MODULE
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#endif
// The error message is built from the arguments after the condition; without any, it is the text of the condition.
#ifndef TORCH_CHECK
#define TORCH_CHECK_AS(ErrorType, condition, ...) \
  TANDEM_CHECK_AS(ErrorType, condition,           \
                  ::tandem::detail::check_message("'" #condition "' is false" __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_CHECK(condition, ...) TORCH_CHECK_AS(::tandem::Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK_AS(::tandem::IndexError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  TORCH_CHECK_AS(::tandem::NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#endif
#ifndef AT_ASSERT
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#endif
// Expands to nothing: AnyModule finds the default arguments of forward without LibTorch's list.
#ifndef FORWARD_HAS_DEFAULT_ARGS
#define FORWARD_HAS_DEFAULT_ARGS(...)
#endif
