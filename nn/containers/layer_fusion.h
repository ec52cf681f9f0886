// Fusion of layers in a Sequential, and the switch for all fused computations.
#pragma once
#include <cstddef>
#include <vector>

namespace tandem::nn {

class AnyModule;
class AnyValue;
/// Switches layer fusion on or off; it is on by default. With layer fusion, a Sequential computes BatchNorm2d, ReLU
/// and, if its windows do not overlap, MaxPool2d in one pass. This requires modules without hooks, and float32
/// channels-last images on the CPU. It takes less memory and far less time than separate layers, and gives
/// bit-identical results. Likewise scaled_dot_product_attention (float32 and float64, without dropout) runs block by
/// block and never stores the whole matrix of weights; its results differ from the unfused ones by rounding errors.
void set_layer_fusion(bool enabled);
bool layer_fusion();

}  // namespace tandem::nn

namespace tandem::detail {
/// Runs the modules from `first` on in one pass, if they can be fused. `value`: the input, replaced by the output.
/// @return number of modules that were run; 0 if they cannot be fused
size_t try_fused_forward(const std::vector<nn::AnyModule>& modules, size_t first, nn::AnyValue& value);
}  // namespace tandem::detail
