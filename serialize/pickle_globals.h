// Globals that a pickle may refer to: those that tensors and containers need, and no others.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tandem/serialize/pickle_reader.h"

namespace tandem::detail {

/// A global that a pickle refers to, and what it means to the reader.
struct Global {
  enum What {
    ordered_dict,
    counter,
    set,
    byte_array,
    encode,
    complex,
    layout,
    tensor,
    tensor_v2,
    tensor_v3,
    cpu_tensor,  // tensor of a device whose tensors are CPU tensors in files
    parameter,
    parameter_class,
    typed,  // calls a function that rebuilds a tensor; the tensor's attributes follow
    unfit,  // makes a kind of tensor that Tandem lacks
    size,
    device,
    storage,
    list,
    tagged,
    class_name,  // class of tensors or storages; it is only named, never called
    object
  };
  std::string name;
  What what;
  std::optional<DType> dtype = {};  // for storages; nullopt: untyped
};
struct Mark {};
struct Item;
using Arguments = std::vector<Item>;  // a tuple with items that are not values
struct Item {
  std::variant<IValue, Mark, std::shared_ptr<const Global>, std::shared_ptr<const PickledStorage>,
               std::shared_ptr<const Arguments>>
      held;
  const IValue* value() const { return std::get_if<IValue>(&held); }
};

/// Accepted contents of pickles, for error messages.
extern const char* const kPickleAccepts;
/// Returns the item for a global. @throws Error that names the global if it is refused
Item find_global(const std::string& module, const std::string& name);
/// Calls a function, or creates an object of one of Python's or PyTorch's classes. Classes of LibTorch's archives are
/// handled elsewhere.
/// @throws Error if it does not take these arguments
IValue call_global(const Global& global, const Arguments& arguments, TensorSource& tensors);
/// Returns whether pickles create objects of this class without a call.
bool is_class(Global::What what);
/// Returns the storage that a persistent ID describes. @throws Error if the ID describes something else
Item find_storage(const Arguments& id);
/// Converts a dict's key to an int or a string. Keys of other types become their text, such as "(1, 2)"; True is 1, as
/// in Python. @throws Error for a list, a dict or a tensor
IValue key_of(const IValue& value);
/// Converts an int of any size, little-endian in two's complement. If it has more than 64 bits, returns a string of its
/// digits.
IValue int_of(const std::string& bytes);

}  // namespace tandem::detail
