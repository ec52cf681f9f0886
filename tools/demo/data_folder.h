// Where FashionMNIST's files are.
#pragma once
#include <string>

namespace tandem::tools {

/// How to get the files, for messages.
constexpr char kDataRemedy[] =
    "apt install dataset-fashion-mnist installs it, fetch_fashion_mnist.sh FOLDER (in tools/ of the sources, in "
    "share/tandem where the command is installed) downloads it for --data FOLDER";

/// The folder that the user asked for with --data; or, if `asked` is empty, the Debian package's folder, looked for
/// under TANDEM_DATA_ROOT first; or nothing when there is none.
/// @throws UsageError when a folder was asked for that does not hold the four files
std::string find_fashion_mnist(const std::string& asked);

}  // namespace tandem::tools
