// Implements apply_in_groups(): replaces the forward of batch norm and dropout layers by one that processes the batch
// in groups of rows.
#include "tandem/tools/explain/groups.h"

#include "tandem/tandem.h"

namespace tandem::tools::explain {
namespace {

template <class... Layers> struct LayerTypes {
  static bool matches(const nn::Module& module) { return (dynamic_cast<const Layers*>(&module) || ...); }
  /// Runs the layer's forward without its hooks. Returns false if the layer has none of the types in `Layers`.
  static bool forward(nn::Module& module, const Tensor& x, Tensor& y) {
    const auto try_one = [&]<class Layer>(Layer* layer) {
      if (layer) y = layer->forward(x);
      return layer != nullptr;
    };
    return (try_one(dynamic_cast<Layers*>(&module)) || ...);
  }
};
using BatchNorms = LayerTypes<nn::BatchNorm1dImpl, nn::BatchNorm2dImpl, nn::BatchNorm3dImpl>;
using Dropouts = LayerTypes<nn::DropoutImpl, nn::Dropout2dImpl, nn::Dropout3dImpl, nn::AlphaDropoutImpl,
                            nn::FeatureAlphaDropoutImpl>;

Tensor forward_in_groups(nn::Module& layer, const Tensor& x, const std::vector<RowGroup>& groups) {
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const RowGroup& group : groups) {
    std::vector<Tensor> before;
    for (const Tensor& buffer : layer.buffers()) before.push_back(buffer.clone());
    const auto rows = static_cast<int64_t>(group.rows.size());
    const GeneratorGuard guard(default_generator(x.device(), group.replica));
    const Tensor part = x.narrow(0, first, rows);
    Tensor y;
    if (!BatchNorms::forward(layer, part, y)) Dropouts::forward(layer, part, y);
    parts.push_back(y);
    first += rows;
    const NoGradGuard no_grad;
    const std::vector<Tensor> buffers = layer.buffers();
    for (size_t i = 0; group.replica > 0 && i < buffers.size(); ++i) Tensor(buffers[i]).copy_(before[i]);
  }
  return tandem::cat(parts, 0);
}

}  // namespace

bool is_batch_norm(const nn::Module& module) { return BatchNorms::matches(module); }
bool is_dropout(const nn::Module& module) { return Dropouts::matches(module); }

void apply_in_groups(nn::Module& layer, const std::shared_ptr<std::vector<RowGroup>>& groups) {
  // In evaluation mode, rows do not influence each other and no random numbers are drawn.
  if (!layer.is_training()) return;
  // A hook cannot prevent the layer's own forward from running. So the pre-hook switches the layer to evaluation mode,
  // in which forward changes no buffer and draws no random number, and the forward hook discards its result.
  const auto training = std::make_shared<bool>(false);
  layer.register_forward_pre_hook([training](nn::Module& m, const std::vector<Tensor>&) {
    *training = m.is_training();
    m.eval();
  });
  layer.register_forward_hook([=](nn::Module& m, const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    // If a forward hook returns an undefined tensor, the layer's own output remains the result of the call.
    if (!*training) return Tensor();
    m.train();
    return forward_in_groups(m, inputs[0], *groups);
  });
}

}  // namespace tandem::tools::explain
