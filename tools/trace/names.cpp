// Explains names of kernels, and of fused operations, that are not names of the API.
#include <map>
#include <set>

#include "tandem/tools/trace/tables.h"

namespace tandem::tools::trace {

const char* explain_name(const std::string& name) {
  static const std::map<std::string, const char*> names = {
      {"AccumulateGrad", "adds a gradient to the grad of a leaf, such as a parameter"},
      {"adam", "updates all parameters in one pass, for Adam and AdamW"},
      {"add_to_all", "adds a number to each of many tensors, for the step counts of optimizers"},
      {"attention", "scaled_dot_product_attention, block by block"},
      {"attention_backward", "gradients of scaled_dot_product_attention, block by block"},
      {"batch_norm_apply", "normalizes by given means and deviations"},
      {"batch_norm_backward", "gradients of batch_norm"},
      {"batch_norm_evaluate", "normalizes by the running statistics"},
      {"batch_norm_stats", "mean and deviation of each channel"},
      {"batch_norm_update_stats", "mean and deviation of each channel, and the new running statistics"},
      {"channel_mean", "mean of each channel"},
      {"channel_var", "variance of each channel"},
      {"combine", "sums, or otherwise reduces, the tensors of all ranks"},
      {"conv2d_backward_input", "gradient of a convolution's input"},
      {"conv2d_backward_weight", "gradient of a convolution's weight"},
      {"conv2d_backward_weight_and_bias", "gradients of a convolution's weight and bias"},
      {"gelu_tanh", "gelu with its approximation by tanh"},
      {"least_squares", "LAPACK's least squares, for lstsq"},
      {"min_with_index", "smallest element and its index, for min and argmin"},
      {"nll", "picks each sample's loss, for nll_loss"},
      {"nll_mean", "weighted mean of the samples' losses"},
      {"batch_norm_relu_max_pool2d", "batch_norm, relu and max_pool2d of a Sequential, computed in one pass"},
      {"find_non_finite", "looks for inf and NaN in many tensors, for a GradScaler"},
      {"max_with_index", "largest element and its index, for max and argmax"},
      {"norm_relu_pool", "batch_norm, relu and max_pool2d with the given means and deviations"},
      {"norm_relu_pool_backward", "gradients of batch_norm, relu and max_pool2d, computed in one pass"},
      {"reduce_blocks", "norms of blocks of many tensors, for the norm of all gradients"},
      {"row_order", "order of the rows after the swaps of an LU factorization"},
      {"scale_all", "multiplies each of many tensors by a number, to clip gradients"},
      {"sgd", "updates all parameters in one pass, for SGD"},
      {"squared_difference", "(x - y)^2, for mse_loss"},
      {"squared_error", "sum or mean of squared differences, for mse_loss"},
      {"store_words",
       "stores a few numbers where kernels read them: an optimizer's options, or the state of a generator"},
      {"sum_of_powers", "sum of powers of absolute values, for norms"},
      {"sum_of_squares_about", "sum of squared deviations, for variances and norms"},
      {"transfer", "copies between the host and a GPU, or between GPUs"},
      {"unscale_all", "divides gradients by the scale of a GradScaler, and looks for inf and NaN"},
      {"update_scale", "updates the scale of a GradScaler"},
  };
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second;
}

std::vector<std::string> explain_names(const std::vector<OpRow>& rows, bool with_kernels) {
  std::set<std::string> names;
  for (const OpRow& row : rows) {
    names.insert(row.name);
    if (!with_kernels) continue;
    for (const OpRow& kernel : row.kernels) names.insert(kernel.name);
  }
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (const char* const text = explain_name(name)) out.push_back(name + ": " + text);
  return out;
}

}  // namespace tandem::tools::trace
