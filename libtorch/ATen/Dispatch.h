// LibTorch's macros that call a lambda in which `scalar_t` is the C++ type of a dtype:
//   AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "name", [&] { run(x.data_ptr<scalar_t>()); });
// The value of the macro is the value that the lambda returns. @throws NotImplementedError if the macro has no case for
// the dtype
#pragma once
#include <string>

#include "tandem/core/dtype.h"

namespace tandem::detail {
/// C++ type of a dtype that is a template argument: CppType<DType::float32>::type is float.
template <DType dtype> struct CppType;
template <> struct CppType<DType::float32> { using type = float; };
template <> struct CppType<DType::float64> { using type = double; };
template <> struct CppType<DType::float16> { using type = Half; };
template <> struct CppType<DType::bfloat16> { using type = BFloat16; };
template <> struct CppType<DType::int64> { using type = int64_t; };
template <> struct CppType<DType::int32> { using type = int32_t; };
template <> struct CppType<DType::int16> { using type = int16_t; };
template <> struct CppType<DType::int8> { using type = int8_t; };
template <> struct CppType<DType::uint8> { using type = uint8_t; };
template <> struct CppType<DType::boolean> { using type = bool; };
[[noreturn]] inline void throw_unsupported_dtype(const char* name, DType dtype) {
  throw NotImplementedError(std::string("\"").append(name).append("\" not implemented for '").append(toString(dtype)) +
                            "'");
}
}  // namespace tandem::detail

// Case of a switch over dtypes: calls the lambda with HINT as the name of the C++ type of DTYPE.
#define AT_PRIVATE_CASE_TYPE_USING_HINT(DTYPE, HINT, ...)                          \
  case DTYPE: {                                                                    \
    using HINT [[maybe_unused]] = typename ::tandem::detail::CppType<DTYPE>::type; \
    return __VA_ARGS__();                                                          \
  }
#define AT_DISPATCH_CASE(DTYPE, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(DTYPE, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                       \
  [&] {                                                                           \
    const ::tandem::DType at_dispatch_type = TYPE;                                \
    switch (at_dispatch_type) {                                                   \
      __VA_ARGS__                                                                 \
      default: ::tandem::detail::throw_unsupported_dtype(NAME, at_dispatch_type); \
    }                                                                             \
  }()

#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)      \
  AT_DISPATCH_CASE(::tandem::DType::float16, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::DType::bfloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)              \
  AT_DISPATCH_CASE(::tandem::DType::float64, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::DType::float32, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)            \
  AT_DISPATCH_CASE(::tandem::DType::uint8, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::DType::int8, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tandem::DType::int32, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::DType::int64, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::DType::int16, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))

// Dispatch macros for a family of dtypes. Those named _AND, _AND2 and _AND3 also accept one to three more dtypes.
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)                         \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                       \
                     AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                         AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...)                      \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                       \
                     AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                         AT_DISPATCH_CASE(C, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::tandem::DType::float16, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                              \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                       \
                     AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                         AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                           \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                       \
                     AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                         AT_DISPATCH_CASE(C, __VA_ARGS__) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))

// Dispatch macro for the dtypes of indices, int32 and int64. The lambda sees the C++ type as index_t.
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                   \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                   \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::DType::int32, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::DType::int64, index_t, __VA_ARGS__))
