// OutputArchive and InputArchive: values under keys, as torch::serialize has them. See Note [Files of archives].
#pragma once
#include <cstddef>
#include <iosfwd>

#include "tandem/autograd/ivalue.h"
#include "tandem/serialize/safetensors.h"

// Note [Files of archives]
//
// Python's torch.save and LibTorch's torch::save write the same zip file of a pickle and storages. They differ in the
// pickle: Python's holds dicts, LibTorch's an object of TorchScript, with an attribute for each key. Tandem's files
// can be read by Python's torch.load(weights_only=True): an archive becomes a dict, an archive within it a dict in this
// dict. A module writes the dict that Python's load_state_dict takes ("fc1.weight"), an optimizer the dict that
// Python's optimizers take, a tensor itself, and a vector of tensors a list. LibTorch does not read these as archives;
// its torch::pickle_load does.
//
// Tandem reads Python's files, LibTorch's archives (whose attributes become the keys) and safetensors. It knows the
// globals that Python's torch.load(weights_only=True) allows. A pickle that names any other function or class is
// refused, and none is called.
//
// A path that ends with ".safetensors" is written as safetensors: a dict of tensors, a list of them, one tensor, or an
// optimizer. Reading goes by the content, not by the name.

namespace tandem {
namespace serialize {

/// Collects values under keys and writes them as one file, which Python's torch.load(weights_only=True) reads; or as
/// safetensors where the file's name says so.
class OutputArchive {
 public:
  OutputArchive() : root_(IValue::dict()) {}
  OutputArchive(OutputArchive&&) = default;
  OutputArchive& operator=(OutputArchive&&) = default;

  /// Keeps a value, a tensor (as a buffer: without its requires_grad) or what another archive holds so far.
  /// @throws Error when there is something under this key already
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const OutputArchive& nested);

  /// Writes a file beside `filename` and puts it in place when it is complete; or into a stream; or by calls of
  /// `function`, which returns how many bytes it took.
  /// @throws Error naming the file and the reason; then a file of that name is what it was
  void save_to(const std::string& filename) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<size_t(const void*, size_t)>& function) const;

  /// The dict of what was written; or a value that takes the place of the dict, as a lone tensor does.
  const IValue& value() const { return root_; }
  /// Takes the place of all that was written.
  void set_value(IValue value) { root_ = std::move(value); }

  /// write(arguments...).
  template <class... Args> void operator()(Args&&... args) { write(std::forward<Args>(args)...); }

 private:
  IValue root_;
};

/// Reads a file of torch.save, of LibTorch's torch::save, or safetensors, and gives its values by key.
class InputArchive {
 public:
  InputArchive() : root_(IValue::dict()) {}
  InputArchive(InputArchive&&) = default;
  InputArchive& operator=(InputArchive&&) = default;

  /// What lies under a key: in a dict its value, in a list or tuple the element of that number, in a file of one tensor
  /// that tensor under "0". A tensor that is defined already gets the other's elements, shape, dtype and device in
  /// place, so that all handles on it see them; as a buffer it comes without requires_grad. For an archive, keys such
  /// as "fc1.weight" count as "weight" in an archive "fc1".
  /// @throws Error naming the file and the key when it is missing or something else; try_read gives false when missing
  void read(const std::string& key, IValue& value) const;
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, InputArchive& archive) const;
  /// As read(), but false when there is nothing under the key.
  bool try_read(const std::string& key, IValue& value) const;
  /// As read(), but false when there is nothing under the key.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  /// As read(), but false when there is nothing under the key.
  bool try_read(const std::string& key, InputArchive& archive) const;
  /// The keys of what was read, in its order.
  std::vector<std::string> keys() const;

  /// Reads a file of torch.save, LibTorch's torch::save, or safetensors, or the files that an index of safetensors
  /// names
  /// (".json"). Tensors come to `device`, or, without one, to the CPU, wherever they were when they were saved.
  /// @throws Error naming the file, what was found in it, and what is accepted
  void load_from(const std::string& filename, std::optional<Device> device = {});
  /// The same of what is left of a stream; of memory; and through functions that read at a place and say the size.
  void load_from(std::istream& stream, std::optional<Device> device = {});
  void load_from(const char* data, size_t size, std::optional<Device> device = {});
  void load_from(const std::function<size_t(uint64_t position, void* to, size_t bytes)>& read_func,
                 const std::function<size_t()>& size_func, std::optional<Device> device = {});

  /// All that was read; what errors call it; and the metadata of a safetensors file.
  const IValue& value() const { return root_; }
  const std::string& name() const { return name_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }

  /// read(arguments...).
  template <class... Args> void operator()(Args&&... args) const { read(std::forward<Args>(args)...); }

 private:
  std::optional<IValue> find(const std::string& key) const;
  [[noreturn]] void missing(const std::string& key) const;
  IValue root_;
  std::string name_ = "an archive that nothing was read into";
  SafetensorsMetadata metadata_;
};

}  // namespace serialize

/// A tensor in the place of the archive's dict; back from there, from "0", or from "tensor". @throws Error for others
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Tensor& tensor);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Tensor& tensor);
/// Tensors as a list; back from a list, or from a dict with the keys "0", "1", ... @throws Error for others
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::vector<Tensor>& tensors);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, std::vector<Tensor>& tensors);

/// A value as the bytes of a file of torch.save, and back. @throws Error as archives do
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

namespace detail {
/// Tensors of a dict and of the dicts within it, under names joined by dots; what is no tensor is left out of
/// LibTorch's objects, and with `skip_others` everywhere; an error without. @throws Error for names that take more than
/// memory should be spent on
std::vector<std::pair<std::string, Tensor>> flat_tensors(const IValue& value, bool skip_others = false);
/// Writes as safetensors what can be. @throws Error naming the file and what cannot
void save_archive_as_safetensors(const IValue& value, const std::string& path);
}  // namespace detail

}  // namespace tandem
