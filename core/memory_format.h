// Memory formats that users can ask for, and the strides of results.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "tandem/core/array_ref.h"

namespace tandem {

namespace detail {
struct TensorImpl;
}

/// Order of a tensor's dimensions in memory, as LibTorch's enum of this name.
///   Contiguous    row-major: the last dimension innermost
///   Preserve      for copies: the strides of the original, if it has no gaps or repeated elements
///   ChannelsLast  four dimensions only: (N, C, H, W) stored in the order N, H, W, C
///   ChannelsLast3d  five dimensions in LibTorch; not supported, an error
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
inline constexpr MemoryFormat kContiguous = MemoryFormat::Contiguous, kPreserve = MemoryFormat::Preserve,
                              kChannelsLast = MemoryFormat::ChannelsLast;
/// Prints the enumerator's name.
std::ostream& operator<<(std::ostream& out, MemoryFormat format);

namespace detail::core {

/// Strides of a tensor with these sizes in a format other than Preserve.
/// @throws Error that names op, for ChannelsLast unless there are four sizes, and for ChannelsLast3d
Shape strides_of(const char* op, IntArrayRef sizes, MemoryFormat format);
/// Whether the elements are channels-last without gaps. Strides of dimensions of size 1 are ignored.
bool is_channels_last(IntArrayRef sizes, IntArrayRef strides);
/// Whether the strides say channels-last. Sizes of 1 make this ambiguous, as in (N, 1, H, W). Then the strides of these
/// dimensions decide; if they are the strides of an ordinary contiguous tensor, the result is false.
bool suggests_channels_last(IntArrayRef sizes, IntArrayRef strides);
/// Whether the elements fill a block of memory without gaps or overlaps, in any order of the dimensions.
bool is_non_overlapping_and_dense(const TensorImpl& x);

/// Note [Strides of results]: if all inputs have the same dense layout, then the result has it too. Otherwise the
/// result is dense, and any two of its dimensions are in the order given by the first input whose strides differ for
/// them. These are exactly the rules of PyTorch's TensorIterator, dimensions of size 1 included, so that programs see
/// the same strides and the same views work.
/// @param sizes   sizes of the result, to which the inputs broadcast
/// @param inputs  one to four tensors
Shape result_strides(IntArrayRef sizes, std::initializer_list<const TensorImpl*> inputs);
/// Strides of a copy of x in the format Preserve.
Shape preserved_strides(const TensorImpl& x);

}  // namespace detail::core
}  // namespace tandem
