// IDX, the file format of MNIST: a magic number, sizes, and bytes; often gzipped.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem::data {

/// Reads an IDX file of unsigned bytes, plain or gzipped (told by its content), as a uint8 tensor.
/// Memory stays bounded by what a file of that length can hold, whatever its header says.
/// @param rank   how many dimensions the file must have
/// @throws Error naming the file and the values, when it is missing, truncated, too long, or not such a file
Tensor read_idx(const std::string& path, int rank);

/// root/name, or root/name.gz when only that exists. @throws Error naming both when neither does
std::string find_idx(const std::string& root, const std::string& name);

}  // namespace tandem::data
