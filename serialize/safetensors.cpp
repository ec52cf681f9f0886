#include "tandem/serialize/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "tandem/serialize/safetensors_header.h"

namespace tandem {
namespace {

/// A file descriptor and the path that errors name.
class File {
 public:
  File(const char* op, const std::string& path, int flags) : op_(op), path_(path) {
    fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    TANDEM_CHECK(fd_ >= 0, op_, ": cannot open ", path_, ": ", std::strerror(errno));
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;

  uint64_t size() const {
    struct stat status;
    TANDEM_CHECK(::fstat(fd_, &status) == 0, op_, ": cannot look at ", path_, ": ", std::strerror(errno));
    TANDEM_CHECK(S_ISREG(status.st_mode), op_, ": ", path_, " is not a file");
    return static_cast<uint64_t>(status.st_size);
  }
  void read(void* to, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = ::read(fd_, static_cast<char*>(to) + done, std::min<uint64_t>(bytes - done, 1 << 30));
      if (n < 0 && errno == EINTR) continue;
      TANDEM_CHECK(n >= 0, op_, ": reading ", path_, " failed: ", std::strerror(errno));
      TANDEM_CHECK(n > 0, op_, ": ", path_, " ended ", bytes - done, " bytes early while it was read");
      done += static_cast<uint64_t>(n);
    }
  }
  void write(const void* from, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = ::write(fd_, static_cast<const char*>(from) + done, std::min<uint64_t>(bytes - done, 1 << 30));
      if (n < 0 && errno == EINTR) continue;
      TANDEM_CHECK(n > 0, op_, ": writing ", path_, " failed: ", std::strerror(errno));
      done += static_cast<uint64_t>(n);
    }
  }
  void finish() {
    TANDEM_CHECK(::fsync(fd_) == 0, op_, ": writing ", path_, " to the disk failed: ", std::strerror(errno));
    const int closed = ::close(std::exchange(fd_, -1));
    TANDEM_CHECK(closed == 0, op_, ": closing ", path_, " failed: ", std::strerror(errno));
  }

 private:
  const char* op_;
  std::string path_;
  int fd_;
};

/// Removes a temporary file unless it was put in place. Its name is no other thread's.
struct Temporary {
  explicit Temporary(const std::string& target) {
    static std::atomic<uint64_t> count{0};
    path = target + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(count++);
  }
  ~Temporary() {
    if (!path.empty()) ::unlink(path.c_str());
  }
  Temporary(const Temporary&) = delete;
  std::string path;
};

Tensor read_tensor(File& file, const detail::SafetensorsEntry& entry, const std::string& path) {
  Tensor out = core::empty(entry.sizes, entry.dtype, kCPU);
  file.read(out.raw_data(), entry.end - entry.begin);
  if (entry.dtype == kBool) {
    const auto* bytes = static_cast<const uint8_t*>(out.raw_data());
    for (int64_t i = 0; i < out.numel(); ++i)
      TANDEM_CHECK(bytes[i] <= 1, "load_safetensors: bool ", i, " of '", entry.name, "' in ", path, " is ",
                   int{bytes[i]}, "; accepted: 0 and 1");
  }
  return out;
}

}  // namespace

void save_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& path,
                      const SafetensorsMetadata& metadata) {
  const detail::SafetensorsHeader header = detail::layout_safetensors(tensors, metadata, path);
  const std::string json = detail::format_safetensors(header, path);
  std::map<std::string, const Tensor*> by_name;
  for (const auto& [name, tensor] : tensors) by_name[name] = &tensor;

  struct stat status;  // a device or a pipe would be replaced, not written to
  TANDEM_CHECK(::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode), "save_safetensors: ", path,
               " exists and is not a file");
  Temporary temporary(path);
  File file("save_safetensors", temporary.path, O_WRONLY | O_CREAT | O_TRUNC);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(uint64_t{json.size()} >> (8 * i));
  file.write(length, sizeof(length));
  file.write(json.data(), json.size());
  const NoGradGuard no_grad;
  for (const detail::SafetensorsEntry& entry : header.entries) {
    const Tensor host = by_name[entry.name]->cpu().contiguous();
    file.write(host.raw_data(), entry.end - entry.begin);
  }
  file.finish();
  TANDEM_CHECK(::rename(temporary.path.c_str(), path.c_str()) == 0, "save_safetensors: cannot put ", path,
               " in place: ", std::strerror(errno));
  temporary.path.clear();
}
void save_safetensors(const NamedTensors& tensors, const std::string& path, const SafetensorsMetadata& metadata) {
  save_safetensors(std::vector<std::pair<std::string, Tensor>>(tensors.begin(), tensors.end()), path, metadata);
}

void save_safetensors(std::initializer_list<std::pair<std::string, Tensor>> tensors, const std::string& path,
                      const SafetensorsMetadata& metadata) {
  save_safetensors(std::vector(tensors), path, metadata);
}

NamedTensors load_safetensors(const std::string& path, SafetensorsMetadata* metadata) {
  File file("load_safetensors", path, O_RDONLY | O_NONBLOCK);  // a pipe is refused, not waited for
  const uint64_t size = file.size();
  TANDEM_CHECK(size >= 8, "load_safetensors: ", path, " has ", size, " bytes; a safetensors file has at least 8");
  uint8_t bytes[8];
  file.read(bytes, sizeof(bytes));
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t{bytes[i]} << (8 * i);
  TANDEM_CHECK(length <= detail::kMaxSafetensorsHeader || std::memcmp(bytes, "PK\3\4", 4) != 0,
               "load_safetensors: ", path,
               " is a zip file, as Python's torch.save writes; accepted: safetensors. In Python, "
               "safetensors.torch.save_file(state_dict, path) writes such a file");
  TANDEM_CHECK(length <= detail::kMaxSafetensorsHeader && length <= size - 8, "load_safetensors: ", path,
               " announces a header of ", length, " bytes; accepted: up to ",
               std::min(detail::kMaxSafetensorsHeader, size - 8), " in a file of ", size);
  std::string json(length, '\0');
  file.read(json.data(), length);
  detail::SafetensorsHeader header = detail::parse_safetensors(json, size - 8 - length, path);
  NamedTensors tensors;
  for (const detail::SafetensorsEntry& entry : header.entries) tensors[entry.name] = read_tensor(file, entry, path);
  if (metadata) *metadata = std::move(header.metadata);
  return tensors;
}

void save(const Tensor& tensor, const std::string& path) { save_safetensors({{"tensor", tensor}}, path); }
void load(Tensor& tensor, const std::string& path) {
  NamedTensors tensors = load_safetensors(path);
  const auto found = tensors.find("tensor");
  TANDEM_CHECK(found != tensors.end() && tensors.size() == 1, "load: ", path, " holds ", tensors.size(),
               " tensors; accepted: one, named 'tensor'; load_safetensors reads others");
  tensor = found->second;
}

}  // namespace tandem
