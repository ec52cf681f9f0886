// data_path: the folder in the source tree, or where it was installed beside the command.
#include "tandem/tools/simulate/data_path.h"

#include <filesystem>

namespace tandem::simulate {

std::string data_path(const std::string& name) {
  std::error_code unknown;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path installed = command.parent_path() / TANDEM_DATA_FROM_COMMAND / name;
  if (std::filesystem::exists(installed, unknown)) return installed.string();
  return TANDEM_SOURCE_FOLDER "/benchmarks/data/" + name;
}

}  // namespace tandem::simulate
