// Checks, and the errors that they throw. A message names the operation, the offending values, and what is accepted.
#pragma once
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace tandem {

namespace detail {
/// Returns a message without the " [file:line]" that throw_error() appends.
inline std::string strip_source_location(const std::string& what) {
  const size_t at = what.rfind(" [");
  if (at == std::string::npos || what.back() != ']') return what;
  const size_t colon = what.rfind(':');
  if (colon == std::string::npos || colon < at || colon + 2 >= what.size()) return what;
  return what.find_first_not_of("0123456789", colon + 1) == what.size() - 1 ? what.substr(0, at) : what;
}
}  // namespace detail

/// Thrown by every failed check. what() ends with the file and line of the check.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what), message_(detail::strip_source_location(what)) {}
  /// what() without the file and line.
  const char* what_without_backtrace() const noexcept { return message_.what(); }
  /// what_without_backtrace() as a string.
  std::string msg() const { return message_.what(); }

 private:
  std::runtime_error message_;  // stored as an exception object, because copies of a std::string may throw
};
/// Thrown if the index of a dimension, an element or an example of a data set is out of range.
class IndexError : public Error {
 public:
  using Error::Error;
};
/// Thrown if an operation exists, but does not support these dtypes, or is not part of this build.
class NotImplementedError : public Error {
 public:
  using Error::Error;
};
/// Thrown if there is no result for a matrix, because it is singular or not positive-definite.
class LinAlgError : public Error {
 public:
  using Error::Error;
};
/// Thrown if memory cannot be allocated.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// A part of a message, with a function that prints it. Type erasure lets all checks share the code that builds
/// messages; a template for each combination of types took a twentieth of the library's size.
class MessagePart {
 public:
  MessagePart(const char* text) : value_(text), print_function_(print_text) {}
  template <class T> MessagePart(const T& value) : value_(&value), print_function_(print_value<T>) {}
  friend std::ostream& operator<<(std::ostream& out, const MessagePart& part) {
    part.print_function_(out, part.value_);
    return out;
  }

 private:
  static void print_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }
  template <class T> static void print_value(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }

  const void* value_;
  void (*print_function_)(std::ostream& out, const void* value);
};
/// Concatenates the parts and appends the file and line of the check.
std::string error_message(const char* file, int line, std::initializer_list<MessagePart> parts);

template <class E>
[[noreturn, gnu::cold]] void throw_error_from_parts(const char* file, int line,
                                                    std::initializer_list<MessagePart> parts) {
  throw E(error_message(file, line, parts));
}
// Type by which a message part is passed. String literals become pointers, so that texts of different lengths share one
// instantiation; numbers are passed by value, so that they can stay in registers.
template <class T> struct ArgumentTypeOf {
  using type = std::conditional_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, T, const T&>;
};
template <size_t N> struct ArgumentTypeOf<char[N]> { using type = const char*; };
template <class T> using ArgumentType = typename ArgumentTypeOf<T>::type;
template <class E, class... Parts>
[[noreturn, gnu::cold, gnu::noinline, gnu::visibility("hidden")]] void throw_error_out_of_line(const char* file,
                                                                                               int line,
                                                                                               Parts... parts) {
  throw_error_from_parts<E>(file, line, {parts...});
}
template <class E, class... Parts>
[[noreturn, gnu::always_inline]] inline void throw_error(const char* file, int line, const Parts&... parts) {
  throw_error_out_of_line<E, ArgumentType<Parts>...>(file, line, parts...);
}
}  // namespace detail

}  // namespace tandem

/// Throws tandem::Error unless `condition` holds. The remaining arguments are streamed into the message.
#define TANDEM_CHECK(condition, ...) TANDEM_CHECK_AS(::tandem::Error, condition, __VA_ARGS__)
#define TANDEM_CHECK_AS(ErrorType, condition, ...)                               \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::tandem::detail::throw_error<ErrorType>(__FILE__, __LINE__, __VA_ARGS__); \
  } while (false)
#define TANDEM_FAIL(...) ::tandem::detail::throw_error<::tandem::Error>(__FILE__, __LINE__, __VA_ARGS__)
