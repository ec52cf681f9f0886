// Finds and loads libnccl.so.2.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/nccl/api.h"

namespace tandem::distributed::nccl {
namespace {

namespace fs = std::filesystem;
constexpr char kLibraryName[] = "libnccl.so.2";
// Oldest version that is accepted, 2.23.4. Older ones have bugs: up to 2.18, ncclCommAbort affects the group call that
// the calling thread has open; up to 2.22, the launch of a group call blocks the thread even if the communicator is
// non-blocking.
constexpr int kMinVersion = 22304;

/// Adds the library in the NCCL wheel of a Python installation: lib/pythonX.Y/site-packages/nvidia/nccl/lib.
void append_wheel_paths(const std::string& prefix, std::vector<std::string>& candidate_paths) {
  std::error_code error;
  for (const char* lib : {"lib", "lib64"})
    for (const auto& python : fs::directory_iterator(fs::path(prefix) / lib, error)) {
      if (python.path().filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path file = python.path() / packages / "nvidia/nccl/lib" / kLibraryName;
        if (fs::exists(file, error)) candidate_paths.push_back(file.string());
      }
    }
}

/// Lists the paths to try, in order. With emulated GPUs the list is empty unless TANDEM_NCCL_LIBRARY is set, because a
/// real NCCL cannot use these GPUs.
std::vector<std::string> candidate_paths() {
  if (const char* const named = std::getenv("TANDEM_NCCL_LIBRARY"); named && *named) return {named};
  if (gpu::implementation() == std::string("emulated")) return {};

  std::vector<std::string> all = {kLibraryName};  // searched in LD_LIBRARY_PATH and the system's folders
#if defined(TANDEM_NCCL_PATH)
  all.emplace_back(TANDEM_NCCL_PATH);  // path found by CMake
#endif
  std::vector<fs::path> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const folder = std::getenv(variable); folder && *folder) toolkits.emplace_back(folder);
  toolkits.emplace_back("/usr/local/cuda");
  for (const fs::path& toolkit : toolkits)
    for (const char* lib : {"lib64", "lib"}) all.push_back((toolkit / lib / kLibraryName).string());
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* const folder = std::getenv(variable); folder && *folder) append_wheel_paths(folder, all);
  for (const char* folder : {"/usr/local", "/usr"}) append_wheel_paths(folder, all);
  return all;
}

template <class F> void look_up_symbol(void* handle, const char* name, F*& function, std::string& missing) {
  function = reinterpret_cast<F*>(::dlsym(handle, name));
  if (!function && missing.empty()) missing = name;
}

/// Loads the library from `path`. Returns why it cannot be used; empty on success.
std::string load_library(const std::string& path, Library& lib) {
  // never closed, because the returned functions stay in use
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return ::dlerror();
  std::string missing;
#define TANDEM_NCCL_LOOK_UP_SYMBOL(name, parameters) look_up_symbol(handle, #name, lib.name, missing);
  TANDEM_NCCL_FUNCTIONS(TANDEM_NCCL_LOOK_UP_SYMBOL)
#undef TANDEM_NCCL_LOOK_UP_SYMBOL
  look_up_symbol(handle, "ncclGetErrorString", lib.ncclGetErrorString, missing);
  look_up_symbol(handle, "ncclGetLastError", lib.ncclGetLastError, missing);
  if (!missing.empty()) return path + " has no " + missing;
  if (lib.ncclGetVersion(&lib.version) != Result::success || lib.version < kMinVersion)
    return path + " is version " + std::to_string(lib.version) + "; accepted: 2.23.4 (22304) or newer";
  lib.path = path;
  return {};
}

struct LoadResult {
  std::unique_ptr<Library> library;
  std::string load_error;
};
LoadResult find_and_load() {
  if (is_disabled_in_build()) return {nullptr, "Distributed package doesn't have NCCL built in (TANDEM_WITH_NCCL=OFF)"};
  const std::vector<std::string> all = candidate_paths();
  if (all.empty()) return {nullptr, "emulated GPUs have no NCCL unless TANDEM_NCCL_LIBRARY names an emulated one"};
  std::string tried;
  for (const std::string& path : all) {
    auto lib = std::make_unique<Library>();
    const std::string why = load_library(path, *lib);
    if (why.empty()) return {std::move(lib), {}};
    tried += (tried.empty() ? "" : "; ") + why;
  }
  return {nullptr,
          "the library was not found; install the package libnccl2 or the wheel nvidia-nccl-cu13, or set "
          "TANDEM_NCCL_LIBRARY to the path of libnccl.so.2 (" +
              tried + ")"};
}
const LoadResult& load_result() {
  // never destroyed, because a thread may still be closing a communicator at exit
  static const LoadResult& result = *new LoadResult(find_and_load());
  return result;
}

}  // namespace

bool is_disabled_in_build() noexcept { return TANDEM_NCCL_LEFT_OUT; }
const Library* find_library() noexcept { return load_result().library.get(); }
const Library& library() {
  TANDEM_CHECK_AS(NotImplementedError, load_result().library,
                  "nccl: the NCCL library cannot be used: ", load_result().load_error);
  return *load_result().library;
}

}  // namespace tandem::distributed::nccl
