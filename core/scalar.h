// A number that keeps its kind (bool, integer, floating point), so that `x * 2` leaves an integer tensor integer.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tandem/core/dtype.h"
#include "tandem/core/version.h"

namespace tandem {
namespace detail {
union LoopScalar;
}

/// A bool, an integer or a floating-point number, as it was given.
class Scalar {
 public:
  /// What a number was made of.
  enum class Kind : uint8_t { boolean, integer, floating };
  Scalar() : Scalar(0) {}
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>)
      kind_ = Kind::boolean, integer_ = value;
    else if constexpr (std::is_integral_v<T>)
      kind_ = Kind::integer, integer_ = static_cast<int64_t>(value);
    else
      kind_ = Kind::floating, real_ = static_cast<double>(value);
  }
  Scalar(Half value) : Scalar(float(value)) {}
  Scalar(BFloat16 value) : Scalar(float(value)) {}

  /// What it was made of. A bool counts as integral.
  Kind kind() const { return kind_; }
  bool is_floating_point() const { return kind_ == Kind::floating; }
  bool is_integral() const { return kind_ != Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool isFloatingPoint() const { return is_floating_point(); }
  bool isBoolean() const { return is_boolean(); }
  /// Whether it is an integer, or with includeBool a bool.
  bool isIntegral(bool includeBool) const { return kind_ == Kind::integer || (includeBool && is_boolean()); }
  /// This number as a T: a fraction is cut off, a negative integer wraps in an unsigned type, as in PyTorch.
  /// @throws Error when an integer type T cannot hold it
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
      return wrapped<T>();
    } else {
      using Limits = std::numeric_limits<T>;
      if (kind_ == Kind::floating) {
        constexpr T middle = Limits::max() / 2 + 1;  // a power of two, of which a double is exact
        const bool fits = real_ >= static_cast<double>(Limits::min()) && real_ < static_cast<double>(middle) * 2;
        if (!fits) refuse(detail::dtype_of<T>());  // nor does a NaN fit
      } else if constexpr (sizeof(T) < sizeof(int64_t)) {
        constexpr int64_t low = std::is_signed_v<T> ? Limits::min() : -int64_t(Limits::max());
        if (integer_ < low || integer_ > int64_t(Limits::max())) refuse(detail::dtype_of<T>());
      }
      return wrapped<T>();
    }
  }
  /// As to(), but an integer beyond T's range wraps: what becomes of a number beside a tensor of T. Of a floating-point
  /// number, the range must be known to hold it.
  template <class T> T wrapped() const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return T(wrapped<float>());
    else
      return kind_ == Kind::floating ? static_cast<T>(real_) : static_cast<T>(integer_);
  }
  /// to<double>(), and so on for the others: the number as that type. @throws Error where an integer type does not hold
  /// it
  double toDouble() const { return to<double>(); }
  /// to<float>().
  float toFloat() const { return to<float>(); }
  /// to<Half>().
  Half toHalf() const { return to<Half>(); }
  /// to<BFloat16>().
  BFloat16 toBFloat16() const { return to<BFloat16>(); }
  /// to<int64_t>().
  int64_t toLong() const { return to<int64_t>(); }
  /// to<int32_t>().
  int32_t toInt() const { return to<int32_t>(); }
  /// to<int16_t>().
  int16_t toShort() const { return to<int16_t>(); }
  /// to<int8_t>().
  int8_t toChar() const { return to<int8_t>(); }
  /// to<uint8_t>().
  uint8_t toByte() const { return to<uint8_t>(); }
  /// to<bool>().
  bool toBool() const { return to<bool>(); }
  /// The dtype of a tensor made of it: float64, int64 or bool.
  DType type() const { return is_floating_point() ? kFloat64 : is_boolean() ? kBool : kInt64; }
  /// to<double>().
  double to_double() const { return to<double>(); }
  /// to<int64_t>().
  int64_t to_int64() const { return to<int64_t>(); }
  /// The dtype of a tensor made of it: bool, int64, or the default floating dtype.
  DType dtype() const { return kind_ == Kind::boolean ? kBool : kind_ == Kind::integer ? kInt64 : get_default_dtype(); }
  /// With the other sign; a bool's is its negation, as LibTorch's.
  Scalar operator-() const {
    return is_floating_point() ? Scalar(-real_) : is_boolean() ? Scalar(!integer_) : Scalar(-integer_);
  }
  /// Whether it is that number. A bool equals no number, and a number no bool.
  template <class T>
  requires std::is_arithmetic_v<T>
  bool equal(T number) const {
    if constexpr (std::is_same_v<T, bool>)
      return is_boolean() && (integer_ != 0) == number;
    else if (is_boolean())
      return false;
    else if (is_floating_point())
      return real_ == static_cast<double>(number);
    else if constexpr (std::is_integral_v<T>)
      return std::cmp_equal(integer_, number);
    else
      return static_cast<double>(integer_) == static_cast<double>(number);
  }
  /// As a loop of this dtype reads it. @throws Error when an integer dtype cannot hold it
  detail::LoopScalar loop_scalar(DType dtype) const;
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    if (s.is_boolean()) return out << (s.integer_ ? "true" : "false");
    return s.is_floating_point() ? out << s.real_ : out << s.integer_;
  }

 private:
  [[noreturn, gnu::cold]] void refuse(DType dtype) const;
  Kind kind_;
  union {
    double real_;
    int64_t integer_;
  };
};

}  // namespace tandem
