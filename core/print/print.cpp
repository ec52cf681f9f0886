// Prints tensors with exactly the text that Python's str() gives for the same tensor in PyTorch.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "tandem/core/internal.h"
#include "tandem/core/print/print_libtorch.h"
#include "tandem/core/print/print_style.h"

namespace tandem {
namespace {

// PyTorch's defaults: torch.set_printoptions' precision, threshold, edgeitems and linewidth.
constexpr int kPrecision = 4;
constexpr int64_t kSummarizationThreshold = 1000, kEdgeItems = 3, kLineWidth = 80;
constexpr const char* kTensorPrefix = "tensor(";
constexpr int64_t kIndent = 7;  // indentation of all lines but the first

std::string format_with_precision(const char* format, double value) {
  if (std::isnan(value)) return "nan";  // printf shows the sign of a NaN, Python does not
  char text[400];                       // long enough for 1e308, which has 309 digits in the format %f
  std::snprintf(text, sizeof text, format, kPrecision, value);
  return text;
}

/// Number format of all elements of a tensor: integers, decimal fractions or scientific notation, padded to one width.
class NumberFormat {
 public:
  explicit NumberFormat(DType dtype) : is_floating_point_(is_floating_point(dtype)), is_bool_(dtype == kBool) {}

  /// Chooses notation and width for the elements that will be printed.
  void choose_notation(const std::vector<Scalar>& shown) {
    if (!is_floating_point_) {
      for (const Scalar& s : shown) widen_to_fit(s);
      return;
    }
    double largest = 0, smallest = INFINITY;
    for (const Scalar& s : shown) {
      const double v = s.to_double();
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, std::abs(v));
      smallest = std::min(smallest, std::abs(v));
      int_mode_ &= v == std::ceil(v);
    }
    if (largest == 0) return;
    sci_mode_ = largest / smallest > 1000 || largest > 1e8 || (!int_mode_ && smallest < 1e-4);
    for (const Scalar& s : shown)
      if (std::isfinite(s.to_double()) && s.to_double() != 0) widen_to_fit(s);
  }
  std::string operator()(const Scalar& s) const {
    const std::string text = format_unpadded(s);
    return std::string(static_cast<size_t>(std::max<int64_t>(width_ - length(text), 0)), ' ') + text;
  }
  int64_t width() const { return width_; }

 private:
  static int64_t length(const std::string& text) { return static_cast<int64_t>(text.size()); }
  void widen_to_fit(const Scalar& s) { width_ = std::max(width_, length(format_unpadded(s))); }
  std::string format_unpadded(const Scalar& s) const {
    if (is_bool_) return s.to<bool>() ? "True" : "False";
    if (!is_floating_point_) return std::to_string(s.to_int64());
    const double v = s.to_double();
    if (sci_mode_) return format_with_precision("%.*e", v);
    if (!int_mode_) return format_with_precision("%.*f", v);
    if (!std::isfinite(v)) return format_with_precision("%.*f", v);
    char text[400];
    std::snprintf(text, sizeof text, "%.0f.", v);
    return text;
  }
  bool is_floating_point_, is_bool_, int_mode_ = true, sci_mode_ = false;
  int64_t width_ = 1;
};

class TensorPrinter {
 public:
  explicit TensorPrinter(const Tensor& x)
      : x_(x), number_format_(x.dtype()), summarize_(x.numel() > kSummarizationThreshold) {
    std::vector<Scalar> shown;
    collect_printed_elements(0, 0, shown);
    number_format_.choose_notation(shown);
  }
  std::string to_string() const { return x_.dim() == 0 ? number_format_(at(0)) : format_subtensor(0, 0, kIndent); }

 private:
  Scalar at(int64_t offset) const {
    return visit_dtype(x_.dtype(), [&]<class T>() { return Scalar(x_.data<T>()[offset]); });
  }
  /// Returns the indices along a dimension that are printed; -1 stands for the indices left out.
  std::vector<int64_t> printed_indices(int64_t dim) const {
    const int64_t size = x_.size(dim);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < size; ++i) {
      if (summarize_ && size > 2 * kEdgeItems && i == kEdgeItems) {
        out.push_back(-1);
        i = size - kEdgeItems;
      }
      out.push_back(i);
    }
    return out;
  }
  void collect_printed_elements(int64_t dim, int64_t offset, std::vector<Scalar>& shown) const {
    if (dim == x_.dim()) return shown.push_back(at(offset));
    for (const int64_t i : printed_indices(dim))
      if (i >= 0) collect_printed_elements(dim + 1, offset + i * x_.stride(dim), shown);
  }
  /// Returns the text, in brackets, of the sub-tensor at fixed indices in the dimensions before `dim`. Its first
  /// element is at `offset`.
  std::string format_subtensor(int64_t dim, int64_t offset, int64_t indent) const {
    const bool innermost = dim == x_.dim() - 1;
    const int64_t per_line = innermost ? std::max<int64_t>(1, (kLineWidth - indent) / (number_format_.width() + 2)) : 1;
    std::string break_lines(1, ',');  // avoids a false overflow warning of gcc 12 for "," + std::string
    break_lines.append(innermost ? 1 : static_cast<size_t>(x_.dim() - dim - 1), '\n');
    break_lines.append(static_cast<size_t>(indent) + 1, ' ');
    std::string out(1, '[');
    int64_t count = 0;
    for (const int64_t i : printed_indices(dim)) {
      if (count > 0) out += count % per_line == 0 ? break_lines : ", ";
      ++count;
      const int64_t next = offset + i * x_.stride(dim);
      if (i < 0)
        out += innermost ? " ..." : "...";
      else
        out += innermost ? number_format_(at(next)) : format_subtensor(dim + 1, next, indent + 1);
    }
    return out + ']';
  }

  const Tensor& x_;
  NumberFormat number_format_;
  bool summarize_;
};

/// Whether the dtype is implied by the values, so that it is not printed.
bool is_dtype_implied(const Tensor& x) {
  if (x.dtype() == get_default_dtype()) return true;
  return x.numel() > 0 && (x.dtype() == kInt64 || x.dtype() == kBool);
}

}  // namespace

/// Returns the name of x's node, "Invalid" for a view that may no longer be used (as Python prints it), or an empty
/// string.
static std::string printed_grad_fn_name(const Tensor& x) {
  try {
    return x.grad_fn_name();
  } catch (const Error&) {
    return "Invalid";
  }
}
std::string Tensor::str() const {
  if (!defined()) return "[ Tensor (undefined) ]";  // printed as by LibTorch, because Python has no undefined tensors
  std::string out =
      kTensorPrefix + (numel() == 0 ? "[]" : TensorPrinter(is_cpu() ? *this : detach().cpu()).to_string());
  std::vector<std::string> suffixes;
  if (device() != Device()) suffixes.push_back("device='" + device().str() + "'");
  if (numel() == 0 && dim() != 1) {
    std::ostringstream sizes_text;
    sizes_text << "size=" << sizes();
    suffixes.push_back(sizes_text.str());
  }
  if (!is_dtype_implied(*this)) suffixes.push_back(std::string("dtype=torch.") + detail::name(dtype()));
  if (const std::string node = printed_grad_fn_name(*this); !node.empty())
    suffixes.push_back("grad_fn=<" + node + ">");
  else if (requires_grad())
    suffixes.push_back("requires_grad=True");

  size_t line = out.size() - (out.rfind('\n') + 1) + 2;  // length of the last line of `out`, as PyTorch computes it
  for (const std::string& suffix : suffixes) {
    if (line + suffix.size() + 2 > kLineWidth) {
      out += ",\n" + std::string(kIndent, ' ') + suffix;
      line = kIndent + suffix.size();
    } else {
      out += ", " + suffix;
      line += suffix.size() + 2;
    }
  }
  return out + ")";
}

void Tensor::print() const {
  std::ostringstream line;
  if (defined())
    line << '[' << toString() << ' ' << sizes() << "]\n";
  else
    line << "[UndefinedTensor]\n";
  std::cerr << line.str();
}
std::string Tensor::toString() const {
  return std::string(is_cuda() ? "CUDA" : "CPU") + libtorch_name(dtype()) + "Type";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << (detail::prints_as_libtorch ? detail::format_as_libtorch(tensor) : tensor.str());
}

}  // namespace tandem
