// Restricted reader of pickles: creates only values that IValue can hold, and never runs Python code that a pickle
// names.
#pragma once
#include <functional>
#include <optional>

#include "tandem/autograd/value_container.h"

namespace tandem::detail {

/// A storage that a pickle refers to. Tensors with the same key share it.
struct PickledStorage {
  std::string key;
  std::optional<DType> dtype;  // element type; nullopt for untyped storages
  int64_t numel = 0;           // size in elements of dtype, or in bytes if dtype is nullopt
};
/// Provides the elements of tensors.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Returns a view of a storage. Throws if the view exceeds the storage.
  virtual Tensor make_tensor(const PickledStorage& storage, DType dtype, int64_t offset, IntArrayRef sizes,
                             IntArrayRef strides) = 0;
};

/// Reads a pickle of protocol 2 to 5, as torch.save and LibTorch's torch::save write them. Accepts the globals that
/// torch.load(weights_only=True) of PyTorch 2.15 allows; docs/libtorch.md lists the value that each becomes. Objects of
/// LibTorch's archives (__torch__...) become dicts of their attributes. The size of the result is at most proportional
/// to the size of the pickle. @throws Error that names the source and the defect, or the global that is not accepted
IValue read_pickle(const std::string& text, const std::string& name, TensorSource& tensors);

/// A dtype with its name in Python, as in "torch.float32", and the name of its storage class, such as "FloatStorage".
struct PickledDType {
  DType dtype;
  const char *name, *storage_class;
};
constexpr PickledDType kPickledDTypes[] = {
    {kFloat32, "float32", "FloatStorage"}, {kFloat64, "float64", "DoubleStorage"},
    {kFloat16, "float16", "HalfStorage"},  {kBFloat16, "bfloat16", "BFloat16Storage"},
    {kInt64, "int64", "LongStorage"},      {kInt32, "int32", "IntStorage"},
    {kInt16, "int16", "ShortStorage"},     {kInt8, "int8", "CharStorage"},
    {kUInt8, "uint8", "ByteStorage"},      {kBool, "bool", "BoolStorage"}};

}  // namespace tandem::detail
