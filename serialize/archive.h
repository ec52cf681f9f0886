// OutputArchive and InputArchive, which save and load values by key, as in torch::serialize. See Note [Files of
// archives].
#pragma once
#include <cstddef>
#include <iosfwd>

#include "tandem/autograd/ivalue.h"
#include "tandem/serialize/safetensors.h"

// Note [Files of archives]
//
// Python's torch.save and LibTorch's torch::save write the same zip file of a pickle and storages. They differ in the
// pickle: Python's holds dicts, LibTorch's an object of TorchScript with an attribute for each key. Python's
// torch.load(weights_only=True) can read Tandem's files: an archive becomes a dict, and an archive within it a dict in
// this dict. A module is written as the dict that Python's load_state_dict takes ("fc1.weight"), an optimizer as the
// dict that Python's optimizers take, a tensor as itself, and a vector of tensors as a list. LibTorch cannot read these
// files as archives, but its torch::pickle_load can.
//
// Tandem reads Python's files, LibTorch's archives (whose attributes become the keys) and safetensors. It knows the
// globals that Python's torch.load(weights_only=True) allows. A pickle that names any other function or class is
// refused, and no such function is called.
//
// A path that ends with ".safetensors" is written as safetensors: a dict of tensors, a list of tensors, one tensor, or
// an optimizer. When a file is read, its content determines the format, not its name.

namespace tandem {
namespace serialize {

/// Collects values by key, and writes them to one file, which Python's torch.load(weights_only=True) can read. If the
/// file's name ends with ".safetensors", the file has the format safetensors.
class OutputArchive {
 public:
  OutputArchive() : root_(IValue::dict()) {}
  OutputArchive(OutputArchive&&) = default;
  OutputArchive& operator=(OutputArchive&&) = default;

  /// Adds a value, a tensor, or the present contents of another archive. If is_buffer is true, the tensor is saved
  /// without requires_grad.
  /// @throws Error if the key is already in use
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const OutputArchive& nested);

  /// Writes to a file, to a stream, or by calls of `function`, which must return the number of bytes that it has
  /// written. A file is written under a temporary name, and renamed when it is complete.
  /// @throws Error that names the file and the reason; an existing file of that name then stays as it was
  void save_to(const std::string& filename) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<size_t(const void*, size_t)>& function) const;

  /// Returns the dict of all written values, or the value that replaced the dict, such as a single tensor.
  const IValue& value() const { return root_; }
  /// Replaces all written values by one value.
  void set_value(IValue value) { root_ = std::move(value); }

  /// Calls write(arguments...).
  template <class... Args> void operator()(Args&&... args) { write(std::forward<Args>(args)...); }

 private:
  IValue root_;
};

/// Reads a file that Python's torch.save or LibTorch's torch::save has written, or a safetensors file, and returns its
/// values by key.
class InputArchive {
 public:
  InputArchive() : root_(IValue::dict()) {}
  InputArchive(InputArchive&&) = default;
  InputArchive& operator=(InputArchive&&) = default;

  /// Reads the value under a key. The keys of a list or tuple are the indices of its elements; the key in a file of one
  /// tensor is "0". A tensor that is already defined takes over the elements, shape, dtype and device of the stored
  /// tensor in place, so that all handles to the tensor see the change. If is_buffer is true, the result does not
  /// require a gradient. If an archive is read, keys such as "fc1.weight" count as the key "weight" in an archive
  /// "fc1".
  /// @throws Error that names the file and the key if the key is missing or holds something else
  void read(const std::string& key, IValue& value) const;
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, InputArchive& archive) const;
  /// Reads the value under a key, like read(), but returns false if the key is missing.
  bool try_read(const std::string& key, IValue& value) const;
  /// Reads the tensor under a key, like read(), but returns false if the key is missing.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  /// Reads the archive under a key, like read(), but returns false if the key is missing.
  bool try_read(const std::string& key, InputArchive& archive) const;
  /// Returns the keys in the order of the file.
  std::vector<std::string> keys() const;

  /// Reads a file that torch.save or LibTorch's torch::save has written, a safetensors file, or all files that a
  /// safetensors index (".json") names. Tensors are moved to `device`, by default to the CPU, regardless of the device
  /// from which they were saved.
  /// @throws Error that names the file, what was found in it, and what is accepted
  void load_from(const std::string& filename, std::optional<Device> device = {});
  /// Read the rest of a stream, or `size` bytes of memory, or data by two functions: read_func reads bytes from a
  /// position, and size_func returns the total size.
  void load_from(std::istream& stream, std::optional<Device> device = {});
  void load_from(const char* data, size_t size, std::optional<Device> device = {});
  void load_from(const std::function<size_t(uint64_t position, void* to, size_t bytes)>& read_func,
                 const std::function<size_t()>& size_func, std::optional<Device> device = {});

  /// value() returns everything that was read, name() the name of the source in error messages, and metadata() the
  /// metadata of a safetensors file.
  const IValue& value() const { return root_; }
  const std::string& name() const { return name_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }

  /// Calls read(arguments...).
  template <class... Args> void operator()(Args&&... args) const { read(std::forward<Args>(args)...); }

 private:
  std::optional<IValue> find(const std::string& key) const;
  [[noreturn]] void throw_missing_key(const char* kind, const std::string& key) const;
  IValue root_;
  std::string name_ = "an InputArchive without a loaded file";
  SafetensorsMetadata metadata_;
};

}  // namespace serialize

/// The first operator makes a tensor the only content of the archive. The second reads the tensor of such an archive,
/// the tensor with the key "0", or the only tensor if its key is "tensor".
/// @throws Error for other contents
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Tensor& tensor);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Tensor& tensor);
/// The first operator writes tensors as a list. The second reads a list, or a dict with the keys "0", "1", ... @throws
/// Error for other contents
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::vector<Tensor>& tensors);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, std::vector<Tensor>& tensors);

/// pickle_save() converts a value to the contents of a file as torch.save writes it; pickle_load() converts such
/// contents to a value. @throws Error as archives do
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

namespace detail {
/// Returns the tensors of a dict and of nested dicts; their names are the keys, joined by dots. Values other than
/// tensors, dicts and None are errors, but are skipped in LibTorch's objects or if `skip_others` is true. @throws Error
/// also if the names take too much memory
std::vector<std::pair<std::string, Tensor>> flatten_tensors(const IValue& value, bool skip_others = false);
/// Writes a value as a safetensors file. @throws Error that names the file and the value that safetensors cannot
/// represent
void save_archive_as_safetensors(const IValue& value, const std::string& path);
}  // namespace detail

}  // namespace tandem
