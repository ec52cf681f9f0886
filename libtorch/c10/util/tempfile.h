// LibTorch's temporary files and folders, which are deleted when their object is destroyed.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "tandem/core/error.h"

namespace tandem {

namespace detail {
/// Returns a template for mkstemp() and mkdtemp(), in the folder that TMPDIR, TMP, TEMP or TEMPDIR names, or /tmp.
inline std::string make_filename(const std::string& prefix) {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      return std::string(folder) + "/" + prefix + "XXXXXX";
  return "/tmp/" + prefix + "XXXXXX";
}
}  // namespace detail

/// An open temporary file.
struct TempFile {
  TempFile() = default;
  TempFile(std::string name, int fd) : fd(fd), name(std::move(name)) {}
  TempFile(TempFile&& other) noexcept : fd(std::exchange(other.fd, -1)), name(std::exchange(other.name, {})) {}
  TempFile& operator=(TempFile&& other) noexcept {
    std::swap(fd, other.fd);
    std::swap(name, other.name);
    return *this;
  }
  ~TempFile() {
    if (!name.empty()) ::unlink(name.c_str());
    if (fd >= 0) ::close(fd);
  }
  int fd = -1;
  std::string name;
};
/// A temporary folder. Its destructor deletes it if it is empty.
struct TempDir {
  TempDir() = default;
  explicit TempDir(std::string name) : name(std::move(name)) {}
  TempDir(TempDir&& other) noexcept : name(std::exchange(other.name, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(name, other.name);
    return *this;
  }
  ~TempDir() {
    if (!name.empty()) ::rmdir(name.c_str());
  }
  std::string name;
};

/// Makes an empty temporary file. The functions with try_ return nullopt if that fails.
inline std::optional<TempFile> try_make_tempfile(const std::string& name_prefix = "torch-file-") {
  std::string name = detail::make_filename(name_prefix);
  const int fd = ::mkstemp(name.data());
  if (fd < 0) return {};
  return TempFile(std::move(name), fd);
}
/// @throws Error with the system's message
inline TempFile make_tempfile(const std::string& name_prefix = "torch-file-") {
  if (auto file = try_make_tempfile(name_prefix)) return std::move(*file);
  TANDEM_FAIL("make_tempfile: cannot make ", detail::make_filename(name_prefix), ": ",
              std::generic_category().message(errno));
}
inline std::optional<TempDir> try_make_tempdir(const std::string& name_prefix = "torch-dir-") {
  std::string name = detail::make_filename(name_prefix);
  if (!::mkdtemp(name.data())) return {};
  return TempDir(std::move(name));
}
/// @throws Error with the system's message
inline TempDir make_tempdir(const std::string& name_prefix = "torch-dir-") {
  if (auto folder = try_make_tempdir(name_prefix)) return std::move(*folder);
  TANDEM_FAIL("make_tempdir: cannot make ", detail::make_filename(name_prefix), ": ",
              std::generic_category().message(errno));
}

}  // namespace tandem
