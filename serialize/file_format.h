// Detects the format of state files.
#pragma once
#include "tandem/serialize/file.h"

namespace tandem::detail {

enum class FileFormat {
  zip,          // written by torch.save
  safetensors,  //
  legacy,       // written by torch.save before PyTorch 1.6
  pickle,       // a pickle without a zip file around it
  unknown
};

/// Returns the format of a file; for a damaged file, the format that it resembles most. A safetensors file may begin
/// with any byte, so its whole beginning is checked before the few bytes that identify the other formats.
FileFormat format_of(const ByteSource& source);

}  // namespace tandem::detail
