// Tensor: a cheap handle on storage, sizes, strides and an offset, with the methods that users call. Most are defined
// in ops/, beside the functions of the same name. One class cannot be cut further: what a tensor is without operations
// stands in core/tensor_base.h, functions on tensors in core/tensor_functions.h, which this file includes.
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

namespace detail {

/// A number or none, which is no bool: that would be `unbiased`.
template <class T>
concept OptionalNumber = !std::is_arithmetic_v<T> && std::is_convertible_v<T, std::optional<Scalar>>;
/// var and std divided by n - correction.
Tensor corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim);
Tensor corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim);

}  // namespace detail

/// An n-dimensional array. Copies name the same elements; a default-constructed one is undefined.
class Tensor : public TensorBase {
 public:
  Tensor() = default;
  explicit Tensor(detail::Ref<detail::TensorImpl> impl) : TensorBase(std::move(impl)) {}
  /// What LibTorch's functions take as std::optional<Tensor> are Tensors here, of which nothing is an undefined one.
  Tensor(std::nullopt_t) {}
  template <class Optional>
  requires std::is_same_v<Optional, std::optional<Tensor>> Tensor(const Optional& tensor) {
    if (tensor) impl_ = tensor->impl_;
  }
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  /// A variable names another tensor from then on.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// A part, as in `x[0] = y` or `x.index({0, 1}) = 2`, is written to: copy_ and fill_ of the view.
  Tensor& operator=(const Tensor& value) && { return copy_(value); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // ---- what it is
  explicit operator bool() const = delete;
  /// Whether its one element is not 0. @throws Error when there are more or none
  bool is_nonzero() const;
  /// "CPUFloatType", "CUDALongType", ...: what LibTorch calls its kind.
  std::string toString() const;
  using TensorBase::data;  // beside data() without a type, which is below
  /// The one element of a tensor, as a number. @throws Error when there are more or none
  Scalar item() const;
  template <class T> T item() const { return item().to<T>(); }

  // ---- autograd (defined in autograd/variable.cpp)
  /// Whether backward() is to reach it: set on a leaf, inherited by what is computed from it.
  bool requires_grad() const;
  /// Sets that flag. @throws Error for a dtype that is not floating, and for false where it is no leaf
  Tensor& requires_grad_(bool wanted = true);
  const Tensor& requires_grad_(bool wanted = true) const;
  /// The same, but without an effect on what is no leaf, where requires_grad_(false) is refused.
  Tensor& set_requires_grad(bool wanted) { return is_leaf() ? requires_grad_(wanted) : *this; }
  const Tensor& set_requires_grad(bool wanted) const { return is_leaf() ? requires_grad_(wanted) : *this; }
  /// Whether no operation made it, or none that was recorded: backward() stores gradients of leaves.
  bool is_leaf() const;
  /// The gradient that backward() has added up; undefined before the first.
  const Tensor& grad() const;
  /// The same, to be assigned.
  Tensor& mutable_grad() const;
  /// Takes the place of the gradient.
  void set_grad(const Tensor& grad) const { mutable_grad() = grad; }
  /// Drops the gradient, or (set_to_none = false) fills it with zeros.
  void zero_grad(bool set_to_none = true) const;
  /// Gradients of this tensor with respect to the leaves (or `inputs`), added into their grad().
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {}, bool create_graph = false,
                TensorList inputs = {}) const;
  /// The same elements without history: a view that requires no gradient, and shares the count of changes.
  Tensor detach() const;
  /// Cuts this tensor off its history. @throws Error for a view
  Tensor& detach_() const;
  /// The same elements without history. Changes through it go unnoticed by saved tensors. As LibTorch's.
  Tensor data() const;
  /// Called with the gradient of this tensor when it is known; what it returns, if defined, replaces it.
  unsigned register_hook(std::function<Tensor(const Tensor&)> hook) const;
  /// One that only looks.
  template <class Hook>
  requires std::is_void_v<std::invoke_result_t<Hook&, const Tensor&>>
  unsigned register_hook(Hook hook) const {
    return register_hook(std::function<Tensor(const Tensor&)>([hook = std::move(hook)](const Tensor& grad) mutable {
      hook(grad);
      return Tensor();
    }));
  }
  /// Removes the hook that register_hook() gave this position for.
  void remove_hook(unsigned position) const;
  /// Has backward() store the gradient of this tensor too, which is no leaf.
  void retain_grad() const;
  /// Whether retain_grad() was called on this tensor, which is no leaf.
  bool retains_grad() const;
  /// Whether it is a view of another tensor that autograd knows of.
  bool is_view() const;
  /// Which of the results of grad_fn() it is.
  int64_t output_nr() const;
  /// detach() and data() by LibTorch's older names.
  Tensor variable_data() const { return data(); }
  /// detach() by LibTorch's older name.
  Tensor tensor_data() const { return detach(); }
  /// From then on it has the elements, the sizes and the strides of `source`, of its own dtype and device; its flag and
  /// its gradient stay, and no history records it.
  void set_data(const Tensor& source) const;
  /// The node that made this tensor; null for a leaf.
  const std::shared_ptr<autograd::Node>& grad_fn() const;
  /// The name of that node ("mul").
  std::string grad_fn_name() const;  // "" for a leaf

  // ---- views: share storage, recorded (ops/shape/, by name)
  /// The same elements in another shape of as many; one size may be -1 and follows from the others. @throws Error where
  /// the strides do not allow it without a copy: reshape() makes one
  Tensor view(IntArrayRef sizes) const;
  /// The same bytes as elements of another dtype, without a history. A larger or smaller one changes the last
  /// dimension.
  /// @throws Error where the bytes of the last dimension do not lie together or make no whole number of elements
  Tensor view(DType dtype) const;
  /// view(other.sizes()).
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  /// view(), or a copy where the strides do not allow one.
  Tensor reshape(IntArrayRef sizes) const;
  /// reshape(other.sizes()).
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  /// Dimensions start_dim to end_dim as one: a view, or a copy where the strides do not allow one.
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  /// One dimension as several of these sizes, of which one may be -1.
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  /// A view with two dimensions exchanged.
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  /// A view of a matrix with its dimensions exchanged; of fewer dimensions itself. @throws Error for more than two
  Tensor t() const;
  /// transpose(-2, -1). @throws Error for less than two dimensions
  Tensor mT() const {
    TANDEM_CHECK(dim() >= 2, "mT: x is ", sizes(), "; accepted: two dimensions or more");
    return transpose(-2, -1);
  }
  /// A view with the dimensions in this order, each named once.
  Tensor permute(IntArrayRef dims) const;
  /// A view of positions start to start + length of one dimension; a negative start counts from its end.
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  /// A view at one position of dim, without that dimension. @throws IndexError beyond its size
  Tensor select(int64_t dim, int64_t index) const;
  /// A view of positions start, start + step, ... before end, as Python's x[start:end:step]; step is positive.
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  /// A view with dimensions of size 1 repeated, and new ones in front; -1 leaves a size as it is.
  Tensor expand(IntArrayRef sizes) const;
  /// expand(other.sizes()).
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  /// A view with a new dimension of size 1 at dim.
  Tensor unsqueeze(int64_t dim) const;
  /// A view without the dimensions of size 1, or without those that are named where they are of size 1.
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor squeeze(IntArrayRef dims) const;
  /// A view of the storage with any sizes, strides and offset, in elements. @throws Error where it would leave the
  /// storage
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset = {}) const;
  /// Views: as many equal parts along dim, the last one smaller; fewer where the size does not suffice.
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  /// Views: parts of split_size along dim, the last one smaller; or of the sizes given, which add up.
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef split_sizes, int64_t dim = 0) const;
  /// Views: one for each position of dim, without that dimension.
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  /// select(0, index).
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// What Python's x[...] gives: a view for numbers, slices, None and Ellipsis, a copy where tensors point. See
  /// indexing::TensorIndex.
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  /// Writes `value`, which broadcasts, to where index() reads, or with `accumulate` adds it, to what comes twice twice.
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value,
                     detail::Flag accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  /// A copy of this tensor with `value` written to where index() reads, as index_put_ does.
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, detail::Flag accumulate = false) const;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;

  // ---- copies and conversions (ops/shape/copy.cpp, ops/shape/clone.cpp)
  /// Itself where it lies so without gaps already, else a copy that does.
  /// @throws Error for ChannelsLast of anything but four dimensions, and for Preserve
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  /// A copy that lies as this tensor does, or in the format given. Where this one has gaps or repeated elements, the
  /// copy has its order of dimensions.
  Tensor clone(std::optional<MemoryFormat> format = {}) const;
  /// Of another dtype, device or memory format (which TensorOptions take too: `x.to(kChannelsLast)`); itself where it
  /// is all that already, unless `copy` is set. A copy keeps the memory format unless one is given.
  /// @throws Error for ChannelsLast of anything but four dimensions
  Tensor to(DType dtype, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> format = {}) const;
  /// With `non_blocking` a copy to a GPU is queued on the GPU's current stream: page-locked memory must stay as it is
  /// until it is done, other memory may change at once. One from a GPU goes to page-locked memory, whose elements are
  /// there when that stream is synchronized. All other copies wait.
  Tensor to(Device device, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> format = {}) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const;
  Tensor to(DeviceType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = {}) const {
    return to(Device(type), non_blocking, copy, format);
  }
  /// Of another tensor's dtype and device.
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
  /// A copy in page-locked memory, from which a GPU copies while the host goes on; itself when it is there already.
  /// @throws Error when it is not on a CPU device, or there is no GPU
  Tensor pin_memory() const;
  /// A copy with each dimension repeated so often; more numbers than dimensions add dimensions in front.
  Tensor repeat(IntArrayRef repeats) const;

  // ---- elementwise (core/elementwise_ops.h says what they compute; ops/elementwise/unary.cpp,
  // ops/elementwise/binary.cpp, and compare, logical, bitwise, erf, gamma there; ops/nn/activation.cpp)
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
  /// To so many digits behind the point, of integers and of what is negative before it.
  Tensor round(int64_t decimals) const;
  Tensor& round_(int64_t decimals) const;
  /// Of real numbers: 0, or pi where it is below 0; NaN of NaN. The gradient is 0.
  Tensor angle() const;
  /// What LibTorch does to complex numbers: of real ones the tensor itself.
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
  Tensor clamp(const Tensor& min, const Tensor& max = {}) const;
  Tensor clamp_min(const Scalar& min) const { return clamp(min); }
  Tensor clamp_max(const Scalar& max) const { return clamp({}, max); }
  Tensor clamp_min(const Tensor& min) const { return clamp(min); }
  Tensor clamp_max(const Tensor& max) const { return clamp(Tensor(), max); }
  Tensor clip(std::optional<Scalar> min, std::optional<Scalar> max = {}) const { return clamp(min, max); }
  Tensor clip(const Tensor& min, const Tensor& max = {}) const { return clamp(min, max); }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;  // of no dimension
  Tensor masked_select(const Tensor& mask) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }

  // ---- in place (each beside the operation that it is a form of): they raise the version, and history is rebased
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& subtract_(const Tensor& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  /// Takes over the elements of `source`, which broadcasts and is converted, from any device. non_blocking as in to().
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;  // of no dimension
  Tensor& zero_() const;
  Tensor& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {}) const;
  Tensor& clamp_(const Tensor& min, const Tensor& max = {}) const;
  Tensor& clamp_min_(const Scalar& min) const { return clamp_(min); }
  Tensor& clamp_max_(const Scalar& max) const { return clamp_({}, max); }
  Tensor& clamp_min_(const Tensor& min) const { return clamp_(min); }
  Tensor& clamp_max_(const Tensor& max) const { return clamp_(Tensor(), max); }
  Tensor& clip_(std::optional<Scalar> min, std::optional<Scalar> max = {}) const { return clamp_(min, max); }
  Tensor& clip_(const Tensor& min, const Tensor& max = {}) const { return clamp_(min, max); }
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;  // of no dimension
  Tensor& uniform_(double low = 0, double high = 1) const;
  /// Fills it with normal numbers of this mean and deviation, from its device's generator. @throws Error unless the
  /// dtype is floating
  Tensor& normal_(double mean = 0, double std = 1) const;
  /// Fills it with 1 with probability p, else 0.
  Tensor& bernoulli_(double p = 0.5) const;
  Tensor& bernoulli_(const Tensor& p) const;
  Tensor& random_(int64_t low, int64_t high) const;
  Tensor& random_(int64_t high) const { return random_(0, high); }
  Tensor& random_() const;
  // The distributions are documented in ops/random/, in the header of that name.
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

  // ---- reductions (core/reduce_ops.h says what the first ones compute; ops/reduce/, by name)
#define TANDEM_REDUCE_METHOD(name, ...) Tensor name(IntArrayRef dims = {}, detail::Flag keepdim = false) const;
  TANDEM_REDUCE_OPS(TANDEM_REDUCE_METHOD)
#undef TANDEM_REDUCE_METHOD
  /// In another dtype, to which the elements are converted first.
  Tensor sum(DType dtype) const { return to(dtype).sum().to(dtype); }
  Tensor sum(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).sum(dims, keepdim).to(*dtype) : sum(dims, keepdim);
  }
  /// mean() in another dtype, to which the elements are converted first.
  Tensor mean(DType dtype) const { return to(dtype).mean(); }
  Tensor mean(IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) const {
    return to(dtype.value_or(this->dtype())).mean(dims, keepdim);
  }
  Tensor var() const { return var(IntArrayRef()); }
  /// Divided by n - correction, a number or none, which is 1.
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
  Tensor norm(double p = 2) const;
  Tensor norm(double p, IntArrayRef dims, detail::Flag keepdim = false) const;
  Tensor norm(double p, IntArrayRef dims, detail::Flag keepdim, DType dtype) const {
    return to(dtype).norm(p, dims, keepdim);
  }
  Tensor norm(double p, DType dtype) const { return to(dtype).norm(p); }
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, detail::Flag keepdim = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, detail::Flag keepdim = false) const;
  /// maximum and minimum.
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
  Tensor prod(DType dtype) const { return to(dtype).prod().to(dtype); }
  Tensor prod(int64_t dim, detail::Flag keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor cumsum(int64_t dim) const;
  Tensor cumsum(int64_t dim, std::optional<DType> dtype) const {
    return dtype ? to(*dtype).cumsum(dim).to(*dtype) : cumsum(dim);
  }
  Tensor& cumsum_(int64_t dim) const;
  Tensor softmax(int64_t dim) const;
  Tensor softmax(int64_t dim, std::optional<DType> dtype) const {
    return to(dtype.value_or(this->dtype())).softmax(dim);
  }
  Tensor log_softmax(int64_t dim) const;
  Tensor log_softmax(int64_t dim, std::optional<DType> dtype) const {
    return to(dtype.value_or(this->dtype())).log_softmax(dim);
  }
  /// Sorting is stable, whether or not that is asked for.
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
  /// The k largest or smallest; they come sorted whether or not that is asked for.
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                  detail::Flag sorted = true) const;

  // ---- products and indexing (ops/products/, ops/index/, by name)
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  /// A matrix times a vector, and the product of two vectors. @throws Error for any other ranks
  Tensor mv(const Tensor& other) const;
  Tensor dot(const Tensor& other) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  bool equal(const Tensor& other) const;
  /// |x - other| <= atol + rtol |other| everywhere; false where the sizes differ. @throws Error where the dtypes do, or
  /// the sizes do not broadcast
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;

  // ---- elements in another order or number (ops/shape/, by name, says what they give)
  /// dim().
  int64_t ndimension() const { return dim(); }
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) const { return movedim(source, destination); }
  Tensor moveaxis(int64_t source, int64_t destination) const { return movedim(source, destination); }
  Tensor swapaxes(int64_t axis0, int64_t axis1) const { return transpose(axis0, axis1); }
  Tensor swapdims(int64_t dim0, int64_t dim1) const { return transpose(dim0, dim1); }
  /// All dimensions in reverse order, as NumPy's T.
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
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = {}) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = {}) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  /// The number of parts, or where they end, as a tensor of integers on the CPU.
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

  // ---- elementwise, made of other operations (ops/elementwise/, by name, ops/nn/activation.h)
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

  // ---- statistics and scans, made of other operations (ops/reduce/, by name)
  Tensor count_nonzero(IntArrayRef dims = {}) const;
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
  Tensor& cumprod_(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {}) const;
  Tensor cov(int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) const;
  Tensor corrcoef() const;

  // ---- products, made of other operations (ops/products/, by name)
  Tensor addmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor& addmm_(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor addmv(const Tensor& matrix, const Tensor& vector, double beta = 1, double alpha = 1) const;
  Tensor& addmv_(const Tensor& matrix, const Tensor& vector, double beta = 1, double alpha = 1) const;
  Tensor addr(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor& addr_(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor baddbmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor& baddbmm_(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor addbmm(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor& addbmm_(const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) const;
  Tensor outer(const Tensor& other) const;
  Tensor ger(const Tensor& other) const { return outer(other); }
  Tensor vdot(const Tensor& other) const { return dot(other); }
  Tensor inner(const Tensor& other) const;
  Tensor kron(const Tensor& other) const;
  Tensor cross(const Tensor& other, std::optional<int64_t> dim = {}) const;
  Tensor dist(const Tensor& other, double p = 2) const;

  // ---- linear algebra (ops/linalg/linalg.h says what they give)
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

  // ---- in order, and up to each element (ops/reduce/sort.h, ops/reduce/cumulative.h)
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

  // ---- other shapes (ops/shape/, by name)
  /// All slices of `size` elements along dimension d, `step` apart, as a view: d counts them, and a last dimension is
  /// within each. @throws Error unless 0 <= size <= size(d) and step > 0
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const {
    return split(split_sizes, dim);
  }
  /// As chunk and split, of parts that may be changed in place: each is a tensor of its own.
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const;
  /// The conjugate transposes of matrices, which of real numbers are transposes; matrix_H of one matrix.
  Tensor mH() const { return adjoint(); }
  /// transpose(-2, -1): numbers are real.
  Tensor adjoint() const;
  /// adjoint() of one matrix. @throws Error for other than two dimensions
  Tensor matrix_H() const;
  /// A view of all of it.
  Tensor alias() const;
  Tensor diagflat(int64_t offset = 0) const;
  /// Writes the number to the diagonal of a matrix, or of more dimensions of one size; with `wrap` the diagonal of a
  /// tall matrix begins anew after each row that has none of it.
  Tensor& fill_diagonal_(const Scalar& value, detail::Flag wrap = false) const;
  /// Summed over the dimensions in which `sizes` would broadcast to this shape. @throws Error unless it does
  Tensor sum_to_size(IntArrayRef sizes) const;
  /// The views of these names, in place: this tensor gets the view's shape, and its history.
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dims) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const;
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const;
  Tensor& t_() const;
  Tensor& as_strided_(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset = {}) const;
  /// Gives it other sizes, row-major or in the format given: the elements stay in the order of memory, and what is
  /// added is undefined. @throws Error where it requires a gradient, and where its storage must grow though other
  /// tensors share it
  const Tensor& resize_(IntArrayRef sizes, std::optional<MemoryFormat> format = {}) const;
  const Tensor& resize_as_(const Tensor& other, std::optional<MemoryFormat> format = {}) const;
  /// Becomes another name of source's elements, which must be of its dtype and device; without a source, a tensor of
  /// no elements. @throws Error where it requires a gradient
  Tensor& set_(const Tensor& source) const;
  Tensor& set_() const;

  // ---- new tensors of its dtype and device, unless the options name others (ops/factory/, by name)
  /// Uninitialised elements.
  Tensor new_empty(IntArrayRef sizes, const TensorOptions& options = {}) const;
  /// Uninitialised elements that lie with these strides.
  Tensor new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) const;
  /// Elements of one value.
  Tensor new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {}) const;
  /// Elements of 1.
  Tensor new_ones(IntArrayRef sizes, const TensorOptions& options = {}) const;
  /// Elements of 0.
  Tensor new_zeros(IntArrayRef sizes, const TensorOptions& options = {}) const;

  // ---- drawn at random (ops/random/, by name)
  Tensor bernoulli() const;
  Tensor bernoulli(double p) const;
  Tensor bernoulli(const Tensor& p) const;
  Tensor multinomial(int64_t num_samples, detail::Flag replacement = false) const;

  /// As PyTorch prints it: values in brackets, and the dtype unless it follows from them.
  std::string str() const;
  /// Writes its kind and sizes to std::cerr: [CPUFloatType [2, 3]].
  void print() const;

 private:
  /// Methods in place are const, as LibTorch's: what changes is what this handle names.
  Tensor& self() const { return const_cast<Tensor&>(*this); }
};
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace tandem

#include "tandem/core/tensor_functions.h"  // whoever includes this file has those too
