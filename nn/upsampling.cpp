// Implements the setters of upsampling options, and the printing of Upsample.
#include "tandem/nn/upsampling.h"

#include <sstream>

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {
TANDEM_ARG_SETTER(UpsampleOptions, std::optional<std::vector<int64_t>>, size);
TANDEM_ARG_SETTER(UpsampleOptions, std::optional<std::vector<double>>, scale_factor);
namespace {

/// Formats numbers as a Python tuple, or as one number if all are equal.
template <class T> std::string join_numbers(const std::vector<T>& numbers) {
  bool same = !numbers.empty();
  for (const T n : numbers) same = same && n == numbers[0];
  if (same) return to_python_string(numbers[0]);
  std::string text;
  for (const T n : numbers) text += (text.empty() ? "(" : ", ") + to_python_string(n);
  return text + ")";
}
/// Formats a list as LibTorch does.
template <class T> std::string format_list(const std::vector<T>& numbers) {
  std::ostringstream out;
  for (const T n : numbers) out << (out.tellp() > 0 ? ", " : "[") << n;
  return out.str() + "]";
}
std::string format_upsample(const UpsampleOptions& o) {
  if (prints_as_libtorch)
    return (o.scale_factor() ? "scale_factor=" + format_list(*o.scale_factor())
            : o.size()       ? "size=" + format_list(*o.size())
                             : "size=None") +
           ", mode=" + detail::mode_name(o.mode(), /*as_libtorch=*/true);
  std::string text = o.scale_factor() ? "scale_factor=" + join_numbers(*o.scale_factor())
                     : o.size()       ? "size=" + join_numbers(*o.size())
                                      : "size=None";
  return text + ", mode='" + mode_name(o.mode()) + "'";
}

}  // namespace

TANDEM_DEFINE_PRETTY_PRINT(Upsample, format_upsample(options))

namespace functional {
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<int64_t>>, size);
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<double>>, scale_factor);
}  // namespace functional

}  // namespace tandem::nn
