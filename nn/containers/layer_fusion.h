// Fusion of layers in a Sequential, and the switch for all fused computations.
#pragma once
#include <cstddef>
#include <vector>

namespace tandem::nn {

class AnyModule;
class AnyValue;
/// Switches layer fusion on or off; it is on by default. A Sequential then computes BatchNorm2d, ReLU and, if its
/// windows do not overlap, MaxPool2d in one pass, if these modules have no hooks and the images are float32,
/// channels-last and on the CPU. The results are bit-identical; the pass saves memory and most of the time.
/// scaled_dot_product_attention (float32 and float64, without dropout) then runs block by block and never stores the
/// whole matrix of weights; its results differ from the unfused ones by rounding errors.
void set_layer_fusion(bool enabled);
bool layer_fusion();

}  // namespace tandem::nn

namespace tandem::detail {
/// Runs the modules from `first` on in one pass, if they can be fused. `value`: the input, replaced by the output.
/// @return number of modules that were run; 0 if none
size_t forward_as_one(const std::vector<nn::AnyModule>& modules, size_t first, nn::AnyValue& value);
}  // namespace tandem::detail
