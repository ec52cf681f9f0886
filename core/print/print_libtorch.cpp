// Prints tensors exactly as LibTorch's operator<< does. A matrix is printed in rows and columns; a tensor of more
// dimensions as matrices, each below a line with its index. The last line shows type and sizes.
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>

#include "tandem/core/print/print_libtorch.h"

namespace tandem::detail {
namespace {

/// Returns the shortest text that identifies x: 0.1, 1000000, 1e+16.
std::string format_shortest(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
  const double size = std::abs(x);
  const auto format =
      size == 0 || (size >= 1e-4 && size < 1e16) ? std::chars_format::fixed : std::chars_format::scientific;
  std::array<char, 400> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x, format).ptr};
}

/// Number format of a block: numbers are divided by `scale`, which is printed above them, and padded to `width`.
struct NumberFormat {
  int width = 0;
  double scale = 1;
  std::ios_base::fmtflags float_flags = {};  // fixed or scientific notation; 0 means the stream's default notation

  explicit NumberFormat(std::span<const double> numbers) {
    bool whole = true;
    double least = INFINITY, most = 0;  // magnitudes
    for (const double x : numbers) {
      if (!std::isfinite(x)) continue;
      whole = whole && x == std::ceil(x);
      least = std::min(least, std::abs(x)), most = std::max(most, std::abs(x));
    }
    const auto digits = [](double x) { return x == 0 ? 1.0 : std::floor(std::log10(x)) + 1; };
    const bool any = std::isfinite(least);
    // Numbers of digits before the decimal point, of the smallest and the largest magnitude.
    const double low = any ? digits(least) : 1, high = any ? digits(most) : 1;
    if (whole && high <= 9) {
      width = static_cast<int>(high) + 1;
    } else if (whole || high - low > 4) {
      float_flags = std::ios_base::scientific;
      width = !whole && std::max(std::abs(low), std::abs(high)) > 99 ? 12 : 11;
    } else {
      float_flags = std::ios_base::fixed;
      const bool scaled = high > 5 || high < 0;
      if (scaled) scale = std::pow(10, high - 1);
      width = scaled || high == 0 ? 7 : static_cast<int>(high) + 6;
    }
  }
  void print_number(std::ostream& out, double x) const {
    out.setf(float_flags, std::ios_base::floatfield);
    out << std::setprecision(float_flags ? 4 : 6) << std::setw(width) << x / scale;
  }
  std::string format_scale_line() const { return format_shortest(scale) + " *\n"; }
};

/// Prints a matrix. If its rows do not fit into `line_width` characters, splits it into groups of columns. If `deeper`,
/// the matrix is a block of a tensor with more dimensions, and is indented by one blank.
void print_matrix(std::ostream& out, const double* x, int64_t rows, int64_t columns, bool deeper, int64_t line_width) {
  const std::string indent(deeper ? 1 : 0, ' ');
  const NumberFormat notation({x, static_cast<size_t>(rows * columns)});
  const int64_t fit = std::max<int64_t>((line_width - deeper) / (notation.width + 1), 1);
  const std::string next_line = notation.scale != 1 ? indent + ' ' : indent;
  for (int64_t first = 0; first < columns; first += fit) {
    const int64_t end = std::min(first + fit, columns);
    if (fit < columns) {
      if (first > 0) out << '\n';
      out << "Columns " << first + 1 << " to " << end << indent;
    }
    if (notation.scale != 1) out << notation.format_scale_line() << indent;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = first; column < end; ++column) {
        notation.print_number(out, x[row * columns + column]);
        if (column + 1 < end)
          out << ' ';
        else
          out << '\n' << (row + 1 < rows ? next_line : "");
      }
  }
}

void print_elements(std::ostream& out, const Tensor& x, int64_t line_width) {
  const Tensor here = x.detach().to(kCPU, kFloat64).contiguous();
  const double* const numbers = here.data_ptr<double>();
  const int64_t count = here.numel();
  if (x.dim() == 0) {
    out << format_shortest(numbers[0]) << '\n';
  } else if (x.dim() == 1) {
    const NumberFormat notation({numbers, static_cast<size_t>(count)});
    if (notation.scale != 1) out << notation.format_scale_line();
    for (int64_t i = 0; i < count; ++i) {
      notation.print_number(out, numbers[i]);
      out << '\n';
    }
  } else if (x.dim() == 2) {
    print_matrix(out, numbers, x.size(0), x.size(1), false, line_width);
  } else {
    const int64_t rows = x.size(-2), columns = x.size(-1), above = x.dim() - 2;
    int64_t blocks = 1;
    for (int64_t d = 0; d < above; ++d) blocks *= x.size(d);
    for (int64_t n = 0; n < blocks; ++n) {  // in LibTorch's order: the first dimension changes fastest
      out << (n > 0 ? "\n(" : "(");
      int64_t offset = 0;
      for (int64_t d = 0, rest = n; d < above; rest /= x.size(d++)) {
        out << rest % x.size(d) + 1 << ',';
        offset += rest % x.size(d) * here.stride(d);
      }
      out << ".,.) = \n";
      print_matrix(out, numbers + offset, rows, columns, true, line_width);
    }
  }
}

const char* type_name(DType dtype) {
  switch (dtype) {
    case kFloat32: return "Float";
    case kFloat64: return "Double";
    case kFloat16: return "Half";
    case kBFloat16: return "BFloat16";
    case kInt64: return "Long";
    case kInt32: return "Int";
    case kInt16: return "Short";
    case kInt8: return "Char";
    case kUInt8: return "Byte";
    default: return "Bool";
  }
}

}  // namespace

std::string format_as_libtorch(const Tensor& x, int64_t line_width) {
  if (!x.defined()) return "[ Tensor (undefined) ]";
  std::ostringstream out;
  if (x.numel() > 0) print_elements(out, x, line_width);
  out << "[ " << (x.is_cuda() ? "CUDA" : "CPU") << type_name(x.dtype()) << "Type{";
  for (int64_t d = 0; d < x.dim(); ++d) out << (d > 0 ? "," : "") << x.size(d);
  out << "} ]";
  return out.str();
}

}  // namespace tandem::detail
