// The messages of TensorBoard's event files, with the fields that PyTorch's SummaryWriter sets. Their definitions are
// tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto, histogram.proto and tensor.proto; what
// follows a field's number in summary.cpp is its name there.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::logs {

/// A Summary with one value, serialized.
/// @param new_style  as a tensor with the scalars plugin's mark, in place of the older field simple_value
std::string scalar_summary(const std::string& tag, double value, bool new_style, bool double_precision);
/// The counts of TensorFlow's bins, whose limits grow by a tenth from 1e-12 to 1e20 on both sides of zero.
/// @throws Error for no values, and for values that are not finite
std::string histogram_summary(const std::string& tag, const Tensor& values);
/// A PNG file within a message. @param dataformats  CHW, HWC or HW
/// @throws Error for another shape, a NaN, or other letters; NotImplementedError in a build without libpng
std::string image_summary(const std::string& tag, const Tensor& image, const std::string& dataformats);
std::string text_summary(const std::string& tag, const std::string& text);

/// An Event that holds a Summary.
std::string summary_event(const std::string& summary, std::optional<int64_t> step, double wall_time);
/// The Event that a file begins with.
std::string version_event(double wall_time);
/// What says that events of `step` and later ones, from before a crash, are to be forgotten.
std::string restart_event(int64_t step, double wall_time);

}  // namespace tandem::logs
