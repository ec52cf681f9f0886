// Tells the formats of state files apart.
#pragma once
#include "tandem/serialize/file.h"

namespace tandem::detail {

enum class FileFormat {
  zip,          // what torch.save writes
  safetensors,  //
  legacy,       // what torch.save wrote before PyTorch 1.6
  pickle,       // a pickle without a zip file around it
  unknown
};

/// Returns the format of a file; of a damaged file, the format that it looks most like. A safetensors file may begin
/// with any byte, so its whole beginning is looked at before the few bytes that the other formats begin with.
FileFormat format_of(const ByteSource& source);

}  // namespace tandem::detail
