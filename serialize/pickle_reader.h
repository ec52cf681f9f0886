// The restricted reader of pickles: builds what IValue holds, and calls nothing.
#pragma once
#include <functional>
#include <optional>

#include "tandem/autograd/value_container.h"

namespace tandem::detail {

/// A storage that a pickle refers to. Tensors that name the same key share it.
struct PickledStorage {
  std::string key;
  std::optional<DType> dtype;  // none: untyped
  int64_t numel = 0;           // of its dtype; bytes where it is untyped
};
/// Where the elements of tensors come from.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// A view of a storage, checked against its size.
  virtual Tensor tensor(const PickledStorage& storage, DType dtype, int64_t offset, IntArrayRef sizes,
                        IntArrayRef strides) = 0;
};

/// Reads a pickle of protocol 2 to 5, as torch.save and LibTorch's torch::save write them. Accepts the globals that
/// torch.load(weights_only=True) of PyTorch 2.15 allows; docs/libtorch.md lists the value that each becomes. Objects of
/// LibTorch's archives (__torch__...) become dicts of their attributes. The result takes memory in proportion to the
/// text. @throws Error naming the source and the defect, or the global that is refused
IValue read_pickle(const std::string& text, const std::string& name, TensorSource& tensors);

/// "torch.float32" and its storage class "FloatStorage", for each dtype.
struct PickledDType {
  DType dtype;
  const char *name, *storage;
};
constexpr PickledDType kPickledDTypes[] = {
    {kFloat32, "float32", "FloatStorage"}, {kFloat64, "float64", "DoubleStorage"},
    {kFloat16, "float16", "HalfStorage"},  {kBFloat16, "bfloat16", "BFloat16Storage"},
    {kInt64, "int64", "LongStorage"},      {kInt32, "int32", "IntStorage"},
    {kInt16, "int16", "ShortStorage"},     {kInt8, "int8", "CharStorage"},
    {kUInt8, "uint8", "ByteStorage"},      {kBool, "bool", "BoolStorage"}};

}  // namespace tandem::detail
