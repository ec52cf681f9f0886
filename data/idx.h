// IDX, the file format of MNIST: a magic number, sizes, and bytes; often gzipped.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem::data {

/// Reads an IDX file of unsigned bytes, plain or gzipped (told by its content; of any number of gzip members), as a
/// uint8 tensor. Memory stays bounded by what a file of that length can hold, whatever its header says.
/// @param rank   how many dimensions the file must have
/// @throws Error naming the file and the values, when it is missing, truncated, too long, or not such a file
Tensor read_idx(const std::string& path, int rank);

/// The file root/name, for a name such as "train-images-idx3-ubyte"; root/name.gz; or one of the two with ".idx" for
/// "-idx". The first that exists. @throws Error naming all four if none does
std::string find_idx(const std::string& root, const std::string& name);

}  // namespace tandem::data
