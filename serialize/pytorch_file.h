// Reads and writes the zip format of torch.save: an entry with a pickle, and an entry with the bytes of each storage.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/serialize/file.h"
#include "tandem/serialize/zip.h"

namespace tandem::detail {

/// Reads a file that Python's torch.save or LibTorch's torch::save wrote. Each storage is read once, even if several
/// tensors view it, and moved to `device`.
/// @throws Error that names the source, what was found in it and what is accepted
IValue read_pytorch_file(const ByteSource& source, Device device);
/// Writes a file that Python's torch.load(weights_only=True) reads. Equal values give equal bytes.
/// @throws Error for values that write_pickle refuses
void write_pytorch_file(const IValue& value, const ZipWriter::Write& write, uint64_t zip64_from = 0xffffffff);

}  // namespace tandem::detail
