#include "tandem/serialize/pickle_globals.h"

namespace tandem::detail {

const char* const kPickleAccepts =
    "; accepted: tensors and parameters of Tandem's dtypes, lists, tuples, dicts, OrderedDicts, numbers, strings, "
    "None, torch.Size, torch.device and torch.dtype. Python's torch.save(module.state_dict(), path) writes such a file";

Item find_global(const std::string& module, const std::string& name) {
  const auto global = [&](Global::What what, std::optional<DType> dtype = {}) {
    return Item{std::make_shared<const Global>(Global{module + "." + name, what, dtype})};
  };
  struct Known {
    const char *module, *name;
    Global::What what;
  };
  static constexpr Known kKnown[] = {{"collections", "OrderedDict", Global::ordered_dict},
                                     {"torch._utils", "_rebuild_tensor", Global::tensor},
                                     {"torch._utils", "_rebuild_tensor_v2", Global::tensor_v2},
                                     {"torch._utils", "_rebuild_tensor_v3", Global::tensor_v3},
                                     {"torch._utils", "_rebuild_parameter", Global::parameter},
                                     {"torch", "Size", Global::size},
                                     {"torch", "device", Global::device},
                                     {"torch.storage", "UntypedStorage", Global::storage},
                                     {"torch", "UntypedStorage", Global::storage},
                                     {"torch.jit._pickle", "build_tensorlist", Global::list},
                                     {"torch.jit._pickle", "build_intlist", Global::list},
                                     {"torch.jit._pickle", "build_doublelist", Global::list},
                                     {"torch.jit._pickle", "build_boollist", Global::list},
                                     {"torch.jit._pickle", "restore_type_tag", Global::tagged}};
  for (const Known& known : kKnown)
    if (module == known.module && name == known.name) return global(known.what);
  if (module == "torch")
    for (const PickledDType& known : kPickledDTypes) {
      if (name == known.storage) return global(Global::storage, known.dtype);
      if (name == known.name) return {IValue(known.dtype)};
    }
  if (module == "__torch__" || module.rfind("__torch__.", 0) == 0) return global(Global::object);
  std::string dtypes;
  for (const PickledDType& known : kPickledDTypes) dtypes += (dtypes.empty() ? "" : ", ") + std::string(known.name);
  TANDEM_CHECK(module != "torch", "it refers to torch.", name,
               ", which is refused: no dtype, storage or function that is known here; dtypes accepted: ", dtypes);
  TANDEM_FAIL("it refers to the global '", module, ".", name, "', which is refused", kPickleAccepts);
}

namespace {

const IValue& value_of(const Arguments& arguments, size_t i, const Global& of) {
  TANDEM_CHECK(i < arguments.size() && arguments[i].value(), "it calls ", of.name, " without a value as argument ", i,
               " of ", arguments.size());
  return *arguments[i].value();
}
Shape shape_of(const IValue& value) {
  TANDEM_CHECK(value.isTuple() && value.elements().size() <= kMaxDims, "it has a tensor whose shape is ",
               value.tagKind(), "; accepted: a tuple of up to ", kMaxDims, " ints");
  Shape out;
  for (const IValue& size : value.elements()) {
    TANDEM_CHECK(size.isInt(), "it has a tensor with ", size.tagKind(), " for a size or a stride");
    out.push_back(size.toInt());
  }
  return out;
}
bool flag_of(const IValue& value) {
  TANDEM_CHECK(value.isBool(), "it has ", value.tagKind(), " for requires_grad; accepted: a bool");
  return value.toBool();
}
void check_empty(const IValue& value, const char* what) {
  TANDEM_CHECK(value.isNone() || (value.isGenericDict() && value.entries().empty()), "it has a tensor with ", what,
               "; accepted: none");
}
Tensor with_grad(Tensor tensor, bool wanted) {
  TANDEM_CHECK(!wanted || tensor.is_floating_point(), "it has a tensor of ", tensor.dtype(),
               " that requires a gradient");
  if (wanted) tensor.requires_grad_(true);
  return tensor;
}
Tensor rebuild(const Arguments& given, const Global& of, TensorSource& tensors) {
  const auto* const held = given.empty() ? nullptr : std::get_if<std::shared_ptr<const PickledStorage>>(&given[0].held);
  TANDEM_CHECK(held, "it calls ", of.name, " without a storage");
  const PickledStorage& storage = **held;
  DType dtype = storage.dtype.value_or(kUInt8);
  if (of.what == Global::tensor_v3) {
    const IValue& named = value_of(given, 6, of);
    TANDEM_CHECK(named.isDType() && !storage.dtype, "it calls ", of.name, " with ", named.tagKind(),
                 " for a dtype, or a storage that has one already");
    dtype = named.toDType();
  } else {
    TANDEM_CHECK(storage.dtype, "it calls ", of.name, " with a storage of no dtype");
  }
  const IValue& offset = value_of(given, 1, of);
  TANDEM_CHECK(offset.isInt(), "it has a tensor with ", offset.tagKind(), " for an offset");
  const Tensor tensor = tensors.tensor(storage, dtype, offset.toInt(), shape_of(value_of(given, 2, of)),
                                       shape_of(value_of(given, 3, of)));
  if (of.what == Global::tensor) return tensor;
  check_empty(value_of(given, 5, of), "backward hooks");
  const size_t metadata = of.what == Global::tensor_v3 ? 7 : 6;
  if (given.size() > metadata) check_empty(value_of(given, metadata, of), "metadata (a conjugate or a negative)");
  return with_grad(tensor, flag_of(value_of(given, 4, of)));
}
Device make_device(const Arguments& given, const Global& of) {
  const std::string type = value_of(given, 0, of).toStringRef();
  if (given.size() == 1) return Device(type);
  const int64_t index = value_of(given, 1, of).toInt();
  TANDEM_CHECK(0 <= index && index < kMaxDevices && type.find(':') == std::string::npos, "it has a device '", type,
               "' with index ", index);
  return Device(type + ":" + std::to_string(index));
}

}  // namespace

IValue call_global(const Global& global, const Arguments& given, TensorSource& tensors) {
  switch (global.what) {
    case Global::ordered_dict:
      TANDEM_CHECK(given.empty(), "it calls collections.OrderedDict with arguments; accepted: none");
      return IValue::ordered_dict();
    case Global::tensor:
    case Global::tensor_v2:
    case Global::tensor_v3: return rebuild(given, global, tensors);
    case Global::parameter: {
      const Tensor data = value_of(given, 0, global).toTensor();
      check_empty(value_of(given, 2, global), "backward hooks");
      return with_grad(core::alias(data), flag_of(value_of(given, 1, global)));
    }
    case Global::size:
      TANDEM_CHECK(value_of(given, 0, global).isTuple(), "it has a torch.Size of ",
                   value_of(given, 0, global).tagKind());
      return value_of(given, 0, global);
    case Global::device: return make_device(given, global);
    case Global::list:
    case Global::tagged: return value_of(given, 0, global);
    case Global::storage:
    case Global::object: break;
  }
  TANDEM_FAIL("it calls ", global.name, ", which is no function", kPickleAccepts);
}

Item find_storage(const Arguments& id) {
  const Global of{"a storage", Global::storage};
  const bool known =
      id.size() == 5 && id[0].value() && id[0].value()->isString() && id[0].value()->toStringRef() == "storage";
  const auto* const type = known ? std::get_if<std::shared_ptr<const Global>>(&id[1].held) : nullptr;
  TANDEM_CHECK(type && (*type)->what == Global::storage,
               "it refers to something outside of its pickle that is no storage", kPickleAccepts);
  PickledStorage storage{value_of(id, 2, of).toStringRef(), (*type)->dtype, 0};
  TANDEM_CHECK(value_of(id, 3, of).isString() && value_of(id, 4, of).isInt(), "it has a storage '", storage.key,
               "' without a location and a size");
  storage.numel = value_of(id, 4, of).toInt();
  return {std::make_shared<const PickledStorage>(std::move(storage))};
}

}  // namespace tandem::detail
