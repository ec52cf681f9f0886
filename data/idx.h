// IDX, the file format of MNIST: a magic number, sizes, and bytes; often gzipped.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Reads an IDX file of unsigned bytes as a uint8 tensor. The file is plain or gzipped, with any number of gzip
/// members; its first bytes determine which. A damaged header cannot request more memory than a file of this length can
/// hold.
/// @param rank   number of dimensions that the file must have
/// @throws Error that names the file and the values if the file is missing, truncated, too long, or not an IDX file of
///     unsigned bytes
Tensor read_idx(const std::string& path, int rank);

/// Returns the first path that exists among root/name, root/name.gz, and the same two paths with ".idx" instead of
/// "-idx" in the name.
/// @param name  for example "train-images-idx3-ubyte"
/// @throws Error that names all four paths if none exists
std::string find_idx(const std::string& root, const std::string& name);

}  // namespace tandem::data
