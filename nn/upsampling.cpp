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
template <class T> std::string numbers_text(const std::vector<T>& numbers) {
  bool same = !numbers.empty();
  for (const T n : numbers) same = same && n == numbers[0];
  if (same) return printed(numbers[0]);
  std::string text;
  for (const T n : numbers) text += (text.empty() ? "(" : ", ") + printed(n);
  return text + ")";
}
/// Formats a list as LibTorch does.
template <class T> std::string list_text(const std::vector<T>& numbers) {
  std::ostringstream out;
  for (const T n : numbers) out << (out.tellp() > 0 ? ", " : "[") << n;
  return out.str() + "]";
}
std::string upsample_text(const UpsampleOptions& o) {
  if (prints_as_libtorch)
    return (o.scale_factor() ? "scale_factor=" + list_text(*o.scale_factor())
            : o.size()       ? "size=" + list_text(*o.size())
                             : "size=None") +
           ", mode=" + detail::mode_name(o.mode(), /*as_libtorch=*/true);
  std::string text = o.scale_factor() ? "scale_factor=" + numbers_text(*o.scale_factor())
                     : o.size()       ? "size=" + numbers_text(*o.size())
                                      : "size=None";
  return text + ", mode='" + mode_name(o.mode()) + "'";
}

}  // namespace

TANDEM_MODULE_TEXT(Upsample, upsample_text(options))

namespace functional {
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<int64_t>>, size);
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<double>>, scale_factor);
}  // namespace functional

}  // namespace tandem::nn
