// Writes what IValue holds as a pickle that Python's torch.load reads with weights_only=True.
#pragma once
#include "tandem/autograd/ivalue.h"

namespace tandem::detail {

/// A pickle, and the storages that its tensors refer to: number i under the key "i".
struct Pickle {
  std::string text;
  std::vector<Storage> storages;
};
/// Protocol 2. What is held twice is written once. Tensors that share a storage go on sharing it: all of the storage is
/// kept, however little of it they show, as torch.save does.
/// @throws Error for an undefined tensor, and for a storage that tensors of two dtypes share
Pickle write_pickle(const IValue& value);

}  // namespace tandem::detail
