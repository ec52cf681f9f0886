// OutputArchive and InputArchive: values under keys, as in torch::serialize. See Note [Files of archives].
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

/// Collects values under keys, and writes them as one file, which Python's torch.load(weights_only=True) can read. If
/// the file's name ends with ".safetensors", writes safetensors.
class OutputArchive {
 public:
  OutputArchive() : root_(IValue::dict()) {}
  OutputArchive(OutputArchive&&) = default;
  OutputArchive& operator=(OutputArchive&&) = default;

  /// Adds a value, a tensor (with is_buffer: without its requires_grad), or the present contents of another archive.
  /// @throws Error if the key is already in use
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const OutputArchive& nested);

  /// Writes to a file, to a stream, or by calls of `function`, which returns the number of bytes that it took. A file
  /// is written under a temporary name, and renamed when it is complete.
  /// @throws Error that names the file and the reason; an existing file of that name then stays as it was
  void save_to(const std::string& filename) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<size_t(const void*, size_t)>& function) const;

  /// Returns the dict of all values that were written, or the value that replaced the dict, such as a single tensor.
  const IValue& value() const { return root_; }
  /// Replaces everything that was written.
  void set_value(IValue value) { root_ = std::move(value); }

  /// Calls write(arguments...).
  template <class... Args> void operator()(Args&&... args) { write(std::forward<Args>(args)...); }

 private:
  IValue root_;
};

/// Reads a file of Python's torch.save, of LibTorch's torch::save, or safetensors, and returns its values by key.
class InputArchive {
 public:
  InputArchive() : root_(IValue::dict()) {}
  InputArchive(InputArchive&&) = default;
  InputArchive& operator=(InputArchive&&) = default;

  /// Reads the value under a key. In a list or tuple the key is an element's number; in a file of one tensor it is "0".
  /// A tensor that is already defined takes over the elements, shape, dtype and device of the stored tensor in place,
  /// so that all handles to it see them. With is_buffer, the result does not require a gradient. For an archive, keys
  /// such as "fc1.weight" count as "weight" in an archive "fc1".
  /// @throws Error that names the file and the key if the key is missing or holds something else
  void read(const std::string& key, IValue& value) const;
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, InputArchive& archive) const;
  /// As read(), but returns false if there is nothing under the key.
  bool try_read(const std::string& key, IValue& value) const;
  /// As read(), but returns false if there is nothing under the key.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  /// As read(), but returns false if there is nothing under the key.
  bool try_read(const std::string& key, InputArchive& archive) const;
  /// Returns the keys in the order of the file.
  std::vector<std::string> keys() const;

  /// Reads a file of torch.save, LibTorch's torch::save, or safetensors, or all the files that an index of safetensors
  /// (".json") names. Tensors are moved to `device`, by default to the CPU, whatever device they were saved on.
  /// @throws Error that names the file, what was found in it, and what is accepted
  void load_from(const std::string& filename, std::optional<Device> device = {});
  /// Read the rest of a stream; memory; or data through functions that read at a position and return the size.
  void load_from(std::istream& stream, std::optional<Device> device = {});
  void load_from(const char* data, size_t size, std::optional<Device> device = {});
  void load_from(const std::function<size_t(uint64_t position, void* to, size_t bytes)>& read_func,
                 const std::function<size_t()>& size_func, std::optional<Device> device = {});

  /// Return everything that was read; the source's name in error messages; and the metadata of a safetensors file.
  const IValue& value() const { return root_; }
  const std::string& name() const { return name_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }

  /// Calls read(arguments...).
  template <class... Args> void operator()(Args&&... args) const { read(std::forward<Args>(args)...); }

 private:
  std::optional<IValue> find(const std::string& key) const;
  [[noreturn]] void missing(const std::string& key) const;
  IValue root_;
  std::string name_ = "an archive that nothing was read into";
  SafetensorsMetadata metadata_;
};

}  // namespace serialize

/// Writes a tensor in place of the archive's dict; reads a lone tensor, or the tensor under "0" or "tensor".
/// @throws Error for other contents
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Tensor& tensor);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Tensor& tensor);
/// Writes tensors as a list; reads a list, or a dict with the keys "0", "1", ... @throws Error for other contents
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::vector<Tensor>& tensors);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, std::vector<Tensor>& tensors);

/// Converts a value to the bytes of a file of torch.save, and back. @throws Error as archives do
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

namespace detail {
/// Returns the tensors of a dict and of the dicts within it, under names joined by dots. Other values (except None) are
/// errors. They are skipped in LibTorch's objects and, if `skip_others`, everywhere. @throws Error also if the names
/// take too much memory
std::vector<std::pair<std::string, Tensor>> flat_tensors(const IValue& value, bool skip_others = false);
/// Writes a value as safetensors. @throws Error that names the file and the part that safetensors cannot hold
void save_archive_as_safetensors(const IValue& value, const std::string& path);
}  // namespace detail

}  // namespace tandem
