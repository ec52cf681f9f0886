// Messages in TensorBoard's event files, with the fields that PyTorch's SummaryWriter sets. They are defined in
// tensorflow/core/util/event.proto and in summary.proto, histogram.proto and tensor.proto of tensorflow/core/framework.
// In summary.cpp a comment before each field number gives the field's name.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::logs {

/// Returns a serialized Summary with one value.
/// @param new_style         if true, stores a tensor for the scalars plugin instead of the older field simple_value
/// @param double_precision  if new_style is true: stores a double instead of a float
std::string scalar_summary(const std::string& tag, double value, bool new_style, bool double_precision);
/// Returns a serialized Summary with the counts in TensorFlow's bins, whose limits grow by 10 % from 1e-12 to 1e20, on
/// both sides of zero. @throws Error if there are no values, or a value is not finite
std::string histogram_summary(const std::string& tag, const Tensor& values);
/// Returns a serialized Summary with a PNG image. @param dataformats  CHW, HWC or HW
/// @throws Error for another shape, a NaN, or another format
/// @throws NotImplementedError in a build without libpng
std::string image_summary(const std::string& tag, const Tensor& image, const std::string& dataformats);
std::string text_summary(const std::string& tag, const std::string& text);

/// Returns an Event that holds a Summary.
std::string summary_event(const std::string& summary, std::optional<int64_t> step, double wall_time);
/// Returns the Event with which an event file begins. It states the version of the file format.
std::string version_event(double wall_time);
/// Returns an Event that makes TensorBoard hide the events of `step` and later steps that were written before a crash.
std::string session_start_event(int64_t step, double wall_time);

}  // namespace tandem::logs
