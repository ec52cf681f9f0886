// Globals, which are the functions and classes that a pickle names. Only the globals that tensors and containers need
// are accepted.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tandem/serialize/pickle_reader.h"

namespace tandem::detail {

/// A function or class that a pickle names (a "global"), and how the reader treats it.
struct Global {
  enum Kind {
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
    cpu_tensor,  // rebuilds a tensor whose device, such as XLA, saves its tensors as CPU tensors
    parameter,
    parameter_class,
    // calls the function in its first argument to rebuild a tensor, then sets attributes of the tensor
    rebuild_from_type,
    unsupported,  // function that makes a tensor of a kind that Tandem lacks
    size,
    device,
    storage,
    list,
    tagged,
    class_name,  // class of tensors or storages; pickles name such a class but never call it
    object
  };
  std::string name;
  Kind kind;
  std::optional<DType> dtype = {};  // dtype of a storage class; nullopt for untyped storages
};
struct PickleMark {};
struct StackItem;
// arguments of a call: values, globals, storages, or arguments of another call
using Arguments = std::vector<StackItem>;
struct StackItem {
  std::variant<IValue, PickleMark, std::shared_ptr<const Global>, std::shared_ptr<const PickledStorage>,
               std::shared_ptr<const Arguments>>
      content;
  const IValue* value() const { return std::get_if<IValue>(&content); }
};

/// Text that lists the accepted contents of pickles, for error messages.
extern const char* const kAcceptedPickleContents;
/// Returns the stack item for the global with this name. @throws Error that names the global if it is not accepted
StackItem find_global(const std::string& module, const std::string& name);
/// Calls a function, or creates an object of one of Python's or PyTorch's classes. PickleReader handles the classes of
/// LibTorch's archives.
/// @throws Error if the function or class does not accept these arguments
IValue call_global(const Global& global, const Arguments& arguments, TensorSource& tensors);
/// Returns whether the global is a class whose objects pickles create by the opcode NEWOBJ.
bool is_newobj_class(Global::Kind what);
/// Returns the storage that a persistent ID describes. @throws Error if the ID describes something else
StackItem parse_persistent_id(const Arguments& id);
/// Converts a dict's key to an int or a string. True becomes 1, as in Python. Keys of other types become the text that
/// Python prints, such as "(1, 2)". @throws Error for a list, a dict or a tensor
IValue to_dict_key(const IValue& value);
/// Converts the bytes of an int, little-endian in two's complement, to an int value; or to a string of decimal digits
/// if the int does not fit 64 bits.
IValue decode_int(const std::string& bytes);

}  // namespace tandem::detail
