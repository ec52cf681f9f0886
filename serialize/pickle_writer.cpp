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
  Pickle run(const IValue& value) && {
    out_.text = "\x80\x02";
    write(value);
    out_.text += '.';
    return std::move(out_);
  }

 private:
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.text += static_cast<char>(value >> (8 * i));
  }
  void op(char code) { out_.text += code; }
  /// If a value with this key (name or address) was already written, writes a reference to it and returns true.
  /// Otherwise returns false.
  template <class Key> bool write_memo_reference(const std::unordered_map<Key, uint32_t>& memo, const Key& key) {
    const auto at = memo.find(key);
    if (at == memo.end()) return false;
    op(at->second < 256 ? 'h' : 'j');
    number(at->second, at->second < 256 ? 1 : 4);
    return true;
  }
  template <class Key> void memoize(std::unordered_map<Key, uint32_t>& memo, const Key& key) {
    const uint32_t memo_index = count_++;
    op(memo_index < 256 ? 'q' : 'r');
    number(memo_index, memo_index < 256 ? 1 : 4);
    memo[key] = memo_index;
  }
  void integer(int64_t value) {
    if (0 <= value && value < 256) {
      op('K');
      number(static_cast<uint64_t>(value), 1);
    } else if (INT32_MIN <= value && value <= INT32_MAX) {
      op('J');
      number(static_cast<uint64_t>(value), 4);
    } else {
      out_.text += "\x8a\x08";
      number(static_cast<uint64_t>(value), 8);
    }
  }
  void string(const std::string& text) {
    TANDEM_CHECK(text.size() <= UINT32_MAX, "save: a string has ", text.size(), " bytes; accepted: less than 4 GiB");
    op('X');
    number(text.size(), 4);
    out_.text += text;
  }
  /// Writes a string. A string that is not UTF-8 is written as bytes, in the way in which Python writes bytes in
  /// protocol 2.
  void string_or_bytes(const std::string& text) {
    if (is_utf8(text)) return string(text);
    global("_codecs", "encode");
    std::string characters;
    for (const char byte : text) {
      const auto b = static_cast<uint8_t>(byte);
      if (b >= 0x80) characters += static_cast<char>(0xc0 | b >> 6);
      characters += static_cast<char>(b >= 0x80 ? 0x80 | (b & 0x3f) : b);
    }
    string(characters);
    string("latin1");
    out_.text += "\x86R";
  }
  void name(const std::string& text) {
    if (write_memo_reference(names_, text)) return;
    string(text);
    memoize(names_, text);
  }
  void global(const std::string& module, const std::string& name) {
    const std::string text = "c" + module + "\n" + name + "\n";
    if (write_memo_reference(names_, text)) return;
    out_.text += text;
    memoize(names_, text);
  }
  void sizes(IntArrayRef list) {
    op('(');
    for (const int64_t size : list) integer(size);
    op('t');
  }

  void tensor(const Tensor& x) {
    TANDEM_CHECK(x.defined(), "save: a tensor is undefined; accepted: defined tensors and None");
    if (write_memo_reference(memo_, static_cast<const void*>(x.impl()))) return;
    const PickledDType& dtype = find_pickled_dtype(x.dtype());
    const StorageImpl* const storage = x.storage().get();
    const auto [known, is_new] = storages_.emplace(storage, std::pair(out_.storages.size(), x.dtype()));
    if (is_new) out_.storages.push_back(x.storage());
    TANDEM_CHECK(known->second.second == x.dtype(), "save: tensors of ", known->second.second, " and ", x.dtype(),
                 " share a storage; accepted: one dtype for each storage");
    global("torch._utils", "_rebuild_tensor_v2");
    op('(');
    op('(');
    name("storage");
    global("torch", dtype.storage);
    string(std::to_string(known->second.first));
    name(x.is_cpu() ? "cpu" : x.device().str());  // PyTorch has no virtual CPU devices
    integer(storage->bytes / x.itemsize());
    op('t');
    op('Q');
    integer(x.storage_offset());
    sizes(x.sizes());
    sizes(x.strides());
    out_.text += x.requires_grad() ? '\x88' : '\x89';
    global("collections", "OrderedDict");
    out_.text += ")RtR";
    memoize(memo_, static_cast<const void*>(x.impl()));
  }
  void container(const IValue& value, const ValueContainer& held) {
    const void* const address = &held;
    if (write_memo_reference(memo_, address)) return;
    if (held.kind == Kind::tuple) {
      op('(');
      for (const IValue& element : held.elements) write(element);
      op('t');
      memoize(memo_, address);
    } else if (held.kind == Kind::list) {
      op(']');
      memoize(memo_, address);
      op('(');
      for (const IValue& element : held.elements) write(element);
      op('e');
    } else {
      if (value.isOrderedDict()) {
        global("collections", "OrderedDict");
        out_.text += ")R";
      } else
        op('}');
      memoize(memo_, address);
      op('(');
      for (const ValueEntry& entry : held.entries) {
        write(entry.key());
        write(entry.value());
      }
      op('u');
    }
  }
  void write(const IValue& value) {
    if (const ValueContainer* const held = ValueContainer::of(value)) return container(value, *held);
    if (value.isNone()) return op('N');
    if (value.isBool()) return op(value.toBool() ? '\x88' : '\x89');
    if (value.isInt()) return integer(value.toInt());
    if (value.isString()) return string_or_bytes(value.toStringRef());
    if (value.isTensor()) return tensor(value.toTensor());
    if (value.isDType()) return global("torch", find_pickled_dtype(value.toDType()).name);
    if (value.isDevice()) {
      const Device device = value.toDevice();
      global("torch", "device");
      string(device.is_cpu() ? "cpu" : "cuda");
      if (!device.is_cpu()) integer(device.index());
      op(device.is_cpu() ? '\x85' : '\x86');
      return op('R');
    }
    const double number = value.toDouble();
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    op('G');
    for (int shift = 56; shift >= 0; shift -= 8) out_.text += static_cast<char>(bits >> shift);
  }

  Pickle out_;
  uint32_t count_ = 0;
  std::unordered_map<std::string, uint32_t> names_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<const StorageImpl*, std::pair<size_t, DType>> storages_;
};

}  // namespace

Pickle write_pickle(const IValue& value) { return PickleWriter().run(value); }

}  // namespace tandem::detail
