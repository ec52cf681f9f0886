// Scalar: a number that remembers its kind (bool, integer, floating point), so that `x * 2` keeps an integer tensor's
// dtype.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "tandem/core/dtype.h"
#include "tandem/core/version.h"

namespace tandem {
namespace detail {
union LoopScalar;
}

/// A bool, an integer or a floating-point number. It keeps its kind.
class Scalar {
 public:
  /// Kind of C++ type that the number was constructed from.
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

  /// Kind of C++ type that the number was constructed from. For is_integral(), a bool counts as integral.
  Kind kind() const { return kind_; }
  bool is_floating_point() const { return kind_ == Kind::floating; }
  bool is_integral() const { return kind_ != Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool isFloatingPoint() const { return is_floating_point(); }
  bool isBoolean() const { return is_boolean(); }
  /// Whether the number is an integer; with includeBool, a bool counts too.
  bool isIntegral(bool includeBool) const { return kind_ == Kind::integer || (includeBool && is_boolean()); }
  /// Converts to T, as PyTorch does: a fraction is cut off, and a negative integer wraps around in an unsigned type.
  /// @throws Error if T is an integer type that cannot hold the number
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
      return to_wrapped<T>();
    } else {
      using Limits = std::numeric_limits<T>;
      if (kind_ == Kind::floating) {
        constexpr T middle = Limits::max() / 2 + 1;  // a power of two, which a double represents exactly
        const bool fits = real_ >= static_cast<double>(Limits::min()) && real_ < static_cast<double>(middle) * 2;
        if (!fits) throw_out_of_range(detail::dtype_of<T>());  // `fits` is also false for NaN
      } else if constexpr (sizeof(T) < sizeof(int64_t)) {
        constexpr int64_t low = std::is_signed_v<T> ? Limits::min() : -int64_t(Limits::max());
        if (integer_ < low || integer_ > int64_t(Limits::max())) throw_out_of_range(detail::dtype_of<T>());
      }
      return to_wrapped<T>();
    }
  }
  /// As to(), but an integer beyond T's range wraps around, as in PyTorch if a number is combined with a tensor of
  /// dtype T. A floating-point number must be in T's range.
  template <class T> T to_wrapped() const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return T(to_wrapped<float>());
    else
      return kind_ == Kind::floating ? static_cast<T>(real_) : static_cast<T>(integer_);
  }
  /// Returns to<double>(). The functions below do the same for other types. @throws Error if an integer type cannot
  /// hold the number
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
  /// Dtype for the kind of the number: float64, int64 or bool.
  DType type() const { return is_floating_point() ? kFloat64 : is_boolean() ? kBool : kInt64; }
  /// to<double>().
  double to_double() const { return to<double>(); }
  /// to<int64_t>().
  int64_t to_int64() const { return to<int64_t>(); }
  /// Dtype of a tensor made from this number: bool, int64, or the default floating dtype.
  DType dtype() const { return kind_ == Kind::boolean ? kBool : kind_ == Kind::integer ? kInt64 : get_default_dtype(); }
  /// The negative number; for a bool its logical negation, as in LibTorch.
  Scalar operator-() const {
    return is_floating_point() ? Scalar(-real_) : is_boolean() ? Scalar(!integer_) : Scalar(-integer_);
  }
  /// Whether the value equals `number`. A bool equals only a bool.
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
  /// Converts the number to a LoopScalar: an int64_t for integer dtypes, otherwise a double. CPU kernels read it.
  /// @throws Error if an integer dtype cannot hold the number
  detail::LoopScalar loop_scalar(DType dtype) const;
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    if (s.is_boolean()) return out << (s.integer_ ? "true" : "false");
    return s.is_floating_point() ? out << s.real_ : out << s.integer_;
  }

 private:
  [[noreturn, gnu::cold]] void throw_out_of_range(DType dtype) const;
  Kind kind_;
  union {
    double real_;
    int64_t integer_;
  };
};

namespace detail {
/// A number as a parameter: accepts numbers and Scalars, and converts to double.
class Real {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Real(T value) : value_(static_cast<double>(value)) {}
  Real(const Scalar& value) : value_(value.to<double>()) {}
  constexpr operator double() const { return value_; }

 private:
  double value_;
};
/// The order of a norm as a parameter: a number, a Scalar, or an optional Scalar. nullopt means 2.
class NormOrder : public Real {
 public:
  using Real::Real;
  NormOrder(std::nullopt_t) : Real(2) {}
  NormOrder(const std::optional<Scalar>& order) : Real(order ? order->to<double>() : 2) {}
};
}  // namespace detail

}  // namespace tandem
