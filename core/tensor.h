// Tensor: a cheap handle on storage, sizes, strides and an offset, with the methods that users call. Most methods are
// defined in ops/, beside the functions of the same name. C++ cannot split one class over several files; but the
// properties that need no operation are in core/tensor_base.h, and functions on tensors in core/tensor_functions.h,
// which this file includes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/core/array_ref.h"
#include "tandem/core/elementwise_ops.h"
#include "tandem/core/flag.h"
#include "tandem/core/reduce_ops.h"
#include "tandem/core/scalar.h"
#include "tandem/core/tensor_base.h"
#include "tandem/core/tensor_options.h"

namespace tandem {

class Tensor;
using TensorList = ArrayRef<Tensor>;

using std::nullopt;
using std::optional;

namespace indexing {
class TensorIndex;
}
namespace autograd {
class Node;
}
class DeprecatedTypeProperties;
/// The kind of device that computes on a tensor. Only <torch/torch.h> defines its values.
enum class Backend;

namespace detail {

/// Matches Scalar, nullopt and std::optional of a number, but no plain number or bool: a bool argument of var() and
/// std() means `unbiased`.
template <class T>
concept OptionalNumber = !std::is_arithmetic_v<T> && std::is_convertible_v<T, std::optional<Scalar>>;
/// Matches LibTorch's List, a std::vector and an ArrayRef of optional tensors.
template <class List>
concept OptionalTensors = std::is_convertible_v<const List&, ArrayRef<std::optional<Tensor>>>;
// The functions index, index_put_ and index_put, which are declared later.
Tensor index_with_tensors(const Tensor& x, ArrayRef<std::optional<Tensor>> indices);
Tensor& put_with_tensors(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value, bool accumulate);
Tensor put_copy_with_tensors(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                             bool accumulate);
/// Variance and standard deviation with divisor n - correction. nullopt means a correction of 1.
Tensor corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim);
Tensor corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim);

}  // namespace detail

/// An n-dimensional array. Copies are handles on the same tensor; a default-constructed Tensor is undefined.
class Tensor : public TensorBase {
 public:
  Tensor() = default;
  explicit Tensor(detail::IntrusivePtr<detail::TensorImpl> impl) : TensorBase(std::move(impl)) {}
  /// Parameters that are std::optional<Tensor> in LibTorch are Tensor here; nullopt becomes an undefined tensor.
  Tensor(std::nullopt_t) {}
  template <class Optional>
  requires std::is_same_v<Optional, std::optional<Tensor>> Tensor(const Optional& tensor) {
    if (tensor) impl_ = tensor->impl_;
  }
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  /// Makes this variable a handle on another tensor; no elements are copied.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// Assignment to a temporary, as in `x[0] = y` or `x.index({0, 1}) = 2`, writes to the elements: copy_() or fill_()
  /// of the view.
  Tensor& operator=(const Tensor& value) && { return copy_(value); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // ---- properties
  explicit operator bool() const = delete;
  /// Whether the only element is not 0. @throws Error unless the tensor has exactly one element
  bool is_nonzero() const;
  /// LibTorch's name for the tensor's type: "CPUFloatType", "CUDALongType", ...
  std::string toString() const;
  /// The dtype and the kind of device, under LibTorch's older name. Only <torch/torch.h> defines this function.
  DeprecatedTypeProperties type() const;
  /// Moves the tensor to a kind of device, under LibTorch's older name. Only <torch/torch.h> defines this function.
  Tensor toBackend(Backend backend) const;
  using TensorBase::data;  // otherwise data() below would hide the data<T>() of TensorBase
  /// Returns the only element as a number. @throws Error unless the tensor has exactly one element
  Scalar item() const;
  template <class T> T item() const { return item().to<T>(); }

  // ---- autograd (defined in autograd/variable.cpp)
  /// Whether backward() computes a gradient for this tensor. Set on leaves; results inherit it from their inputs.
  bool requires_grad() const;
  /// Sets requires_grad. @throws Error for `true` if the dtype is not floating point, or if the tensor is an inference
  /// tensor and this thread is not in inference mode; for `false` if the tensor is not a leaf
  Tensor& requires_grad_(bool wanted = true);
  const Tensor& requires_grad_(bool wanted = true) const;
  /// As requires_grad_(), but does nothing if the tensor is not a leaf, whereas requires_grad_(false) throws in that
  /// case.
  Tensor& set_requires_grad(bool wanted) { return is_leaf() ? requires_grad_(wanted) : *this; }
  const Tensor& set_requires_grad(bool wanted) const { return is_leaf() ? requires_grad_(wanted) : *this; }
  /// Whether this tensor is a leaf: not the result of an operation that autograd recorded. backward() stores gradients
  /// in leaves, and in other tensors only after retain_grad().
  bool is_leaf() const;
  /// The gradient accumulated by backward(); undefined before the first backward.
  const Tensor& grad() const;
  /// The gradient, as a reference that can be assigned to.
  Tensor& mutable_grad() const;
  /// Replaces the gradient.
  void set_grad(const Tensor& grad) const { mutable_grad() = grad; }
  /// Drops the gradient, or if set_to_none is false, fills it with zeros.
  void zero_grad(bool set_to_none = true) const;
  /// Computes the gradients of this tensor with respect to the leaves (or `inputs`) and adds them to their grad(); see
  /// autograd::backward(). `gradient` may be undefined if this tensor has one element.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {}, bool create_graph = false,
                TensorList inputs = {}) const;
  /// Returns a view of the same elements without history. It requires no gradient and shares the version counter, so
  /// backward detects in-place changes through it.
  Tensor detach() const;
  /// Removes this tensor from its graph, in place, and clears requires_grad. @throws Error for a view
  Tensor& detach_() const;
  /// Returns an alias of the same elements without history and with its own version counter, as in LibTorch: backward
  /// does not detect in-place changes through it.
  Tensor data() const;
  /// Registers a hook that backward calls with the gradient of this tensor. If the hook returns a defined tensor, that
  /// replaces the gradient. Returns the position for remove_hook(). @throws Error unless the tensor requires a gradient
  unsigned register_hook(std::function<Tensor(const Tensor&)> hook) const;
  /// Registers a hook that returns nothing: it reads the gradient and leaves it as it is.
  template <class Hook>
  requires std::is_void_v<std::invoke_result_t<Hook&, const Tensor&>>
  unsigned register_hook(Hook hook) const {
    return register_hook(std::function<Tensor(const Tensor&)>([hook = std::move(hook)](const Tensor& grad) mutable {
      hook(grad);
      return Tensor();
    }));
  }
  /// Removes the hook at this position, as returned by register_hook(). @throws Error if there is no such hook
  void remove_hook(unsigned position) const;
  /// Makes backward() store the gradient of this tensor even if it is not a leaf. No effect on leaves. @throws Error
  /// unless the tensor requires a gradient
  void retain_grad() const;
  /// Whether retain_grad() was called on this tensor while it was not a leaf.
  bool retains_grad() const;
  /// Whether autograd tracks this tensor as a view of another one.
  bool is_view() const;
  /// Index of this tensor among the outputs of grad_fn().
  int64_t output_nr() const;
  /// data() by LibTorch's older name.
  Tensor variable_data() const { return data(); }
  /// detach() by LibTorch's older name.
  Tensor tensor_data() const { return detach(); }
  /// Makes this tensor an alias of the elements of `source`, with its sizes and strides. requires_grad and the gradient
  /// stay; autograd does not record the change. @throws Error if the dtypes or devices differ
  void set_data(const Tensor& source) const;
  /// The backward node of the operation that made this tensor; null for a leaf.
  const std::shared_ptr<autograd::Node>& grad_fn() const;
  /// The name of grad_fn(), for example "mul"; empty for a leaf.
  std::string grad_fn_name() const;

  // ---- views: share storage, recorded by autograd (ops/shape/, by name)
  /// Returns a view of the same elements in another shape with as many elements. One size may be -1: it is inferred
  /// from the others. @throws Error if the strides would require a copy; reshape() makes one
  Tensor view(IntArrayRef sizes) const;
  /// Reinterprets the bytes as elements of another dtype, without history. If the element sizes differ, the last
  /// dimension grows or shrinks.
  /// @throws Error if the element sizes differ and the last stride is not 1, or if the sizes, strides or offset do not
  /// fit a whole number of larger elements
  Tensor view(DType dtype) const;
  /// view(other.sizes()).
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  /// Returns view(sizes), or a copy if the strides do not allow a view.
  Tensor reshape(IntArrayRef sizes) const;
  /// reshape(other.sizes()).
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  /// Merges dimensions start_dim to end_dim into one. Returns a view, or a copy if the strides do not allow a view.
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  /// Splits one dimension into dimensions of these sizes, one of which may be -1.
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  /// A view with two dimensions swapped.
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  /// A view of a matrix with its dimensions swapped; for fewer dimensions, an alias of the tensor. @throws Error for
  /// more than two dimensions
  Tensor t() const;
  /// transpose(-2, -1). @throws Error for fewer than two dimensions
  Tensor mT() const {
    TANDEM_CHECK(dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", dim(),
                 "-D tensor.");
    return transpose(-2, -1);
  }
  /// A view with the dimensions in the given order; `dims` lists each dimension once.
  Tensor permute(IntArrayRef dims) const;
  /// A view of positions start to start + length (exclusive) of one dimension; a negative start counts from the end.
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  /// narrow() with a start that is a 0-dimensional integer tensor.
  Tensor narrow(int64_t dim, const Tensor& start, int64_t length) const;
  /// A view at one position of dim, without that dimension. @throws IndexError if the index is out of range
  Tensor select(int64_t dim, int64_t index) const;
  /// A view of positions start, start + step, ... before end, as Python's x[start:end:step]; step must be positive.
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  /// A view with dimensions of size 1 repeated (stride 0), and new dimensions in front; -1 keeps a size. As in
  /// LibTorch, `implicit` has no effect.
  Tensor expand(IntArrayRef sizes, detail::Flag implicit = false) const;
  /// expand(other.sizes()).
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  /// A view with a new dimension of size 1 at dim.
  Tensor unsqueeze(int64_t dim) const;
  /// A view without the dimensions of size 1. If dimensions are given, only these are removed, and only if their size
  /// is 1.
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor squeeze(IntArrayRef dims) const;
  /// A view of the storage with any sizes, strides and offset, in elements. @throws Error if it would reach outside the
  /// storage
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset = {}) const;
  /// Splits into `chunks` views of equal size along dim; the last one may be smaller, and there may be fewer of them.
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  /// Splits into views of split_size along dim (the last may be smaller), or of the given sizes, whose sum must be the
  /// size of dim.
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef split_sizes, int64_t dim = 0) const;
  /// Returns one view for each position of dim, without that dimension.
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  /// select(0, index).
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// Python's x[...]. Numbers, slices, None and Ellipsis give a view; tensors as indices give a copy. See
  /// indexing::TensorIndex.
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  /// index() with a list of optional tensors; a missing one selects the whole dimension.
  template <detail::OptionalTensors List> Tensor index(const List& indices) const {
    return detail::index_with_tensors(*this, indices);
  }
  /// Writes `value`, which broadcasts, to the elements that index() would read. With `accumulate` it is added instead,
  /// once for each time that an index occurs.
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                     detail::Flag accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  /// Returns a copy of this tensor changed by index_put_().
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, detail::Flag accumulate = false) const;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  template <detail::OptionalTensors List>
  Tensor& index_put_(const List& indices, const Tensor& value, detail::Flag accumulate = false) const {
    return detail::put_with_tensors(self(), indices, value, accumulate);
  }
  template <detail::OptionalTensors List>
  Tensor index_put(const List& indices, const Tensor& value, detail::Flag accumulate = false) const {
    return detail::put_copy_with_tensors(*this, indices, value, accumulate);
  }

  // ---- copies and conversions (ops/shape/copy.cpp, ops/shape/clone.cpp)
  /// Returns this tensor if it is contiguous in `format` already, else a copy that is.
  /// @throws Error for ChannelsLast unless the tensor has four dimensions, and for Preserve
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  /// Returns a copy with the same strides, or in the given format. If this tensor has gaps or repeated elements, the
  /// copy is dense and keeps the order of the dimensions.
  Tensor clone(std::optional<MemoryFormat> format = {}) const;
  /// Converts to another dtype, device or memory format (TensorOptions may hold a format too: `x.to(kChannelsLast)`).
  /// Returns this tensor itself if nothing changes, unless `copy` is set. A copy keeps the memory format unless one is
  /// given.
  /// @throws Error for ChannelsLast unless the tensor has four dimensions, and for TensorOptions with requires_grad set
  Tensor to(DType dtype, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> format = {}) const;
  /// With `non_blocking`, a copy to a GPU is queued on its current stream. A page-locked source must not change until
  /// the copy is done; pageable memory may change at once. A non-blocking copy from a GPU returns page-locked memory,
  /// which is valid once that stream is synchronized. All other copies between host and GPU block. Copies from GPU to
  /// GPU are queued on the current streams, with or without `non_blocking`.
  Tensor to(Device device, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> format = {}) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const;
  Tensor to(const TensorOptions& options = {}, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const;
  Tensor to(DeviceType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const {
    return to(Device(type), non_blocking, copy, format);
  }
  /// Converts to the dtype and device of another tensor.
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const {
    return to(other.device(), other.dtype(), non_blocking, copy, format);
  }
  /// to(dtype) by LibTorch's name.
  Tensor toType(DType dtype) const { return to(dtype); }
  /// to(other.dtype()).
  Tensor type_as(const Tensor& other) const { return to(other.dtype()); }
  /// to(kCPU).
  Tensor cpu() const { return to(Device(kCPU)); }
  /// to(kCUDA): the first GPU.
  Tensor cuda() const { return to(Device(kCUDA)); }
  /// Returns a copy in page-locked memory, from which GPUs copy asynchronously; this tensor itself if it is page-locked
  /// already.
  /// @throws Error if the tensor is not on a CPU device, or there is no GPU
  Tensor pin_memory() const;
  /// Returns a copy in which each dimension is repeated the given number of times. If there are more numbers than
  /// dimensions, new dimensions are added in front.
  Tensor repeat(IntArrayRef repeats) const;

  // ---- elementwise (documented in core/elementwise_ops.h; defined in ops/elementwise/, by name, and in
  // ops/nn/activation.cpp)
#define TANDEM_UNARY_METHODS(name, ...) \
  Tensor name() const;                  \
  Tensor& name##_() const;
  TANDEM_ALL_UNARY_OPS(TANDEM_UNARY_METHODS)
#undef TANDEM_UNARY_METHODS
#define TANDEM_PREDICATE_METHOD(name, ...) Tensor name() const;
  TANDEM_PREDICATE_OPS(TANDEM_PREDICATE_METHOD)
#undef TANDEM_PREDICATE_METHOD
#define TANDEM_BINARY_METHODS(name, ...)      \
  Tensor name(const Tensor& other) const;     \
  Tensor name(const Scalar& other) const;     \
  Tensor& name##_(const Tensor& other) const; \
  Tensor& name##_(const Scalar& other) const;
  TANDEM_ALL_BINARY_OPS(TANDEM_BINARY_METHODS)
#undef TANDEM_BINARY_METHODS
#define TANDEM_UNARY_ALIAS_METHODS(alias, name) \
  Tensor alias() const { return name(); }       \
  Tensor& alias##_() const { return name##_(); }
  TANDEM_UNARY_ALIASES(TANDEM_UNARY_ALIAS_METHODS)
#undef TANDEM_UNARY_ALIAS_METHODS
#define TANDEM_BINARY_ALIAS_METHODS(alias, name)                         \
  Tensor alias(const Tensor& other) const { return name(other); }        \
  Tensor alias(const Scalar& other) const { return name(other); }        \
  Tensor& alias##_(const Tensor& other) const { return name##_(other); } \
  Tensor& alias##_(const Scalar& other) const { return name##_(other); }
  TANDEM_BINARY_ALIASES(TANDEM_BINARY_ALIAS_METHODS)
#undef TANDEM_BINARY_ALIAS_METHODS
  /// Rounds to `decimals` digits after the decimal point; -1 rounds to tens, -2 to hundreds, ... @throws Error for
  /// integers unless `decimals` is 0
  Tensor round(int64_t decimals) const;
  Tensor& round_(int64_t decimals) const;
  /// Angle of real numbers: 0, pi for negative elements, NaN for NaN. The gradient is 0.
  Tensor angle() const;
  /// Functions on complex numbers, for compatibility with LibTorch: real tensors are returned as they are.
  Tensor conj() const { return *this; }
  Tensor conj_physical() const { return *this; }
  Tensor& conj_physical_() const { return self(); }
  Tensor resolve_conj() const { return *this; }
  Tensor resolve_neg() const { return *this; }
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode) const;
  Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Tensor& other, std::optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Scalar& other, std::optional<std::string_view> rounding_mode) const;
  Tensor divide(const Tensor& other, std::optional<std::string_view> mode) const { return div(other, mode); }
  Tensor divide(const Scalar& other, std::optional<std::string_view> mode) const { return div(other, mode); }
  Tensor& divide_(const Tensor& other, std::optional<std::string_view> mode) const { return div_(other, mode); }
  Tensor& divide_(const Scalar& other, std::optional<std::string_view> mode) const { return div_(other, mode); }
  Tensor subtract(const Tensor& other, const Scalar& alpha = 1) const { return sub(other, alpha); }
  Tensor subtract(const Scalar& other, const Scalar& alpha = 1) const { return sub(other, alpha); }
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = {}) const;
  Tensor clamp(const Tensor& min = {}, const Tensor& max = {}) const;
  Tensor clamp_min(const Scalar& min) const { return clamp(min); }
  Tensor clamp_max(const Scalar& max) const { return clamp({}, max); }
  Tensor clamp_min(const Tensor& min) const { return clamp(min); }
  Tensor clamp_max(const Tensor& max) const { return clamp(Tensor(), max); }
  Tensor clip(std::optional<Scalar> min, std::optional<Scalar> max = {}) const { return clamp(min, max); }
  Tensor clip(const Tensor& min = {}, const Tensor& max = {}) const { return clamp(min, max); }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;  // `value` is 0-dimensional
  Tensor masked_select(const Tensor& mask) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor where(const Tensor& condition, const Scalar& other) const;
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }

  // ---- in place (each beside the operation without the underscore): they raise the version and replace the history
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& subtract_(const Tensor& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  /// Copies the elements of `source`, on any device, into this tensor; `source` broadcasts and is converted to this
  /// dtype. For `non_blocking`, see to().
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;  // `value` is 0-dimensional
  Tensor& zero_() const;
  Tensor& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {}) const;
  Tensor& clamp_(const Tensor& min = {}, const Tensor& max = {}) const;
  Tensor& clamp_min_(const Scalar& min) const { return clamp_(min); }
  Tensor& clamp_max_(const Scalar& max) const { return clamp_({}, max); }
  Tensor& clamp_min_(const Tensor& min) const { return clamp_(min); }
  Tensor& clamp_max_(const Tensor& max) const { return clamp_(Tensor(), max); }
  Tensor& clip_(std::optional<Scalar> min, std::optional<Scalar> max = {}) const { return clamp_(min, max); }
  Tensor& clip_(const Tensor& min = {}, const Tensor& max = {}) const { return clamp_(min, max); }
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;  // `value` is 0-dimensional
  Tensor& uniform_(double low = 0, double high = 1) const;
  /// Fills the tensor with normal numbers of this mean and standard deviation, from the generator of its device.
  /// @throws Error unless the dtype is floating point
  Tensor& normal_(double mean = 0, double std = 1) const;
  /// Fills the tensor with 1 with probability p, else 0.
  Tensor& bernoulli_(double p = 0.5) const;
  Tensor& bernoulli_(const Tensor& p) const;
  Tensor& random_(int64_t low, int64_t high) const;
  Tensor& random_(int64_t high) const { return random_(0, high); }
  Tensor& random_() const;
  // Fill the tensor with random numbers; ops/random/distributions.h documents the distributions.
  Tensor& exponential_(double lambd = 1) const;
  Tensor& geometric_(double p) const;
  Tensor& cauchy_(double median = 0, double sigma = 1) const;
  Tensor& log_normal_(double mean = 1, double std = 2) const;
  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator+=(const Scalar& other) { return add_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  Tensor& operator-=(const Scalar& other) { return sub_(other); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator*=(const Scalar& other) { return mul_(other); }
  Tensor& operator/=(const Tensor& other) { return div_(other); }
  Tensor& operator/=(const Scalar& other) { return div_(other); }
  Tensor& operator&=(const Tensor& other) { return bitwise_and_(other); }
  Tensor& operator|=(const Tensor& other) { return bitwise_or_(other); }
  Tensor& operator^=(const Tensor& other) { return bitwise_xor_(other); }

  // ---- reductions (core/reduce_ops.h documents the first ones; ops/reduce/, by name)
#define TANDEM_REDUCE_METHOD(name, ...) Tensor name(IntArrayRef dims = {}, detail::Flag keepdim = false) const;
  TANDEM_REDUCE_OPS(TANDEM_REDUCE_METHOD)
#undef TANDEM_REDUCE_METHOD
  /// Sum in another dtype: the elements are converted first.
  Tensor sum(std::optional<DType> dtype) const { return sum(IntArrayRef(), false, dtype); }
  Tensor sum(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).sum(dims, keepdim).to(*dtype) : sum(dims, keepdim);
  }
  /// Mean in another dtype: the elements are converted first.
  Tensor mean(std::optional<DType> dtype) const { return mean(IntArrayRef(), false, dtype); }
  Tensor mean(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return to(dtype.value_or(this->dtype())).mean(dims, keepdim);
  }
  Tensor var() const { return var(IntArrayRef()); }
  /// Variance with divisor n - correction; nullopt means a correction of 1.
  template <detail::OptionalNumber Correction>
  Tensor var(IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) const {
    return detail::corrected_var(*this, dims, correction, keepdim);
  }
  template <detail::OptionalNumber Correction>
  Tensor std(IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) const {
    return detail::corrected_std(*this, dims, correction, keepdim);
  }
  template <std::same_as<bool> Bool> Tensor var(Bool unbiased) const { return var(IntArrayRef(), unbiased); }
  Tensor var(IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) const;
  Tensor std() const { return std(IntArrayRef()); }
  template <std::same_as<bool> Bool> Tensor std(Bool unbiased) const { return std(IntArrayRef(), unbiased); }
  Tensor std(IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) const;
  Tensor norm(detail::NormOrder p = 2) const;
  Tensor norm(detail::NormOrder p, IntArrayRef dims, detail::Flag keepdim = false) const;
  Tensor norm(detail::NormOrder p, IntArrayRef dims, detail::Flag keepdim, DType dtype) const {
    return to(dtype).norm(p, dims, keepdim).to(dtype);
  }
  Tensor norm(detail::NormOrder p, DType dtype) const { return to(dtype).norm(p).to(dtype); }
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, detail::Flag keepdim = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, detail::Flag keepdim = false) const;
  /// Elementwise maximum and minimum of two tensors.
  Tensor max(const Tensor& other) const { return maximum(other); }
  Tensor min(const Tensor& other) const { return minimum(other); }
  Tensor argmax(std::optional<int64_t> dim = {}, detail::Flag keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, detail::Flag keepdim = false) const;
  Tensor all() const;
  Tensor all(int64_t dim, detail::Flag keepdim = false) const;
  Tensor all(IntArrayRef dims, detail::Flag keepdim = false) const;
  Tensor any() const;
  Tensor any(int64_t dim, detail::Flag keepdim = false) const;
  Tensor any(IntArrayRef dims, detail::Flag keepdim = false) const;
  Tensor prod() const;
  Tensor prod(std::optional<DType> dtype) const { return dtype ? to(*dtype).prod().to(*dtype) : prod(); }
  Tensor prod(int64_t dim, detail::Flag keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor cumsum(int64_t dim) const;
  Tensor cumsum(int64_t dim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).cumsum(dim).to(*dtype) : cumsum(dim);
  }
  /// @throws Error if dtype is given and differs from this tensor's
  Tensor& cumsum_(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor softmax(int64_t dim) const;
  Tensor softmax(int64_t dim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).softmax(dim).to(*dtype) : softmax(dim);
  }
  Tensor log_softmax(int64_t dim) const;
  Tensor log_softmax(int64_t dim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).log_softmax(dim).to(*dtype) : log_softmax(dim);
  }
  /// The first parameter is LibTorch's `stable`: sorting is stable in any case.
  template <std::same_as<bool> Bool> std::tuple<Tensor, Tensor> sort(Bool, int64_t dim, detail::Flag descending) const {
    return sort(dim, descending);
  }
  template <std::same_as<std::optional<bool>> Stable>
  std::tuple<Tensor, Tensor> sort(Stable, int64_t dim = -1, detail::Flag descending = false) const {
    return sort(dim, descending);
  }
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, detail::Flag descending = false) const;
  Tensor argsort(int64_t dim = -1, detail::Flag descending = false) const;
  template <std::same_as<bool> Bool> Tensor argsort(Bool, int64_t dim = -1, detail::Flag descending = false) const {
    return argsort(dim, descending);
  }
  /// Returns the k largest or smallest elements and their indices, always sorted, even if `sorted` is false.
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                  detail::Flag sorted = true) const;

  // ---- products and indexing (ops/products/, ops/index/, by name)
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  /// Matrix-vector product, and dot product of two vectors. @throws Error for any other numbers of dimensions
  Tensor mv(const Tensor& other) const;
  Tensor dot(const Tensor& other) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  /// @throws Error if sparse_grad is true: there are no sparse gradients
  Tensor gather(int64_t dim, const Tensor& index, detail::Flag sparse_grad = false) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  bool equal(const Tensor& other) const;
  /// Whether |x - other| <= atol + rtol |other| everywhere; false if the sizes broadcast but differ. @throws Error if
  /// the dtypes differ or the sizes do not broadcast
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;

  // ---- rearranging and repeating elements (documented in ops/shape/, by name)
  /// dim() by LibTorch's older name.
  int64_t ndimension() const { return dim(); }
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) const { return movedim(source, destination); }
  Tensor moveaxis(int64_t source, int64_t destination) const { return movedim(source, destination); }
  Tensor swapaxes(int64_t axis0, int64_t axis1) const { return transpose(axis0, axis1); }
  Tensor swapdims(int64_t dim0, int64_t dim1) const { return transpose(dim0, dim1); }
  /// A view with the dimensions in reverse order, as NumPy's T.
  Tensor numpy_T() const;
  Tensor ravel() const;
  Tensor broadcast_to(IntArrayRef sizes) const { return expand(sizes); }
  Tensor narrow_copy(int64_t dim, int64_t start, int64_t length) const;
  Tensor flip(IntArrayRef dims) const;
  Tensor fliplr() const;
  Tensor flipud() const;
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const;
  Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) const;
  Tensor tile(IntArrayRef repeats) const;
  /// @throws Error if output_size, the size of the result along dim, is given and wrong
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = {},
                           std::optional<int64_t> output_size = {}) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = {},
                           std::optional<int64_t> output_size = {}) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  /// Splits by an int64 tensor on the CPU: the number of parts (0-dimensional) or the split positions (a vector).
  std::vector<Tensor> tensor_split(const Tensor& indices_or_sections, int64_t dim = 0) const;
  std::vector<Tensor> hsplit(int64_t sections) const;
  std::vector<Tensor> hsplit(IntArrayRef indices) const;
  std::vector<Tensor> vsplit(int64_t sections) const;
  std::vector<Tensor> vsplit(IntArrayRef indices) const;
  std::vector<Tensor> dsplit(int64_t sections) const;
  std::vector<Tensor> dsplit(IntArrayRef indices) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor& tril_(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0) const;
  Tensor trace() const;

  // ---- elementwise, composed of other operations (ops/elementwise/, by name, ops/nn/activation.h)
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
  Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
  Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor hypot(const Tensor& other) const;
  Tensor& hypot_(const Tensor& other) const;
  Tensor logaddexp(const Tensor& other) const;
  Tensor logaddexp2(const Tensor& other) const;
  Tensor nan_to_num(std::optional<double> nan = {}, std::optional<double> posinf = {},
                    std::optional<double> neginf = {}) const;
  Tensor& nan_to_num_(std::optional<double> nan = {}, std::optional<double> posinf = {},
                      std::optional<double> neginf = {}) const;
  Tensor copysign(const Tensor& other) const;
  Tensor copysign(const Scalar& other) const;
  Tensor& copysign_(const Tensor& other) const;
  Tensor& copysign_(const Scalar& other) const;
  Tensor xlogy(const Tensor& other) const;
  Tensor xlogy(const Scalar& other) const;
  Tensor& xlogy_(const Tensor& other) const;
  Tensor& xlogy_(const Scalar& other) const;
  Tensor deg2rad() const;
  Tensor& deg2rad_() const;
  Tensor rad2deg() const;
  Tensor& rad2deg_() const;
  Tensor sinc() const;
  Tensor& sinc_() const;
  Tensor logit(std::optional<double> eps = {}) const;
  Tensor& logit_(std::optional<double> eps = {}) const;
  Tensor polygamma(int64_t n) const;
  Tensor& polygamma_(int64_t n) const;
  Tensor mvlgamma(int64_t p) const;
  Tensor& mvlgamma_(int64_t p) const;
  std::tuple<Tensor, Tensor> frexp() const;
  Tensor isposinf() const;
  Tensor isneginf() const;
  Tensor isreal() const;
  Tensor signbit() const;
  Tensor positive() const;
  Tensor float_power(const Tensor& exponent) const;
  Tensor float_power(const Scalar& exponent) const;
  Tensor& float_power_(const Tensor& exponent) const;
  Tensor& float_power_(const Scalar& exponent) const;
  Tensor ldexp(const Tensor& other) const;
  Tensor& ldexp_(const Tensor& other) const;
  Tensor heaviside(const Tensor& values) const;
  Tensor& heaviside_(const Tensor& values) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  Tensor hardshrink(const Scalar& lambd = 0.5) const;
  Tensor prelu(const Tensor& weight) const;

  // ---- statistics and scans, composed of other operations (ops/reduce/, by name)
  Tensor count_nonzero(IntArrayRef dims = {}) const;
  template <std::same_as<std::optional<int64_t>> Dim> Tensor count_nonzero(const Dim& dim) const {
    return dim ? count_nonzero(IntArrayRef(*dim)) : count_nonzero();
  }
  Tensor nansum(IntArrayRef dims = {}, detail::Flag keepdim = false) const;
  Tensor nanmean(IntArrayRef dims = {}, detail::Flag keepdim = false) const;
  Tensor nansum(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).nansum(dims, keepdim).to(*dtype) : nansum(dims, keepdim);
  }
  Tensor nanmean(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return to(dtype.value_or(this->dtype())).nanmean(dims, keepdim);
  }
  std::tuple<Tensor, Tensor> aminmax(std::optional<int64_t> dim = {}, detail::Flag keepdim = false) const;
  Tensor median() const;
  std::tuple<Tensor, Tensor> median(int64_t dim, detail::Flag keepdim = false) const;
  Tensor nanmedian() const;
  std::tuple<Tensor, Tensor> nanmedian(int64_t dim, detail::Flag keepdim = false) const;
  std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, detail::Flag keepdim = false) const;
  Tensor quantile(const Tensor& q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                  const std::string& interpolation = "linear") const;
  Tensor quantile(double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                  const std::string& interpolation = "linear") const;
  Tensor cumprod(int64_t dim) const;
  Tensor cumprod(int64_t dim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).cumprod(dim).to(*dtype) : cumprod(dim);
  }
  /// @throws Error if dtype is given and differs from this tensor's
  Tensor& cumprod_(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor logcumsumexp(int64_t dim) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {}) const;
  Tensor cov(int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) const;
  Tensor corrcoef() const;

  // ---- products, composed of other operations (ops/products/, by name)
  Tensor addmm(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor& addmm_(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor addmv(const Tensor& matrix, const Tensor& vector, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor& addmv_(const Tensor& matrix, const Tensor& vector, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor addr(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor& addr_(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor baddbmm(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor& baddbmm_(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor addbmm(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor& addbmm_(const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) const;
  Tensor outer(const Tensor& other) const;
  Tensor ger(const Tensor& other) const { return outer(other); }
  Tensor vdot(const Tensor& other) const { return dot(other); }
  Tensor inner(const Tensor& other) const;
  Tensor kron(const Tensor& other) const;
  Tensor cross(const Tensor& other, std::optional<int64_t> dim = {}) const;
  Tensor dist(const Tensor& other, detail::Real p = 2) const;

  // ---- linear algebra (documented in ops/linalg/linalg.h)
  Tensor det() const;
  std::tuple<Tensor, Tensor> slogdet() const;
  Tensor logdet() const;
  Tensor inverse() const;
  Tensor pinverse(double rcond = 1e-15) const;
  std::tuple<Tensor, Tensor, Tensor> svd(bool some = true, bool compute_uv = true) const;
  std::tuple<Tensor, Tensor> geqrf() const;
  Tensor orgqr(const Tensor& tau) const;
  Tensor ormqr(const Tensor& tau, const Tensor& other, bool left = true, bool transpose = false) const;
  Tensor lu_solve(const Tensor& LU_data, const Tensor& LU_pivots) const;
  std::tuple<Tensor, Tensor> triangular_solve(const Tensor& a, bool upper = true, bool transpose = false,
                                              bool unitriangular = false) const;
  Tensor cholesky_solve(const Tensor& L, bool upper = false) const;
  Tensor cholesky_inverse(bool upper = false) const;
  Tensor matrix_power(int64_t n) const;
  Tensor matrix_exp() const;

  // ---- reading and writing by index and by mask (ops/index/, by name, ops/reduce/searchsorted.h)
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                      detail::Flag include_self = true) const;
  Tensor& index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                        detail::Flag include_self = true) const;
  Tensor take(const Tensor& index) const;
  Tensor put(const Tensor& index, const Tensor& source, detail::Flag accumulate = false) const;
  Tensor& put_(const Tensor& index, const Tensor& source, detail::Flag accumulate = false) const;
  Tensor take_along_dim(const Tensor& indices, std::optional<int64_t> dim = {}) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value, const std::string& reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value, const std::string& reduce) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                        detail::Flag include_self = true) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                          detail::Flag include_self = true) const;
  Tensor select_scatter(const Tensor& source, int64_t dim, int64_t index) const;
  Tensor slice_scatter(const Tensor& source, int64_t dim = 0, std::optional<int64_t> start = {},
                       std::optional<int64_t> end = {}, int64_t step = 1) const;
  Tensor diagonal_scatter(const Tensor& source, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor as_strided_scatter(const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                            std::optional<int64_t> storage_offset = {}) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
  Tensor nonzero() const;
  Tensor argwhere() const { return nonzero(); }
  std::vector<Tensor> nonzero_numpy() const;
  Tensor nonzero_static(int64_t size, int64_t fill_value = -1) const;
  Tensor bincount(const Tensor& weights = {}, int64_t minlength = 0) const;
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const;
  std::tuple<Tensor, Tensor> histogram(const Tensor& bins, const Tensor& weight = {},
                                       detail::Flag density = false) const;
  std::tuple<Tensor, Tensor> histogram(int64_t bins = 100, std::optional<ArrayRef<double>> range = {},
                                       const Tensor& weight = {}, detail::Flag density = false) const;

  // ---- sorting and cumulative operations (ops/reduce/sort.h, ops/reduce/cumulative.h)
  Tensor msort() const { return std::get<0>(sort(0)); }
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, detail::Flag keepdim = false) const;
  std::tuple<Tensor, Tensor> cummax(int64_t dim) const;
  std::tuple<Tensor, Tensor> cummin(int64_t dim) const;
  Tensor nanquantile(const Tensor& q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                     const std::string& interpolation = "linear") const;
  Tensor nanquantile(double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                     const std::string& interpolation = "linear") const;
  Tensor renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;
  Tensor& renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;

  // ---- more views and shapes (ops/shape/, by name)
  /// A view of all windows of `size` elements along one dimension, `step` apart. That dimension counts the windows; a
  /// new last dimension counts the elements within a window. @throws Error unless step is positive
  /// and 0 <= size <= size(dimension)
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const {
    return split(split_sizes, dim);
  }
  /// As chunk() and split(), but the parts are copies, so that they may be changed in place.
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const;
  /// Conjugate transpose of a matrix or a batch of matrices: tensors are real, so this is the transpose.
  Tensor mH() const { return adjoint(); }
  /// transpose(-2, -1), because tensors are real.
  Tensor adjoint() const;
  /// adjoint() of a single matrix. @throws Error unless the tensor has two dimensions
  Tensor matrix_H() const;
  /// A view of the whole tensor.
  Tensor alias() const;
  Tensor diagflat(int64_t offset = 0) const;
  /// Writes the value to the diagonal of a matrix, or of a tensor whose dimensions all have one size. With `wrap`, the
  /// diagonal of a tall matrix starts again below each square block; one row between two blocks is left out.
  Tensor& fill_diagonal_(const Scalar& value, detail::Flag wrap = false) const;
  /// Sums over the dimensions along which `sizes` would broadcast to this shape. @throws Error if it does not broadcast
  Tensor sum_to_size(IntArrayRef sizes) const;
  /// In-place versions of the views of the same names: this tensor takes the view's shape and history.
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dims) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const;
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const;
  Tensor& t_() const;
  Tensor& as_strided_(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset = {}) const;
  /// Changes the sizes, and makes the strides row-major or those of the given memory format. Elements keep their order
  /// in memory, and added elements are uninitialised. @throws Error if the tensor requires a gradient, or if the
  /// storage would have to grow while other tensors share it
  const Tensor& resize_(IntArrayRef sizes, std::optional<MemoryFormat> format = {}) const;
  const Tensor& resize_as_(const Tensor& other, std::optional<MemoryFormat> format = {}) const;
  /// Gives this tensor the storage, sizes and strides of `source`, which must have the same dtype and device. Without a
  /// source, makes this tensor empty. @throws Error if the tensor requires a gradient
  Tensor& set_(const Tensor& source) const;
  /// Gives this tensor the storage of `source` as source.as_strided(sizes, strides, storage_offset) sees it. Its
  /// elements are contiguous if strides are missing.
  Tensor& set_(const Tensor& source, int64_t storage_offset, IntArrayRef sizes, IntArrayRef strides = {}) const;
  Tensor& set_() const;

  // ---- new tensors of this tensor's dtype and device, unless the options set others (ops/factory/, by name)
  /// Uninitialised elements, row-major unless the options set a memory format.
  Tensor new_empty(IntArrayRef sizes, const TensorOptions& options = {}) const;
  /// Uninitialised elements with these strides.
  Tensor new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) const;
  /// All elements equal to `value`.
  Tensor new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {}) const;
  /// All elements 1.
  Tensor new_ones(IntArrayRef sizes, const TensorOptions& options = {}) const;
  /// All elements 0.
  Tensor new_zeros(IntArrayRef sizes, const TensorOptions& options = {}) const;

  // ---- random samples (ops/random/, by name)
  Tensor bernoulli() const;
  Tensor bernoulli(double p) const;
  Tensor bernoulli(const Tensor& p) const;
  Tensor multinomial(int64_t num_samples, detail::Flag replacement = false) const;

  /// The tensor as PyTorch prints it: nested brackets, with the dtype unless it is implied by the values.
  std::string str() const;
  /// Writes type and sizes to std::cerr: [CPUFloatType (2, 3)], or in LibTorch's style [CPUFloatType [2, 3]].
  void print() const;

 private:
  /// In-place methods are const, as in LibTorch: they change the tensor, not this handle.
  Tensor& self() const { return const_cast<Tensor&>(*this); }
};
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace tandem

#include "tandem/core/tensor_functions.h"  // included last, because it needs the class Tensor
