// The zip format of torch.save: a pickle, and an entry of bytes for each storage.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/serialize/file.h"
#include "tandem/serialize/zip.h"

namespace tandem::detail {

/// What Python's torch.save wrote, or LibTorch's. Every storage is read once, however many tensors show it, and moved
/// to `device`.
/// @throws Error naming the source, what was found in it and what is accepted
IValue read_pytorch_file(const ByteSource& source, Device device);
/// What Python's torch.load(weights_only=True) reads. The same values give the same bytes.
/// @throws Error for what write_pickle refuses
void write_pytorch_file(const IValue& value, const ZipWriter::Write& write, uint64_t zip64_from = 0xffffffff);

}  // namespace tandem::detail
