// What pickles call: the globals that tensors and containers need, and nothing else.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tandem/serialize/pickle_reader.h"

namespace tandem::detail {

/// What a global of a pickle stands for here.
struct Global {
  enum What { ordered_dict, tensor, tensor_v2, tensor_v3, parameter, size, device, storage, list, tagged, object };
  std::string name;
  What what;
  std::optional<DType> dtype = {};  // of a storage; none: untyped
};
struct Mark {};
struct Item;
using Arguments = std::vector<Item>;  // a tuple that holds what is no value
struct Item {
  std::variant<IValue, Mark, std::shared_ptr<const Global>, std::shared_ptr<const PickledStorage>,
               std::shared_ptr<const Arguments>>
      held;
  const IValue* value() const { return std::get_if<IValue>(&held); }
};

/// What errors say is accepted.
extern const char* const kPickleAccepts;
/// @throws Error naming a global that is refused
Item find_global(const std::string& module, const std::string& name);
/// What a call gives: of a function, not of a class whose objects LibTorch's archives hold.
/// @throws Error for arguments that it does not take
IValue call_global(const Global& global, const Arguments& arguments, TensorSource& tensors);
/// The storage that a persistent id says. @throws Error for an id of anything else
Item find_storage(const Arguments& id);

}  // namespace tandem::detail
