// format_of: detects the format of a file of saved tensors.
#pragma once
#include "tandem/serialize/file.h"

namespace tandem::detail {

enum class FileFormat {
  zip,          // file that torch.save writes
  safetensors,  //
  legacy,       // file that torch.save wrote before PyTorch 1.6
  pickle,       // a pickle without a zip file around it
  unknown
};

/// Returns the format of a file or, if the file is damaged, the format that it resembles most. Safetensors is checked
/// first: such a file may begin with any byte, so it may also begin like one of the other formats.
FileFormat format_of(const ByteSource& source);

}  // namespace tandem::detail
