// Implements the functions and classes ("globals") that a pickle may name: they create tensors, devices, dtypes,
// ordered dicts and so on.
#include "tandem/serialize/pickle_globals.h"

#include <charconv>
#include <cmath>

namespace tandem::detail {

const char* const kAcceptedPickleContents =
    "; accepted: what Python's torch.load(weights_only=True) takes: tensors and parameters of Tandem's dtypes, lists, "
    "tuples, sets, dicts, OrderedDicts, Counters, numbers, strings, bytes, None, torch.Size, torch.device and "
    "torch.dtype. Python's torch.save(module.state_dict(), path) writes such a file";

namespace {

struct KnownGlobal {
  const char *module, *name;
  Global::Kind kind;
};
constexpr KnownGlobal kKnownGlobals[] = {{"collections", "OrderedDict", Global::ordered_dict},
                                         {"collections", "Counter", Global::counter},
                                         {"builtins", "set", Global::set},
                                         {"builtins", "bytearray", Global::byte_array},
                                         {"builtins", "complex", Global::complex},
                                         {"_codecs", "encode", Global::encode},
                                         {"torch.serialization", "_get_layout", Global::layout},
                                         {"torch._utils", "_rebuild_tensor", Global::tensor},
                                         {"torch._utils", "_rebuild_tensor_v2", Global::tensor_v2},
                                         {"torch._utils", "_rebuild_tensor_v3", Global::tensor_v3},
                                         {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", Global::cpu_tensor},
                                         {"torch._utils", "_rebuild_parameter", Global::parameter},
                                         {"torch._utils", "_rebuild_parameter_with_state", Global::parameter},
                                         {"torch.nn.parameter", "Parameter", Global::parameter_class},
                                         {"torch._tensor", "_rebuild_from_type_v2", Global::rebuild_from_type},
                                         {"torch._utils", "_rebuild_qtensor", Global::unsupported},
                                         {"torch._utils", "_rebuild_sparse_tensor", Global::unsupported},
                                         {"torch._utils", "_rebuild_meta_tensor_no_storage", Global::unsupported},
                                         {"torch._utils", "_rebuild_wrapper_subclass", Global::unsupported},
                                         {"torch._utils", "_rebuild_device_tensor_from_numpy", Global::unsupported},
                                         {"torch", "Size", Global::size},
                                         {"torch", "device", Global::device},
                                         {"torch", "Tensor", Global::class_name},
                                         {"torch.storage", "TypedStorage", Global::class_name},
                                         {"torch.storage", "UntypedStorage", Global::storage},
                                         {"torch", "UntypedStorage", Global::storage},
                                         {"torch.jit._pickle", "build_tensorlist", Global::list},
                                         {"torch.jit._pickle", "build_intlist", Global::list},
                                         {"torch.jit._pickle", "build_doublelist", Global::list},
                                         {"torch.jit._pickle", "build_boollist", Global::list},
                                         {"torch.jit._pickle", "restore_type_tag", Global::tagged}};

/// Names of PyTorch's dtypes and quantization schemes that Tandem lacks, each between spaces. When a pickle refers to
/// one, it becomes a string.
constexpr std::string_view kUnsupportedDTypes =
    " bcomplex32 bits16 bits1x8 bits2x4 bits4x2 bits8 complex128 complex32 complex64 float4_e2m1fn_x2 float8_e4m3fn "
    "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7 per_channel_affine "
    "per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric qint32 qint8 "
    "quint2x4 quint4x2 quint8 uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 ";

bool is_unsupported_dtype(const std::string& name) {
  return name.find(' ') == std::string::npos && kUnsupportedDTypes.find(" " + name + " ") != std::string_view::npos;
}

/// Returns whether a global is a class of tensors or storages, such as "torch.FloatTensor",
/// "torch.cuda.sparse.HalfTensor", "torch.QInt8Storage".
bool is_tensor_class(const std::string& module, const std::string& name) {
  static constexpr const char* kElements[] = {
      "BFloat16", "Bool", "Byte",   "Char",  "ComplexDouble", "ComplexFloat", "Double", "Float", "Half",
      "Int",      "Long", "QInt32", "QInt8", "QUInt2x4",      "QUInt4x2",     "QUInt8", "Short"};
  const bool sparse = module == "torch.sparse" || module == "torch.cuda.sparse";
  if (module != "torch" && module != "torch.cuda" && !sparse) return false;
  for (const std::string element : kElements)
    if (name == element + "Tensor" || (!sparse && name == element + "Storage")) return true;
  return false;
}

}  // namespace

StackItem find_global(const std::string& given_module, const std::string& name) {
  const std::string module = given_module == "__builtin__" ? "builtins" : given_module;  // Python 2's name
  const auto global = [&](Global::Kind what, std::optional<DType> dtype = {}) {
    return StackItem{std::make_shared<const Global>(Global{module + "." + name, what, dtype})};
  };
  for (const KnownGlobal& known : kKnownGlobals)
    if (module == known.module && name == known.name) return global(known.kind);
  if (module == "torch") {
    for (const PickledDType& known : kPickledDTypes) {
      if (name == known.storage_class) return global(Global::storage, known.dtype);
      if (name == known.name) return {IValue(known.dtype)};
    }
    if (is_unsupported_dtype(name)) return {IValue("torch." + name)};
  }
  if (is_tensor_class(module, name)) return global(Global::class_name);
  if (module == "__torch__" || module.starts_with("__torch__.")) return global(Global::object);
  TANDEM_FAIL("the pickle refers to the global '", given_module, ".", name, "', which is refused",
              kAcceptedPickleContents);
}
bool is_newobj_class(Global::Kind what) {
  return what == Global::ordered_dict || what == Global::counter || what == Global::set || what == Global::byte_array ||
         what == Global::complex || what == Global::size || what == Global::parameter_class;
}

namespace {

const IValue& get_argument(const Arguments& arguments, size_t i, const Global& of) {
  TANDEM_CHECK(i < arguments.size() && arguments[i].value(), "the pickle calls ", of.name,
               " without a value as argument ", i, " of ", arguments.size(), "; the file is damaged");
  return *arguments[i].value();
}
Shape to_shape(const IValue& value) {
  TANDEM_CHECK(value.isTuple() && value.elements().size() <= kMaxDims,
               "the pickle has a tensor whose shape or strides are ", value.tagKind(), "; accepted: a tuple of up to ",
               kMaxDims, " ints");
  Shape out;
  for (const IValue& size : value.elements()) {
    TANDEM_CHECK(size.isInt(), "the pickle has a tensor with ", size.tagKind(),
                 " for a size or a stride; accepted: ints");
    out.push_back(size.toInt());
  }
  return out;
}
bool to_requires_grad(const IValue& value) {
  TANDEM_CHECK(value.isBool(), "the pickle has ", value.tagKind(), " for requires_grad; accepted: a bool");
  return value.toBool();
}
void check_empty(const IValue& value, const char* what) {
  TANDEM_CHECK(value.isNone() || (value.isGenericDict() && value.entries().empty()), "the pickle has a tensor with ",
               what, "; accepted: none");
}
Tensor set_requires_grad(Tensor tensor, bool wanted) {
  TANDEM_CHECK(!wanted || tensor.is_floating_point(), "the pickle has a tensor of ", tensor.dtype(),
               " that requires a gradient; accepted: floating-point tensors");
  if (wanted) tensor.requires_grad_(true);
  return tensor;
}
std::string dtype_names() {
  std::string out;
  for (const PickledDType& known : kPickledDTypes)
    out += (out.empty() ? "torch." : ", torch.") + std::string(known.name);
  return out;
}
Tensor rebuild_tensor(const Arguments& given, const Global& of, TensorSource& tensors) {
  const auto* const content =
      given.empty() ? nullptr : std::get_if<std::shared_ptr<const PickledStorage>>(&given[0].content);
  TANDEM_CHECK(content, "the pickle calls ", of.name, " without a storage; the file is damaged");
  const PickledStorage& storage = **content;
  DType dtype = storage.dtype.value_or(kUInt8);
  if (of.kind == Global::tensor_v3) {
    const IValue& named = get_argument(given, 6, of);
    TANDEM_CHECK(!named.isString(), "the pickle has a tensor of the dtype ", named.toStringRef(),
                 "; accepted: ", dtype_names());
    TANDEM_CHECK(named.isDType() && !storage.dtype, "the pickle calls ", of.name, " with ", named.tagKind(),
                 " for the dtype, or with a typed storage; accepted: a dtype and an untyped storage");
    dtype = named.toDType();
  } else {
    TANDEM_CHECK(storage.dtype, "the pickle calls ", of.name, " with a storage that has no dtype; the file is damaged");
  }
  const IValue& offset = get_argument(given, 1, of);
  TANDEM_CHECK(offset.isInt(), "the pickle has a tensor with ", offset.tagKind(), " for an offset; accepted: an int");
  const Tensor tensor = tensors.make_tensor(storage, dtype, offset.toInt(), to_shape(get_argument(given, 2, of)),
                                            to_shape(get_argument(given, 3, of)));
  if (of.kind == Global::tensor) return tensor;
  check_empty(get_argument(given, 5, of), "backward hooks");
  const size_t metadata = of.kind == Global::tensor_v3 ? 7 : 6;
  if (given.size() > metadata) check_empty(get_argument(given, metadata, of), "metadata (a conjugate or a negative)");
  return set_requires_grad(tensor, to_requires_grad(get_argument(given, 4, of)));
}
Device make_device(const Arguments& given, const Global& of) {
  const std::string type = get_argument(given, 0, of).toStringRef();
  if (given.size() == 1) return Device(type);
  const int64_t index = get_argument(given, 1, of).toInt();
  TANDEM_CHECK(0 <= index && index < kMaxDevices && type.find(':') == std::string::npos, "the pickle has a device '",
               type, "' with index ", index, "; accepted: a type without ':', and an index from 0 to ",
               kMaxDevices - 1);
  return Device(type + ":" + std::to_string(index));
}

/// Returns a parameter that is an alias of the tensor in the first argument. The second argument is requires_grad, by
/// default true.
Tensor rebuild_parameter(const Arguments& given, const Global& of) {
  return set_requires_grad(core::alias(get_argument(given, 0, of).toTensor()),
                           given.size() < 2 || to_requires_grad(get_argument(given, 1, of)));
}
/// Returns the tensor that the function in the first argument makes. Ignores the tensor's Python class and attributes,
/// which the other arguments contain.
IValue rebuild_from_type(const Arguments& given, const Global& of, TensorSource& tensors) {
  const auto* const function =
      given.size() < 3 ? nullptr : std::get_if<std::shared_ptr<const Global>>(&given[0].content);
  TANDEM_CHECK(function && (*function)->kind != Global::rebuild_from_type, "the pickle calls ", of.name,
               " without a function that makes a tensor; the file is damaged");
  if (const auto* const mixed = std::get_if<std::shared_ptr<const Arguments>>(&given[2].content))
    return call_global(**function, **mixed, tensors);
  Arguments plain;
  for (const IValue& value : get_argument(given, 2, of).elements()) plain.push_back({value});
  return call_global(**function, plain, tensors);
}
/// Returns an OrderedDict with the entries of `from`, which is a dict or a list of pairs.
IValue to_ordered_dict(const IValue& from) {
  IValue out = IValue::ordered_dict();
  if (from.isGenericDict())
    for (const IValue::Entry& entry : from.entries()) out.insert(entry.key(), entry.value());
  else
    for (const IValue& pair : from.elements()) {
      TANDEM_CHECK((pair.isList() || pair.isTuple()) && pair.elements().size() == 2,
                   "the pickle calls collections.OrderedDict with a list that contains ", pair.tagKind(),
                   pair.isList() || pair.isTuple() ? " of " + std::to_string(pair.elements().size()) + " elements" : "",
                   "; accepted: a list of (key, value) pairs");
      out.insert(to_dict_key(pair.elements()[0]), pair.elements()[1]);
    }
  return out;
}
/// Returns a string encoded as bytes. Pickles of protocol 2 store bytes as a call of encode() on a string.
IValue encode_bytes(const Arguments& given, const Global& of) {
  const std::string& text = get_argument(given, 0, of).toStringRef();
  const std::string codec = given.size() < 2 ? "utf-8" : get_argument(given, 1, of).toStringRef();
  if (codec == "utf-8" || codec == "utf8") return IValue(text);
  TANDEM_CHECK(codec == "latin1" || codec == "latin-1" || codec == "iso-8859-1", "the pickle calls ", of.name,
               " with the codec '", codec, "'; accepted: latin1 and utf-8");
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<uint8_t>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    TANDEM_CHECK((first == 0xc2 || first == 0xc3) && i + 1 < text.size(), "the pickle calls ", of.name,
                 " with a character that is not in latin1; accepted: U+0000 to U+00FF");
    bytes += static_cast<char>((first & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f));
  }
  return IValue(std::move(bytes));
}

/// Appends the text of a dict's key as Python's str() gives it.
void append_key(const IValue& value, std::string& text, bool is_nested) {
  constexpr size_t kMaxKeyLength = 1000;
  TANDEM_CHECK(text.size() <= kMaxKeyLength, "the pickle has a dict with a tuple key of more than ", kMaxKeyLength,
               " characters, which is the most that is accepted");
  if (value.isNone()) {
    text += "None";
  } else if (value.isBool()) {
    text += value.toBool() ? "True" : "False";
  } else if (value.isInt()) {
    text += std::to_string(value.toInt());
  } else if (value.isDouble()) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value.toDouble()).ptr);
  } else if (value.isString()) {
    text += is_nested ? "'" + value.toStringRef() + "'" : value.toStringRef();
  } else if (value.isDevice()) {
    text += value.toDevice().str();
  } else if (value.isDType()) {
    for (const PickledDType& known : kPickledDTypes)
      if (known.dtype == value.toDType()) text += std::string("torch.") + known.name;
  } else {
    TANDEM_CHECK(value.isTuple(), "the pickle has a dict with ", value.tagKind(),
                 " for a key; accepted: numbers, strings, None, tuples, devices and dtypes");
    text += '(';
    for (size_t i = 0; i < value.elements().size(); ++i) {
      if (i > 0) text += ", ";
      append_key(value.elements()[i], text, /*is_nested=*/true);
    }
    text += value.elements().size() == 1 ? ",)" : ")";
  }
}

}  // namespace

IValue to_dict_key(const IValue& value) {
  if (value.isInt() || value.isString()) return value;
  if (value.isBool()) return IValue(int64_t{value.toBool()});
  if (value.isDouble() && std::abs(value.toDouble()) < 0x1p63 && value.toDouble() == std::trunc(value.toDouble()))
    return IValue(static_cast<int64_t>(value.toDouble()));
  std::string text;
  append_key(value, text, /*is_nested=*/false);
  return IValue(std::move(text));
}
IValue decode_int(const std::string& bytes) {
  const bool negative = !bytes.empty() && static_cast<int8_t>(bytes.back()) < 0;
  const auto digit = [&](size_t i) {
    return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : negative ? 0xffu : 0u;
  };
  size_t size = bytes.size();
  while (size > 8 && digit(size - 1) == (negative ? 0xff : 0) && (digit(size - 2) >> 7 == 1) == negative) --size;
  if (size <= 8) {
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) value |= uint64_t{digit(i)} << (8 * i);
    return IValue(static_cast<int64_t>(value));
  }
  std::vector<unsigned> decimal{0};  // lowest digit first
  for (size_t i = size; i-- > 0;) {
    unsigned carry = negative ? 0xff - digit(i) : digit(i);
    for (unsigned& d : decimal) {
      carry += d * 256;
      d = carry % 10;
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) decimal.push_back(carry % 10);
  }
  if (negative)  // -x is ~x + 1
    for (size_t i = 0; ++decimal[i] == 10; ++i) {
      decimal[i] = 0;
      if (i + 1 == decimal.size()) decimal.push_back(0);
    }
  std::string text = negative ? "-" : "";
  for (size_t i = decimal.size(); i-- > 0;) text += static_cast<char>('0' + decimal[i]);
  return IValue(std::move(text));
}

IValue call_global(const Global& global, const Arguments& given, TensorSource& tensors) {
  switch (global.kind) {
    case Global::ordered_dict:
      return given.empty() ? IValue::ordered_dict() : to_ordered_dict(get_argument(given, 0, global));
    case Global::counter:  // a Counter becomes a dict of counts
      if (given.empty()) return IValue::dict();
      TANDEM_CHECK(get_argument(given, 0, global).isGenericDict(), "the pickle calls ", global.name, " with ",
                   get_argument(given, 0, global).tagKind(), "; accepted: a dict");
      return get_argument(given, 0, global);
    case Global::set:  // a set becomes a list, in the order of the file
      if (given.empty()) return IValue::list({});
      TANDEM_CHECK(get_argument(given, 0, global).isList() || get_argument(given, 0, global).isTuple(),
                   "the pickle calls ", global.name, " with a first argument of type ",
                   get_argument(given, 0, global).tagKind(), "; accepted: a list or a tuple");
      return get_argument(given, 0, global);
    case Global::byte_array:
      if (given.empty()) return IValue("");
      if (given.size() == 1) return IValue(get_argument(given, 0, global).toStringRef());
      return encode_bytes(given, global);
    case Global::encode: return encode_bytes(given, global);
    case Global::complex: {
      const auto part = [&](size_t i) {
        return i < given.size() ? IValue(get_argument(given, i, global).toScalar().to<double>()) : IValue(0.0);
      };
      return IValue::tuple({part(0), part(1)});
    }
    case Global::layout: return IValue(get_argument(given, 0, global).toStringRef());
    case Global::tensor:
    case Global::tensor_v2:
    case Global::tensor_v3: return rebuild_tensor(given, global, tensors);
    case Global::cpu_tensor: {
      const Tensor data = get_argument(given, 0, global).toTensor();
      const IValue& dtype = get_argument(given, 1, global);
      TANDEM_CHECK(dtype.isDType() && dtype.toDType() == data.dtype(), "the pickle calls ", global.name,
                   " with a tensor of ", data.dtype(), " and another dtype; both must be the same");
      return set_requires_grad(core::alias(data), to_requires_grad(get_argument(given, 3, global)));
    }
    case Global::parameter:  // ignores the fourth argument, the parameter's Python attributes
      check_empty(get_argument(given, 2, global), "backward hooks");
      return rebuild_parameter(given, global);
    case Global::parameter_class: return rebuild_parameter(given, global);
    case Global::rebuild_from_type: return rebuild_from_type(given, global, tensors);
    case Global::size:
      TANDEM_CHECK(get_argument(given, 0, global).isTuple(), "the pickle has a torch.Size of ",
                   get_argument(given, 0, global).tagKind(), "; accepted: a tuple");
      return get_argument(given, 0, global);
    case Global::device: return make_device(given, global);
    case Global::list:
    case Global::tagged: return get_argument(given, 0, global);
    case Global::unsupported:
      TANDEM_FAIL("the pickle has a tensor made by ", global.name, ", which is refused; accepted: strided tensors of ",
                  dtype_names());
    case Global::storage:
    case Global::class_name:
    case Global::object: break;
  }
  TANDEM_FAIL("the pickle calls ", global.name, ", which is not a function", kAcceptedPickleContents);
}

StackItem parse_persistent_id(const Arguments& id) {
  const Global of{"a storage", Global::storage};
  const bool known =
      id.size() == 5 && id[0].value() && id[0].value()->isString() && id[0].value()->toStringRef() == "storage";
  const auto* const type = known ? std::get_if<std::shared_ptr<const Global>>(&id[1].content) : nullptr;
  TANDEM_CHECK(!type || (*type)->kind != Global::class_name, "the pickle has a storage of the class ", (*type)->name,
               ", which is refused; accepted: storages of ", dtype_names());
  TANDEM_CHECK(type && (*type)->kind == Global::storage,
               "the pickle refers to an external object that is not a storage", kAcceptedPickleContents);
  PickledStorage storage{get_argument(id, 2, of).toStringRef(), (*type)->dtype, 0};
  TANDEM_CHECK(get_argument(id, 3, of).isString() && get_argument(id, 4, of).isInt(), "the pickle has a storage '",
               storage.key, "' without a location and a size; the file is damaged");
  storage.numel = get_argument(id, 4, of).toInt();
  return {std::make_shared<const PickledStorage>(std::move(storage))};
}

}  // namespace tandem::detail
