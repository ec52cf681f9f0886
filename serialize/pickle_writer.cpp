// Implements write_pickle, which writes values as opcodes of protocol 2, and each shared value once.
#include "tandem/serialize/pickle_writer.h"

#include <cstring>
#include <unordered_map>

#include "tandem/serialize/pickle_reader.h"

namespace tandem::detail {
namespace {

using Kind = ValueContainer::Kind;

const PickledDType& find_pickled_dtype(DType dtype) {
  for (const PickledDType& known : kPickledDTypes)
    if (known.dtype == dtype) return known;
  TANDEM_FAIL("save: PyTorch's files cannot hold tensors of ", dtype, "; convert the tensor to another dtype");
}

/// Returns whether Python can decode `text` by the codec "utf-8" with the error handler "surrogatepass".
bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i++]);
    const int more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : -1;
    if (more < 0 || text.size() - i < static_cast<size_t>(more)) return false;
    for (int k = 0; k < more; ++k, ++i) {
      const auto next = static_cast<uint8_t>(text[i]);
      const uint8_t least = k > 0 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
      const uint8_t most = k == 0 && first == 0xf4 ? 0x8f : 0xbf;
      if (next < least || next > most) return false;
    }
  }
  return true;
}

class PickleWriter {
 public:
  Pickle write_pickle(const IValue& value) && {
    out_.text = "\x80\x02";
    write_value(value);
    out_.text += '.';
    return std::move(out_);
  }

 private:
  void write_little_endian(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.text += static_cast<char>(value >> (8 * i));
  }
  void write_opcode(char code) { out_.text += code; }
  /// If a value with this key (name or address) was already written, writes a reference to it and returns true.
  /// Otherwise returns false.
  template <class Key> bool write_memo_reference(const std::unordered_map<Key, uint32_t>& memo, const Key& key) {
    const auto at = memo.find(key);
    if (at == memo.end()) return false;
    write_opcode(at->second < 256 ? 'h' : 'j');
    write_little_endian(at->second, at->second < 256 ? 1 : 4);
    return true;
  }
  template <class Key> void memoize(std::unordered_map<Key, uint32_t>& memo, const Key& key) {
    const uint32_t memo_index = num_memoized_++;
    write_opcode(memo_index < 256 ? 'q' : 'r');
    write_little_endian(memo_index, memo_index < 256 ? 1 : 4);
    memo[key] = memo_index;
  }
  void write_int(int64_t value) {
    if (0 <= value && value < 256) {
      write_opcode('K');
      write_little_endian(static_cast<uint64_t>(value), 1);
    } else if (INT32_MIN <= value && value <= INT32_MAX) {
      write_opcode('J');
      write_little_endian(static_cast<uint64_t>(value), 4);
    } else {
      out_.text += "\x8a\x08";
      write_little_endian(static_cast<uint64_t>(value), 8);
    }
  }
  void write_string(const std::string& text) {
    TANDEM_CHECK(text.size() <= UINT32_MAX, "save: a string has ", text.size(), " bytes; accepted: less than 4 GiB");
    write_opcode('X');
    write_little_endian(text.size(), 4);
    out_.text += text;
  }
  /// Writes a string. A string that is not UTF-8 is written as bytes, in the way in which Python writes bytes in
  /// protocol 2.
  void write_string_or_bytes(const std::string& text) {
    if (is_utf8(text)) return write_string(text);
    write_global("_codecs", "encode");
    std::string characters;
    for (const char byte : text) {
      const auto b = static_cast<uint8_t>(byte);
      if (b >= 0x80) characters += static_cast<char>(0xc0 | b >> 6);
      characters += static_cast<char>(b >= 0x80 ? 0x80 | (b & 0x3f) : b);
    }
    write_string(characters);
    write_string("latin1");
    out_.text += "\x86R";
  }
  void write_name(const std::string& text) {
    if (write_memo_reference(name_memo_, text)) return;
    write_string(text);
    memoize(name_memo_, text);
  }
  void write_global(const std::string& module, const std::string& name) {
    const std::string text = "c" + module + "\n" + name + "\n";
    if (write_memo_reference(name_memo_, text)) return;
    out_.text += text;
    memoize(name_memo_, text);
  }
  void write_sizes(IntArrayRef list) {
    write_opcode('(');
    for (const int64_t size : list) write_int(size);
    write_opcode('t');
  }

  void write_tensor(const Tensor& x) {
    TANDEM_CHECK(x.defined(), "save: a tensor is undefined; accepted: defined tensors and None");
    if (write_memo_reference(object_memo_, static_cast<const void*>(x.impl()))) return;
    const PickledDType& dtype = find_pickled_dtype(x.dtype());
    const StorageImpl* const storage = x.storage().get();
    const auto [known, is_new] = storage_indices_.emplace(storage, std::pair(out_.storages.size(), x.dtype()));
    if (is_new) out_.storages.push_back(x.storage());
    TANDEM_CHECK(known->second.second == x.dtype(), "save: tensors of ", known->second.second, " and ", x.dtype(),
                 " share a storage; accepted: one dtype for each storage");
    write_global("torch._utils", "_rebuild_tensor_v2");
    write_opcode('(');
    write_opcode('(');
    write_name("storage");
    write_global("torch", dtype.storage_class);
    write_string(std::to_string(known->second.first));
    write_name(x.is_cpu() ? "cpu" : x.device().str());  // PyTorch has no virtual CPU devices
    write_int(storage->bytes / x.itemsize());
    write_opcode('t');
    write_opcode('Q');
    write_int(x.storage_offset());
    write_sizes(x.sizes());
    write_sizes(x.strides());
    out_.text += x.requires_grad() ? '\x88' : '\x89';
    write_global("collections", "OrderedDict");
    out_.text += ")RtR";
    memoize(object_memo_, static_cast<const void*>(x.impl()));
  }
  void write_container(const IValue& value, const ValueContainer& held) {
    const void* const address = &held;
    if (write_memo_reference(object_memo_, address)) return;
    if (held.kind == Kind::tuple) {
      write_opcode('(');
      for (const IValue& element : held.elements) write_value(element);
      write_opcode('t');
      memoize(object_memo_, address);
    } else if (held.kind == Kind::list) {
      write_opcode(']');
      memoize(object_memo_, address);
      write_opcode('(');
      for (const IValue& element : held.elements) write_value(element);
      write_opcode('e');
    } else {
      if (value.isOrderedDict()) {
        write_global("collections", "OrderedDict");
        out_.text += ")R";
      } else
        write_opcode('}');
      memoize(object_memo_, address);
      write_opcode('(');
      for (const DictEntry& entry : held.entries) {
        write_value(entry.key());
        write_value(entry.value());
      }
      write_opcode('u');
    }
  }
  void write_value(const IValue& value) {
    if (const ValueContainer* const held = ValueContainer::of(value)) return write_container(value, *held);
    if (value.isNone()) return write_opcode('N');
    if (value.isBool()) return write_opcode(value.toBool() ? '\x88' : '\x89');
    if (value.isInt()) return write_int(value.toInt());
    if (value.isString()) return write_string_or_bytes(value.toStringRef());
    if (value.isTensor()) return write_tensor(value.toTensor());
    if (value.isDType()) return write_global("torch", find_pickled_dtype(value.toDType()).name);
    if (value.isDevice()) {
      const Device device = value.toDevice();
      write_global("torch", "device");
      write_string(device.is_cpu() ? "cpu" : "cuda");
      if (!device.is_cpu()) write_int(device.index());
      write_opcode(device.is_cpu() ? '\x85' : '\x86');
      return write_opcode('R');
    }
    const double number = value.toDouble();
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    write_opcode('G');
    for (int shift = 56; shift >= 0; shift -= 8) out_.text += static_cast<char>(bits >> shift);
  }

  Pickle out_;
  uint32_t num_memoized_ = 0;
  std::unordered_map<std::string, uint32_t> name_memo_;
  std::unordered_map<const void*, uint32_t> object_memo_;
  std::unordered_map<const StorageImpl*, std::pair<size_t, DType>> storage_indices_;
};

}  // namespace

Pickle write_pickle(const IValue& value) { return PickleWriter().write_pickle(value); }

}  // namespace tandem::detail
