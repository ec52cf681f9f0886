// How a tensor's elements lie in memory: the formats that users name, and the strides of results.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "tandem/core/array_ref.h"

namespace tandem {

namespace detail {
struct TensorImpl;
}

/// The order of a tensor's dimensions in memory, as LibTorch's enum has it.
///   Contiguous    row-major: the last dimension innermost
///   Preserve      of a copy: as the original lies, where that has neither gaps nor repeated elements
///   ChannelsLast  (N, C, H, W) with the channels of a pixel side by side: in the order N, H, W, C. Four dimensions
///   only ChannelsLast3d  of five dimensions; Tandem has none, and refuses it
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
inline constexpr MemoryFormat kContiguous = MemoryFormat::Contiguous, kPreserve = MemoryFormat::Preserve,
                              kChannelsLast = MemoryFormat::ChannelsLast;
/// By the enumerator's name.
std::ostream& operator<<(std::ostream& out, MemoryFormat format);

namespace detail::core {

/// Strides of `sizes` in a format other than Preserve.
/// @throws Error that names op unless channels-last sizes are four, and for ChannelsLast3d
Shape strides_of(const char* op, IntArrayRef sizes, MemoryFormat format);
/// Whether the elements lie channels-last without gaps, whatever the strides of dimensions of size 1 are.
bool is_channels_last(IntArrayRef sizes, IntArrayRef strides);
/// Whether the strides say channels-last. Sizes of 1 leave it open, as in (N, 1, H, W): then their strides decide, and
/// contiguous ones, which PyTorch and Tandem make unless asked for others, say that it is not.
bool suggests_channels_last(IntArrayRef sizes, IntArrayRef strides);
/// Whether each element has a place of its own and no place is left free, in whatever order of dimensions.
bool is_dense(const TensorImpl& x);

/// Note [Strides of results]: where inputs lie in one way, a result lies as they do; else its dimensions are in the
/// order of the first input's strides that tell two of them apart. Sizes of 1 have strides too, so the rules are
/// PyTorch's to the letter (TensorIterator): a program that asks for strides or views gets the same answers.
/// @param sizes   of the result, to which the inputs broadcast
/// @param inputs  one or more
Shape result_strides(IntArrayRef sizes, std::initializer_list<const TensorImpl*> inputs);
/// Of a copy of x that keeps its format.
Shape preserved_strides(const TensorImpl& x);

}  // namespace detail::core
}  // namespace tandem
