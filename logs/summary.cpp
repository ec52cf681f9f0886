// Builds TensorBoard's messages for scalars, histograms, images and texts, and the events that hold these messages.
#include "tandem/logs/summary.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/data/images/tensor_to_png.h"
#include "tandem/logs/protobuf.h"
#include "tandem/ops/ops.h"

namespace tandem::logs {
namespace {

enum DataType { kDtFloat = 1, kDtDouble = 2, kDtString = 7 };  // values of TensorFlow's types.proto

/// Returns a SummaryMetadata message, which names the TensorBoard plugin that displays the value.
ProtoMessage make_plugin_metadata(const char* name) {
  return ProtoMessage().add_message(/*plugin_data*/ 1, ProtoMessage().add_bytes(/*plugin_name*/ 1, name));
}
std::string make_summary(const ProtoMessage& value) { return ProtoMessage().add_message(/*value*/ 1, value).str(); }

const std::vector<double>& default_bucket_limits() {
  static const auto& limits = *new std::vector<double>([] {
    std::vector<double> positive;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    std::vector<double> all;
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) all.push_back(-*v);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }());
  return limits;
}

/// Copies a tensor to the CPU as contiguous float64.
Tensor to_float64(const Tensor& values) { return values.detach().to(kCPU).to(kFloat64).contiguous(); }

}  // namespace

std::string scalar_summary(const std::string& tag, double value, bool new_style, bool double_precision) {
  ProtoMessage message;
  message.add_bytes(/*tag*/ 1, tag);
  if (!new_style) return make_summary(message.add_float(/*simple_value*/ 2, static_cast<float>(value)));
  ProtoMessage tensor;
  if (double_precision)
    tensor.add_int64(/*dtype*/ 1, kDtDouble).add_packed_doubles(/*double_val*/ 6, {value});
  else
    tensor.add_int64(/*dtype*/ 1, kDtFloat).add_packed_floats(/*float_val*/ 5, {static_cast<float>(value)});
  return make_summary(
      message.add_message(/*tensor*/ 8, tensor).add_message(/*metadata*/ 9, make_plugin_metadata("scalars")));
}

std::string histogram_summary(const std::string& tag, const Tensor& values) {
  TANDEM_CHECK(values.defined() && values.numel() > 0, "add_histogram: The input has no element. '", tag,
               "' needs at least one");
  const Tensor doubles = to_float64(values);
  const double* const begin = doubles.data_ptr<double>();
  const double* const end = begin + doubles.numel();
  const auto num_nonfinite = std::count_if(begin, end, [](double v) { return !std::isfinite(v); });
  TANDEM_CHECK(num_nonfinite == 0, "add_histogram: '", tag, "' has ", num_nonfinite, " values of ", values.numel(),
               " that are NaN or infinite; accepted: finite ones");
  const std::vector<double>& limits = default_bucket_limits();
  // counts[i]: number of values in [limits[i], limits[i + 1]). The last bin includes its upper limit.
  std::vector<double> counts(limits.size() - 1);
  double sum = 0, sum_squares = 0;
  for (const double* v = begin; v != end; ++v) {
    sum += *v;
    sum_squares += *v * *v;
    const auto above = std::upper_bound(limits.begin(), limits.end(), *v);
    if (above != limits.begin() && above != limits.end())
      ++counts[static_cast<size_t>(above - limits.begin()) - 1];
    else if (*v == limits.back())
      ++counts.back();
  }
  // TensorBoard identifies bins by their upper limits. An empty bin before the first bin with a count therefore defines
  // the lower limit of that bin.
  const auto counted = [](double count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), counted);
  TANDEM_CHECK(first != counts.end(), "add_histogram: no value of '", tag, "' is between ", limits.front(), " and ",
               limits.back(), " (both included), the range of the bins; accepted: at least one value there");
  const auto last = std::find_if(counts.rbegin(), counts.rend(), counted).base();  // end of the counted bins
  std::vector<double> heights(first, last);
  heights.insert(heights.begin(), 0);
  const std::vector<double> upper(limits.begin() + (first - counts.begin()),
                                  limits.begin() + (last - counts.begin()) + 1);
  const auto [low, high] = std::minmax_element(begin, end);
  ProtoMessage histogram;
  histogram.add_double(/*min*/ 1, *low)
      .add_double(/*max*/ 2, *high)
      .add_double(/*num*/ 3, static_cast<double>(end - begin));
  histogram.add_double(/*sum*/ 4, sum).add_double(/*sum_squares*/ 5, sum_squares);
  histogram.add_packed_doubles(/*bucket_limit*/ 6, upper).add_packed_doubles(/*bucket*/ 7, heights);
  return make_summary(ProtoMessage().add_bytes(/*tag*/ 1, tag).add_message(/*histo*/ 5, histogram));
}

std::string image_summary(const std::string& tag, const Tensor& image, const std::string& dataformats) {
  TANDEM_CHECK(dataformats == "CHW" || dataformats == "HWC" || dataformats == "HW", "add_image: dataformats is '",
               dataformats, "'; accepted: CHW, HWC and HW (make_grid joins the images of a batch to one)");
  TANDEM_CHECK(image.dim() == static_cast<int64_t>(dataformats.size()), "add_image: '", tag, "' is ", image.sizes(),
               " and dataformats ", dataformats, "; accepted: a tensor with one dimension for each letter");
  const NoGradGuard guard;
  Tensor chw = image.detach();
  if (dataformats == "HWC") chw = chw.permute({2, 0, 1});
  if (dataformats == "HW") chw = chw.unsqueeze(0);
  if (chw.size(0) == 1) chw = cat({chw, chw, chw}, 0);  // makes a grey image RGB, as PyTorch does
  TANDEM_CHECK(chw.size(0) == 3 || chw.size(0) == 4, "add_image: '", tag, "' is ", image.sizes(), " in ", dataformats,
               ", which has ", chw.size(0), " channels; accepted: 1, 3 or 4");
  // Truncates values instead of rounding them, as PyTorch does here; save_image rounds.
  if (chw.dtype() != kUInt8) {
    data::check_no_nan("add_image: '" + tag + "'", chw);
    chw = chw.to(kFloat32).mul(255).clamp(0, 255).to(kUInt8);
  }
  ProtoMessage picture;
  picture.add_int64(/*height*/ 1, chw.size(1))
      .add_int64(/*width*/ 2, chw.size(2))
      .add_int64(/*colorspace*/ 3, chw.size(0));
  picture.add_bytes(/*encoded_image_string*/ 4, data::tensor_to_png("add_image", chw));
  return make_summary(ProtoMessage().add_bytes(/*tag*/ 1, tag).add_message(/*image*/ 4, picture));
}

std::string text_summary(const std::string& tag, const std::string& text) {
  ProtoMessage tensor, one_element;
  one_element.add_message(/*dim*/ 2, ProtoMessage().add_int64(/*size*/ 1, 1));
  tensor.add_int64(/*dtype*/ 1, kDtString)
      .add_message(/*tensor_shape*/ 2, one_element)
      .add_bytes(/*string_val*/ 8, text);
  ProtoMessage value;
  value.add_bytes(/*tag*/ 1, tag + "/text_summary").add_message(/*tensor*/ 8, tensor);
  return make_summary(value.add_message(/*metadata*/ 9, make_plugin_metadata("text")));
}

std::string summary_event(const std::string& summary, std::optional<int64_t> step, double wall_time) {
  ProtoMessage event;
  event.add_double(/*wall_time*/ 1, wall_time).add_int64(/*step*/ 2, step.value_or(0));
  return event.add_bytes(/*summary*/ 5, summary).str();
}
std::string version_event(double wall_time) {
  ProtoMessage event;
  event.add_double(/*wall_time*/ 1, wall_time).add_bytes(/*file_version*/ 3, "brain.Event:2");
  return event.add_message(/*source_metadata*/ 10, ProtoMessage().add_bytes(/*writer*/ 1, "tandem")).str();
}
std::string session_start_event(int64_t step, double wall_time) {
  constexpr int kStart = 1;
  ProtoMessage event;
  event.add_double(/*wall_time*/ 1, wall_time).add_int64(/*step*/ 2, step);
  return event.add_message(/*session_log*/ 7, ProtoMessage().add_int64(/*status*/ 1, kStart)).str();
}

}  // namespace tandem::logs
