// Computes the strides of results, from a memory format or from the strides of the operands.
#include "tandem/core/memory_format.h"

#include <algorithm>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem {

std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  constexpr const char* names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[static_cast<int>(format)];
}

namespace detail::core {
namespace {

// dimensions of a channels-last tensor, innermost first: C, W, H, N
constexpr size_t kChannelsLastDimOrder[] = {1, 3, 2, 0};

/// Orders the dimensions, innermost first, by the strides of the inputs. Strides of 0 are ignored. Of two dimensions
/// with equal strides, the dimension of smaller size comes first.
class DimensionOrder {
 public:
  DimensionOrder(IntArrayRef sizes, std::initializer_list<const TensorImpl*> inputs)
      : sizes_(sizes), dims_(sizes.size(), 0) {
    for (size_t i = 0; i < sizes.size(); ++i) dims_[i] = static_cast<int64_t>(sizes.size() - 1 - i);
    for (const TensorImpl* x : inputs) {
      Shape& strides = strides_[num_inputs_++];
      strides = Shape(sizes.size(), 0);
      const size_t missing = sizes.size() - x->sizes.size();
      for (size_t d = 0; d < x->sizes.size(); ++d)
        strides[missing + d] = x->sizes[d] == 1 && sizes[missing + d] != 1 ? 0 : x->strides[d] * element_size(x->dtype);
    }
    for (size_t i = 1; i < dims_.size(); ++i)
      for (size_t at = i, k = i; k-- > 0;) {
        const int after = compare_dims(dims_[k], dims_[at]);
        if (after < 0) break;
        if (after > 0) std::swap(dims_[k], dims_[at]), at = k;
      }
  }
  Shape dense_strides() const {
    Shape strides(sizes_.size(), 0);
    int64_t next = 1;
    for (const int64_t d : dims_) {
      const int64_t size = sizes_[static_cast<size_t>(d)];
      strides[static_cast<size_t>(d)] = next;
      next *= std::max<int64_t>(size, 1);
    }
    return strides;
  }

 private:
  /// Returns 1 if dimension a must come after b in the order (larger stride), -1 if before, 0 if the strides do not
  /// decide.
  int compare_dims(int64_t a, int64_t b) const {
    const auto first = static_cast<size_t>(a), second = static_cast<size_t>(b);
    for (size_t k = 0; k < num_inputs_; ++k) {
      const int64_t x = strides_[k][first], y = strides_[k][second];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (sizes_[first] > sizes_[second]) return 1;
    }
    return 0;
  }

  static constexpr size_t kMaxInputs = 4;
  IntArrayRef sizes_;
  Shape dims_, strides_[kMaxInputs];
  size_t num_inputs_ = 0;
};

}  // namespace

Shape strides_of(const char* op, IntArrayRef sizes, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return contiguous_strides(sizes);
  TANDEM_CHECK(format == MemoryFormat::ChannelsLast, op, ": unsupported memory format ", format,
               "; accepted: Contiguous and ChannelsLast");
  TANDEM_CHECK(sizes.size() == 4, op, ": required rank 4 tensor to use channels_last format; sizes are ", sizes);
  Shape strides(4, 0);
  int64_t next = 1;
  for (const size_t d : kChannelsLastDimOrder) {
    strides[d] = next;
    next *= sizes[d];
  }
  return strides;
}

bool is_channels_last(IntArrayRef sizes, IntArrayRef strides) {
  if (sizes.size() != 4) return false;
  int64_t expected = 1;
  for (const size_t d : kChannelsLastDimOrder) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

bool suggests_channels_last(IntArrayRef sizes, IntArrayRef strides) {
  if (sizes.size() != 4 || strides[1] == 0) return false;
  int64_t least = 0;
  for (const size_t d : kChannelsLastDimOrder) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    // the strides of sizes (N, 1, 1, 1) are ambiguous, and count as not channels-last
    if (d == 0 && least == strides[1]) return false;
    least = strides[d];
    if (sizes[d] > 1) least *= sizes[d];
  }
  return true;
}

bool is_non_overlapping_and_dense(const TensorImpl& x) {
  if (x.contiguous) return true;
  // Starting from the innermost dimension, look for the dimension whose stride equals the number of elements so far.
  int64_t elements = 1;
  bool found = true;
  while (found) {
    found = false;
    for (size_t d = 0; d < x.sizes.size() && !found; ++d)
      if (x.sizes[d] != 1 && x.strides[d] == elements) elements *= x.sizes[d], found = true;
  }
  return elements == x.numel;
}

Shape result_strides(IntArrayRef sizes, std::initializer_list<const TensorImpl*> inputs) {
  bool contiguous = true, channels_last = true, alike = true;
  for (const TensorImpl* x : inputs) {
    if (x->sizes != sizes) return DimensionOrder(sizes, inputs).dense_strides();
    contiguous = contiguous && x->contiguous;
    channels_last = channels_last && is_channels_last(x->sizes, x->strides);
    alike = alike && x->strides == (*inputs.begin())->strides;
  }
  if (contiguous) return contiguous_strides(sizes);
  if (channels_last) return strides_of("empty", sizes, MemoryFormat::ChannelsLast);
  if (alike && is_non_overlapping_and_dense(**inputs.begin())) return (*inputs.begin())->strides;
  return DimensionOrder(sizes, inputs).dense_strides();
}

Shape preserved_strides(const TensorImpl& x) {
  if (is_non_overlapping_and_dense(x)) return x.strides;
  return DimensionOrder(x.sizes, {&x}).dense_strides();
}

}  // namespace detail::core
}  // namespace tandem
