// Writes an IValue as a pickle that Python's torch.load reads with weights_only=True.
#pragma once
#include "tandem/autograd/ivalue.h"

namespace tandem::detail {

/// A pickle, and the storages that its tensors refer to; storage i has the key "i".
struct Pickle {
  std::string text;
  std::vector<Storage> storages;
};
/// Writes a pickle of protocol 2. A value that occurs several times is written once. Tensors that share a storage share
/// it after loading, too: as in torch.save, the whole storage is written, even if the tensors view only a small part of
/// it.
/// @throws Error for an undefined tensor, and if tensors of two dtypes share a storage
Pickle write_pickle(const IValue& value);

}  // namespace tandem::detail
