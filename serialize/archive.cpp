// Implements OutputArchive and InputArchive (writing, finding and reading values by key), pickle_save and pickle_load.
#include "tandem/serialize/archive.h"

#include <cstring>
#include <istream>
#include <iterator>
#include <ostream>

#include "tandem/autograd/value_container.h"
#include "tandem/serialize/file_format.h"
#include "tandem/serialize/pytorch_file.h"
#include "tandem/serialize/safetensors_header.h"

namespace tandem {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Reads through the caller's functions.
class CallbackSource : public ByteSource {
 public:
  using Read = std::function<size_t(uint64_t, void*, size_t)>;
  CallbackSource(Read read, uint64_t size) : ByteSource("load: the caller's read function"), read_(std::move(read)) {
    size_ = size;
  }

 private:
  void read_some(uint64_t at, char* to, uint64_t bytes) const override {
    const size_t got = read_(at, to, bytes);
    TANDEM_CHECK(got == bytes, name(), " returned ", got, " of ", bytes, " bytes from position ", at,
                 "; it must return all of them");
  }
  Read read_;
};

Tensor detach_if_buffer(const Tensor& tensor, bool is_buffer) {
  return is_buffer && tensor.defined() && tensor.requires_grad() ? tensor.detach() : tensor;
}

/// Sets `to` to the tensor `from`. If `to` is defined, its TensorImpl is changed in place to the storage, sizes and
/// dtype of `from`, so that all other handles to the same tensor see the change.
void assign_tensor(Tensor& to, const Tensor& from, bool is_buffer) {
  const Tensor read = detach_if_buffer(from, is_buffer);
  if (!to.defined()) {
    to = read;
    return;
  }
  const NoGradGuard guard;
  // Increase the version, so that backward detects the change if an operation has saved the tensor.
  const uint32_t version = to.impl()->version().load(std::memory_order_relaxed) + 1;
  to.impl()->shallow_copy_from(*read.impl());
  to.impl()->version().store(version, std::memory_order_relaxed);
}

/// Reads a source in any of the supported formats, which the content determines.
IValue read_source(const ByteSource& source, Device device, SafetensorsMetadata& metadata) {
  metadata.clear();
  const FileFormat format = format_of(source);
  TANDEM_CHECK(format != FileFormat::unknown, source.name(), ": its ", source.size(),
               " bytes are neither a zip file of torch.save nor safetensors, the accepted formats");
  if (format != FileFormat::safetensors) return read_pytorch_file(source, device);
  IValue out = IValue::dict();
  for (auto& [name, tensor] : read_safetensors(source, &metadata)) out.insert(name, tensor.to(device));
  return out;
}

}  // namespace

namespace serialize {

void OutputArchive::write(const std::string& key, const IValue& value) {
  TANDEM_CHECK(root_.isGenericDict(), "OutputArchive: cannot write '", key,
               "', because the value of the whole archive is already ", root_.tagKind(),
               "; accepted: one value without a key, or values with keys");
  TANDEM_CHECK(!root_.find(key), "OutputArchive: the archive already has a value under '", key, "'; use another key");
  root_.insert(key, value);
}
void OutputArchive::write(const std::string& key, const Tensor& tensor, bool is_buffer) {
  TANDEM_CHECK(tensor.defined(), "OutputArchive: the tensor for '", key, "' is undefined; accepted: a defined tensor");
  write(key, IValue(detach_if_buffer(tensor, is_buffer)));
}
void OutputArchive::write(const std::string& key, const OutputArchive& nested) { write(key, nested.root_); }

void OutputArchive::save_to(const std::string& filename) const {
  if (ends_with(filename, ".safetensors")) return save_archive_as_safetensors(root_, filename);
  FileSink file("save", filename);
  with_error_context(
      filename, [&] { write_pytorch_file(root_, [&](const void* from, uint64_t bytes) { file.write(from, bytes); }); });
  file.commit();
}
void OutputArchive::save_to(std::ostream& stream) const {
  write_pytorch_file(root_, [&](const void* from, uint64_t bytes) {
    stream.write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
    TANDEM_CHECK(stream, "save: writing ", bytes,
                 " bytes to the given stream failed; check that it is open and that its disk has space");
  });
  TANDEM_CHECK(stream.flush(), "save: the given stream could not be flushed; check that its disk has space");
}
void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& function) const {
  write_pytorch_file(root_, [&](const void* from, uint64_t bytes) {
    const size_t taken = function(from, bytes);
    TANDEM_CHECK(taken == bytes, "save: the caller's write function wrote ", taken, " of ", bytes,
                 " bytes; it must write all of them");
  });
}

std::optional<IValue> InputArchive::find(const std::string& key) const {
  if (root_.isTensor() && key == "0") return root_;
  const bool number = !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos;
  if (root_.isList() || root_.isTuple()) {
    const size_t i = number ? std::stoul(key) : root_.elements().size();
    return i < root_.elements().size() ? std::optional(root_.elements()[i]) : std::nullopt;
  }
  if (!root_.isGenericDict()) return {};
  const IValue* found = root_.find(key);
  if (!found && number) found = root_.find(IValue(std::stoll(key)));
  return found ? std::optional(*found) : std::nullopt;
}
void InputArchive::throw_missing_key(const char* kind, const std::string& key) const {
  std::string known_keys;
  const std::vector<std::string> all = keys();
  for (size_t i = 0; i < all.size() && i < 8; ++i) known_keys += (i ? ", '" : "'") + all[i] + "'";
  TANDEM_FAIL(name_, ": No such serialized ", kind, " '", key, "'; the archive has ", all.size(), " keys",
              all.empty() ? "" : ": ", known_keys, all.size() > 8 ? ", ..." : "");
}
bool InputArchive::try_read(const std::string& key, IValue& value) const {
  std::optional<IValue> found = find(key);
  if (found) value = std::move(*found);
  return found.has_value();
}
bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  const std::optional<IValue> found = find(key);
  if (!found) return false;
  TANDEM_CHECK(found->isTensor(), name_, ": '", key, "' is ", found->tagKind(), "; accepted: a Tensor");
  assign_tensor(tensor, found->toTensor(), is_buffer);
  return true;
}
bool InputArchive::try_read(const std::string& key, InputArchive& archive) const {
  std::optional<IValue> found = find(key);
  if (!found && root_.isGenericDict()) {
    IValue inner = IValue::dict();
    const std::string prefix = key + ".";
    for (const IValue::Entry& entry : root_.entries())
      if (entry.key().isString() && entry.key().toStringRef().rfind(prefix, 0) == 0)
        inner.insert(entry.key().toStringRef().substr(prefix.size()), entry.value());
    if (!inner.entries().empty()) found = inner;
  }
  if (!found) return false;
  TANDEM_CHECK(ValueContainer::of(*found), name_, ": '", key, "' is ", found->tagKind(),
               "; accepted: a dict, a list or a tuple");
  archive.root_ = std::move(*found);
  archive.name_ = name_ + ", under '" + key + "'";
  archive.metadata_.clear();
  return true;
}
void InputArchive::read(const std::string& key, IValue& value) const {
  if (!try_read(key, value)) throw_missing_key("value", key);
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  if (!try_read(key, tensor, is_buffer)) throw_missing_key("tensor", key);
}
void InputArchive::read(const std::string& key, InputArchive& archive) const {
  if (!try_read(key, archive)) throw_missing_key("submodule:", key);
}
std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out;
  if (root_.isTensor()) return {"0"};
  if (root_.isList() || root_.isTuple())
    for (size_t i = 0; i < root_.elements().size(); ++i) out.push_back(std::to_string(i));
  else if (root_.isGenericDict())
    for (const IValue::Entry& entry : root_.entries())
      out.push_back(entry.key().isInt() ? std::to_string(entry.key().toInt()) : entry.key().toStringRef());
  return out;
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  if (ends_with(filename, ".json")) {
    root_ = IValue::dict();
    for (auto& [name, tensor] : load_safetensors(filename, &metadata_))
      root_.insert(name, tensor.to(device.value_or(kCPU)));
    name_ = filename;
    return;
  }
  const FileSource file("load", filename);
  root_ = read_source(file, device.value_or(kCPU), metadata_);
  name_ = filename;
}
void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  const MemorySource memory("load: the stream", bytes.data(), bytes.size());
  root_ = read_source(memory, device.value_or(kCPU), metadata_);
  name_ = memory.name();
}
void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  const MemorySource memory("load: the memory given", data, size);
  root_ = read_source(memory, device.value_or(kCPU), metadata_);
  name_ = memory.name();
}
void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read_func,
                             const std::function<size_t()>& size_func, std::optional<Device> device) {
  const CallbackSource source(read_func, size_func());
  root_ = read_source(source, device.value_or(kCPU), metadata_);
  name_ = source.name();
}

}  // namespace serialize

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Tensor& tensor) {
  TANDEM_CHECK(tensor.defined(), "save: the tensor is undefined; accepted: a defined tensor");
  archive.set_value(tensor);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Tensor& tensor) {
  if (archive.try_read("0", tensor)) return archive;
  const std::vector<std::string> keys = archive.keys();
  TANDEM_CHECK(keys == std::vector<std::string>{"tensor"}, archive.name(), " holds ", keys.size(),
               " tensors; accepted: one, alone or named '0' or 'tensor'");
  archive.read("tensor", tensor);
  return archive;
}
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::vector<Tensor>& tensors) {
  archive.set_value(IValue(tensors));
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, std::vector<Tensor>& tensors) {
  const std::vector<std::string> keys = archive.keys();
  std::vector<Tensor> out(keys.size());
  for (size_t i = 0; i < out.size(); ++i)
    TANDEM_CHECK(archive.try_read(std::to_string(i), out[i]), "load: ", archive.name(), " has no tensor '", i,
                 "' among its ", out.size(), "; the tensors of a list are named '0', '1', ...");
  tensors = std::move(out);
  return archive;
}

std::vector<char> pickle_save(const IValue& value) {
  std::vector<char> out;
  write_pytorch_file(value, [&](const void* from, uint64_t bytes) {
    const char* const data = static_cast<const char*>(from);
    out.insert(out.end(), data, data + bytes);
  });
  return out;
}
IValue pickle_load(const std::vector<char>& data) {
  return read_pytorch_file(MemorySource("pickle_load: the memory given", data.data(), data.size()), kCPU);
}

}  // namespace tandem
