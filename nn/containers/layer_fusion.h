// Layers that a Sequential runs as one, and the switch for all that is computed as one.
#pragma once
#include <cstddef>
#include <vector>

namespace tandem::nn {

class AnyModule;
class AnyValue;
/// Whether a Sequential may run layers that follow each other as one where the values are the same to the last bit, as
/// it does unless told otherwise: BatchNorm2d, ReLU and, if its windows lie side by side, MaxPool2d, without hooks, of
/// channels-last float32 images on the CPU. That saves memory and most of their time. So does, where this is on,
/// scaled_dot_product_attention of float32 and float64 without dropout: it goes block by block, and its
/// weights are never in memory as a whole; its values differ by rounding from those of the operations that make it up.
void set_layer_fusion(bool enabled);
bool layer_fusion();

}  // namespace tandem::nn

namespace tandem::detail {
/// Runs modules from `first` on, of which `value` is the input, as one where that is possible.
/// @return how many of them; 0: none was run
size_t forward_as_one(const std::vector<nn::AnyModule>& modules, size_t first, nn::AnyValue& value);
}  // namespace tandem::detail
