// Finds the folder that contains the FashionMNIST files.
#pragma once
#include <string>

namespace tandem::tools {

/// End of error messages about missing data: tells the user how to get the files.
constexpr char kDataRemedy[] =
    "install it with apt install dataset-fashion-mnist, or download it for --data FOLDER with fetch_fashion_mnist.sh "
    "FOLDER (in tools/ of the sources, in share/tandem of an installation)";

/// Returns `requested`, the folder given with --data. If `requested` is empty, returns the folder of the Debian
/// package, looked for under TANDEM_DATA_ROOT first; "" if this folder does not exist.
/// @throws UsageError if `requested` is not empty and does not contain the four files
std::string find_fashion_mnist(const std::string& requested);

}  // namespace tandem::tools
