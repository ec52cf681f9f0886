// Element types: the C++ types, names and sizes, and the default dtype.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

#include "tandem/core/error.h"
#include "tandem/core/half.h"
#include "tandem/core/loop/loop_types.h"
#include "tandem/core/print/print_style.h"

namespace tandem {

/// The dtypes under LibTorch's names; kFloat and kFloat32 are the same.
constexpr DType kFloat32 = DType::float32, kFloat = kFloat32, kF32 = kFloat32;
constexpr DType kFloat64 = DType::float64, kDouble = kFloat64, kF64 = kFloat64;
constexpr DType kFloat16 = DType::float16, kHalf = kFloat16, kBFloat16 = DType::bfloat16;
constexpr DType kInt64 = DType::int64, kLong = kInt64, kInt32 = DType::int32, kInt = kInt32;
constexpr DType kInt16 = DType::int16, kShort = kInt16, kInt8 = DType::int8, kChar = kInt8;
constexpr DType kUInt8 = DType::uint8, kByte = kUInt8, kBool = DType::boolean;

/// LibTorch's names for the element type.
using ScalarType = DType;
using Dtype = DType;

namespace detail {
/// Bytes of one element.
constexpr int64_t element_size(DType dtype) {
  constexpr int64_t sizes[kDTypeCount] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
  return sizes[static_cast<int>(dtype)];
}
/// Returns "float32", "int64", "bool", ...
constexpr const char* name(DType dtype) {
  constexpr const char* names[kDTypeCount] = {"float32", "float64", "float16", "bfloat16", "int64",
                                              "int32",   "int16",   "int8",    "uint8",    "bool"};
  return names[static_cast<int>(dtype)];
}
/// LibTorch's name of the dtype: "Float", "Long", "Bool", ...
constexpr const char* libtorch_name(DType dtype) {
  constexpr const char* names[kDTypeCount] = {"Float", "Double", "Half", "BFloat16", "Long",
                                              "Int",   "Short",  "Char", "Byte",     "Bool"};
  return names[static_cast<int>(dtype)];
}
}  // namespace detail
/// Prints the dtype as "float32" or, in LibTorch's style, as "Float".
inline std::ostream& operator<<(std::ostream& out, DType dtype) {
  return out << (detail::prints_as_libtorch ? detail::libtorch_name(dtype) : detail::name(dtype));
}

/// Whether the elements are floating-point numbers: float32, float64 and the half types.
constexpr bool is_floating_point(DType dtype) { return dtype <= DType::bfloat16; }
// LibTorch's predicates on dtypes.

/// is_floating_point().
constexpr bool isFloatingType(DType dtype) { return is_floating_point(dtype); }
/// Whether the dtype is float16 or bfloat16.
constexpr bool isReducedFloatingType(DType dtype) { return dtype == kHalf || dtype == kBFloat16; }
/// Always false: there are no complex dtypes.
constexpr bool isComplexType(DType) { return false; }
/// Whether the dtype is an integer type; with includeBool, bool counts too.
constexpr bool isIntegralType(DType dtype, bool includeBool) {
  return (dtype >= DType::int64 && dtype <= DType::uint8) || (includeBool && dtype == kBool);
}
/// Whether the dtype has negative values: false for uint8 and bool.
constexpr bool isSignedType(DType dtype) { return dtype != kUInt8 && dtype != kBool; }
/// Functions that are found by their qualified names (tandem::toString) and within namespace tandem, but not by their
/// arguments. Functions of the same names that a program or a library such as doctest defines do not compete with them.
namespace qualified {
/// LibTorch's name of the dtype: "Float", "Long", "Bool", ...
constexpr const char* toString(DType dtype) { return detail::libtorch_name(dtype); }
}  // namespace qualified
using namespace qualified;
/// Bytes of one element.
constexpr size_t elementSize(DType dtype) { return static_cast<size_t>(detail::element_size(dtype)); }
namespace detail {
constexpr bool is_reduced_floating_point(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
/// Whether the dtype is an integer type other than bool.
constexpr bool is_integer(DType dtype) { return dtype >= DType::int64 && dtype <= DType::uint8; }
}  // namespace detail

namespace detail {
/// Calls visitor.template operator()<T>() with T the C++ type of the dtype.
template <class Visitor> decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::float32: return visitor.template operator()<float>();
    case DType::float64: return visitor.template operator()<double>();
    case DType::float16: return visitor.template operator()<Half>();
    case DType::bfloat16: return visitor.template operator()<BFloat16>();
    case DType::int64: return visitor.template operator()<int64_t>();
    case DType::int32: return visitor.template operator()<int32_t>();
    case DType::int16: return visitor.template operator()<int16_t>();
    case DType::int8: return visitor.template operator()<int8_t>();
    case DType::uint8: return visitor.template operator()<uint8_t>();
    case DType::boolean: return visitor.template operator()<bool>();
  }
  TANDEM_FAIL("no DType has the value ", static_cast<int>(dtype), "; accepted: the enumerators of DType");
}

/// Dtype of the C++ type T.
template <class T> constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::float16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bfloat16;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return DType::int64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return DType::int32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return DType::int16;
  else if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, char>)
    return DType::int8;
  else {
    static_assert(std::is_same_v<T, uint8_t>, "no dtype holds this C++ type");
    return DType::uint8;
  }
}
}  // namespace detail

/// The dtype that factory functions use for floating-point values: float32 unless set_default_dtype() changed it on
/// this thread.
DType get_default_dtype();
void set_default_dtype(DType dtype);
/// Returns dtype. LibTorch has two types for dtypes (ScalarType and TypeMeta); Tandem has one.
inline DType scalarTypeToTypeMeta(DType dtype) { return dtype; }
inline DType typeMetaToScalarType(DType dtype) { return dtype; }

}  // namespace tandem

namespace std {
template <> struct numeric_limits<tandem::Half> : numeric_limits<float> {
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, min_exponent = -13, max_exponent = 16;
  static constexpr int min_exponent10 = -4, max_exponent10 = 4;
  static constexpr tandem::Half of(uint16_t bits) { return __builtin_bit_cast(tandem::Half, bits); }
  static constexpr tandem::Half min() { return of(0x0400); }
  static constexpr tandem::Half lowest() { return of(0xfbff); }
  static constexpr tandem::Half max() { return of(0x7bff); }
  static constexpr tandem::Half epsilon() { return of(0x1400); }
  static constexpr tandem::Half round_error() { return of(0x3800); }
  static constexpr tandem::Half infinity() { return of(0x7c00); }
  static constexpr tandem::Half quiet_NaN() { return of(0x7e00); }
  static constexpr tandem::Half signaling_NaN() { return of(0x7d00); }
  static constexpr tandem::Half denorm_min() { return of(0x0001); }
};
template <> struct numeric_limits<tandem::BFloat16> : numeric_limits<float> {
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4;
  static constexpr tandem::BFloat16 of(uint16_t bits) { return __builtin_bit_cast(tandem::BFloat16, bits); }
  static constexpr tandem::BFloat16 min() { return of(0x0080); }
  static constexpr tandem::BFloat16 lowest() { return of(0xff7f); }
  static constexpr tandem::BFloat16 max() { return of(0x7f7f); }
  static constexpr tandem::BFloat16 epsilon() { return of(0x3c00); }
  static constexpr tandem::BFloat16 round_error() { return of(0x3f00); }
  static constexpr tandem::BFloat16 infinity() { return of(0x7f80); }
  static constexpr tandem::BFloat16 quiet_NaN() { return of(0x7fc0); }
  static constexpr tandem::BFloat16 signaling_NaN() { return of(0x7f81); }
  static constexpr tandem::BFloat16 denorm_min() { return of(0x0001); }
};
}  // namespace std
