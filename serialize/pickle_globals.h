// What pickles call: the globals that tensors and containers need, and nothing else.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tandem/serialize/pickle_reader.h"

namespace tandem::detail {

/// What a global of a pickle stands for here.
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
    cpu_tensor,  // of a device that keeps its tensors on the CPU in files
    parameter,
    parameter_class,
    typed,  // calls a function that rebuilds a tensor, whose attributes follow
    unfit,  // makes a tensor of a kind that Tandem lacks
    size,
    device,
    storage,
    list,
    tagged,
    class_name,  // of tensors and storages; only named
    object
  };
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
/// The result of a function, or a new object of a class of Python's or PyTorch's; not of a class of LibTorch's
/// archives.
/// @throws Error for arguments that it does not take
IValue call_global(const Global& global, const Arguments& arguments, TensorSource& tensors);
/// Whether pickles make objects of it without a call.
bool is_class(Global::What what);
/// The storage that a persistent id says. @throws Error for an id of anything else
Item find_storage(const Arguments& id);
/// Converts a dict's key to an int or a string. Keys of other types become their text, such as "(1, 2)"; True is 1, as
/// in Python. @throws Error for a list, a dict or a tensor
IValue key_of(const IValue& value);
/// An int of any size, little-endian in two's complement. One of more than 64 bits becomes a string of its digits.
IValue int_of(const std::string& bytes);

}  // namespace tandem::detail
