// Implements read_pytorch_file and write_pytorch_file, which read and write the zip file that contains the pickle.
#include "tandem/serialize/pytorch_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "tandem/serialize/file_format.h"
#include "tandem/serialize/pickle_reader.h"
#include "tandem/serialize/pickle_writer.h"

namespace tandem::detail {
namespace {

constexpr char kPickleSuffix[] = "/data.pkl";

/// Reads the storages of a file, each one when the first tensor needs it.
class StorageReader : public TensorSource {
 public:
  StorageReader(const ZipReader& zip, std::string folder, Device device)
      : zip_(zip), folder_(std::move(folder)), device_(device) {
    const std::string name = folder_ + "/byteorder";  // older files lack this entry; they are little-endian
    const auto found = zip_.entries().find(name);
    if (found == zip_.entries().end()) return;
    TANDEM_CHECK(found->second.size <= 16, "the entry for its byte order has ", found->second.size,
                 " bytes; accepted: up to 16 ('little' or 'big')");
    const std::string order = zip_.read_text(name, found->second);
    TANDEM_CHECK(order == "little" || order == "big", "its byte order is '", order, "'; accepted: little and big");
    is_byte_swapped_ = (order == "big") != (std::endian::native == std::endian::big);
  }

  Tensor make_tensor(const PickledStorage& storage, DType dtype, int64_t offset, IntArrayRef sizes,
                     IntArrayRef strides) override {
    LoadedStorage& loaded = find_or_load(storage, dtype);
    const int64_t numel = loaded.storage->bytes / element_size(dtype);
    TANDEM_CHECK(0 <= offset && offset <= numel, "a tensor of storage '", storage.key, "' begins at element ", offset,
                 " of ", numel, ", which is outside the storage; the file is damaged");
    const Tensor all(IntrusivePtr<TensorImpl>(new TensorImpl(loaded.storage, Shape{numel}, 0, dtype)));
    return core::as_strided(all, sizes, strides, offset);
  }

 private:
  struct LoadedStorage {
    Storage storage;
    DType dtype;
  };
  LoadedStorage& find_or_load(const PickledStorage& wanted, DType dtype) {
    const std::string name = folder_ + "/data/" + wanted.key;
    const auto entry = zip_.entries().find(name);
    TANDEM_CHECK(entry != zip_.entries().end(), "the file has no entry '", name,
                 "' for a storage that its pickle names; the file is damaged");
    const uint64_t bytes = entry->second.size;
    const auto width = static_cast<uint64_t>(wanted.dtype ? element_size(*wanted.dtype) : 1);
    TANDEM_CHECK(wanted.numel >= 0 && static_cast<uint64_t>(wanted.numel) == bytes / width && bytes % width == 0,
                 "storage '", wanted.key, "' declares ", wanted.numel, " elements of ", width,
                 " bytes, but its entry has ", bytes, " bytes; the file is damaged");
    const auto [at, is_new] = storages_.try_emplace(wanted.key);
    if (is_new) at->second = load_storage(name, entry->second, dtype);
    TANDEM_CHECK(at->second.dtype == dtype, "storage '", wanted.key, "' is used as ", at->second.dtype, " and as ",
                 dtype, "; accepted: one dtype for each storage");
    return at->second;
  }
  LoadedStorage load_storage(const std::string& name, const ZipReader::Entry& entry, DType dtype) const {
    const auto width = static_cast<size_t>(element_size(dtype));
    Storage host(new StorageImpl(kCPU, static_cast<int64_t>(entry.size)));
    zip_.read_entry(name, entry, host->data);
    if (is_byte_swapped_ && width > 1)
      for (char* at = host->data; at + width <= host->data + entry.size; at += width) std::reverse(at, at + width);
    if (dtype == kBool)
      for (uint64_t i = 0; i < entry.size; ++i)
        TANDEM_CHECK(static_cast<uint8_t>(host->data[i]) <= 1, "bool ", i, " of '", name, "' is ",
                     int{static_cast<uint8_t>(host->data[i])}, "; accepted: 0 and 1");
    if (device_ == Device(kCPU)) return {std::move(host), dtype};
    const Tensor bytes(IntrusivePtr<TensorImpl>(new TensorImpl(host, Shape{host->bytes}, 0, kUInt8)));
    return {bytes.to(device_).storage(), dtype};
  }

  const ZipReader& zip_;
  const std::string folder_;
  const Device device_;
  bool is_byte_swapped_ = false;
  std::unordered_map<std::string, LoadedStorage> storages_;
};

void check_is_zip(const ByteSource& source) {
  const FileFormat format = format_of(source);
  TANDEM_CHECK(format != FileFormat::legacy, source.name(),
               ": this is the format that torch.save wrote before PyTorch 1.6 (or without "
               "_use_new_zipfile_serialization); accepted: its zip format. In Python, torch.save(torch.load(path), "
               "path) writes such a file");
  TANDEM_CHECK(format != FileFormat::pickle, source.name(),
               ": this is a bare pickle; accepted: the zip format, as Python's torch.save writes");
}

/// Calls f and returns its result. If f throws an Error that does not mention the file format, appends the format to
/// the message.
template <class F> IValue with_zip_error_context(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.find("zip") != std::string::npos || what.find("torch.save") != std::string::npos) throw;
    throw Error(what + " (in a zip file of torch.save)");
  }
}

IValue read_zip(const ByteSource& source, Device device) {
  check_is_zip(source);
  const ZipReader zip(source);
  std::string folder;
  bool found = false;
  for (const auto& [name, entry] : zip.entries()) {
    if (!name.ends_with(kPickleSuffix)) continue;
    TANDEM_CHECK(!found, "this zip file has two pickles, '", folder, kPickleSuffix, "' and '", name,
                 "'; accepted: one");
    folder = name.substr(0, name.size() - std::size(kPickleSuffix) + 1);
    found = true;
  }
  TANDEM_CHECK(found, "this zip file of ", zip.entries().size(),
               " entries has no data.pkl; accepted: what torch.save writes");
  const std::string name = folder + kPickleSuffix;
  const ZipReader::Entry& pickle = zip.entries().at(name);
  // Each byte of a pickle may create a value, so a small file could create very many values. Refuse a pickle with an
  // implausible compression ratio.
  TANDEM_CHECK(pickle.size / 32 <= pickle.compressed_size, "'", name, "' is compressed to ", pickle.compressed_size,
               " of ", pickle.size, " bytes; accepted: a factor of up to 32");
  StorageReader tensors(zip, folder, device);
  return read_pickle(zip.read_text(name, pickle), source.name(), tensors);
}

}  // namespace

IValue read_pytorch_file(const ByteSource& source, Device device) {
  return with_zip_error_context(
      [&] { return with_error_context(source.name(), [&] { return read_zip(source, device); }); });
}

void write_pytorch_file(const IValue& value, const ZipWriter::Write& write, uint64_t zip64_from) {
  static_assert(std::endian::native == std::endian::little, "the byte order that is written");
  const NoGradGuard no_grad;
  const Pickle pickle = write_pickle(value);
  ZipWriter zip(write, zip64_from);
  const auto text = [&](const std::string& name, const std::string& content) {
    zip.add_entry("archive/" + name, content.data(), content.size());
  };
  text("data.pkl", pickle.text);
  text("byteorder", "little");
  for (size_t i = 0; i < pickle.storages.size(); ++i) {
    const Storage& storage = pickle.storages[i];
    const Tensor bytes(IntrusivePtr<TensorImpl>(new TensorImpl(storage, Shape{storage->bytes}, 0, kUInt8)));
    const Tensor host = storage->device.is_cpu() ? bytes : bytes.cpu();
    zip.add_entry("archive/data/" + std::to_string(i), host.raw_data(), static_cast<uint64_t>(storage->bytes));
  }
  text("version", "3\n");
  zip.write_directory();
}

}  // namespace tandem::detail
