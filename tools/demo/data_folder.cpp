// Implements find_fashion_mnist(): checks the folder that the user gave, or looks for the data set in the system's
// folders.
#include "tandem/tools/demo/data_folder.h"

#include <cstdlib>
#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/data/idx.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

bool has_idx_file(const std::string& folder, const char* name) {
  try {
    data::find_idx(folder, name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string find_fashion_mnist(const std::string& requested) {
  if (!requested.empty()) {
    std::error_code none;
    check_usage(std::filesystem::is_directory(requested, none), "--data ", requested, ": there is no such folder; ",
                kDataRemedy);
    for (const char* name :
         {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
      check_usage(has_idx_file(requested, name), "--data ", requested, ": there is neither ", name, " nor ", name,
                  ".gz in it; ", kDataRemedy);
    return requested;
  }
  const char* root = std::getenv("TANDEM_DATA_ROOT");
  for (const std::string& folder : {std::string(root ? root : "") + "/usr/share/datasets/fashion-mnist",
                                    std::string("/usr/share/datasets/fashion-mnist")})
    if (has_idx_file(folder, "train-images-idx3-ubyte")) return folder;
  return "";
}

}  // namespace tandem::tools
