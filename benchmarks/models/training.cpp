// Benchmarks of whole models. train_step: zero_grad, forward, loss, backward, the optimizer's step, and reading the
// loss as a number. captured_train_step: replays a Graph of these calls, then reads the loss. inference: the forward
// pass alone, in evaluation mode.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/core/autocast.h"
#include "tandem/core/loop/graph.h"
#include "tandem/models/models.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/mse_loss.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/sgd.h"

namespace tandem::benchmarks {
namespace {

using Loss = Tensor (*)(const Tensor& output, const Tensor& target);
Tensor cross_entropy_criterion(const Tensor& output, const Tensor& target) { return cross_entropy(output, target); }
Tensor nll_criterion(const Tensor& output, const Tensor& target) { return nll_loss(output, target); }
Tensor mse_criterion(const Tensor& output, const Tensor& target) { return mse_loss(output, target); }

/// @param autocast  whether the forward pass and the loss run under bfloat16 autocast
template <class Optimizer, class Module, class Options>
Run training_step(bool captured, Module module, Options options, const Tensor& x, const Tensor& target, Loss loss,
                  MemoryFormat format = MemoryFormat::Contiguous, bool autocast = false) {
  module->to(device(), x.is_floating_point() ? x.dtype() : kFloat32);
  module->to(format);
  const auto optimizer = std::make_shared<Optimizer>(module->parameters(), options);
  const auto value = std::make_shared<Tensor>();
  const Run step = [=]() mutable {
    optimizer->zero_grad();
    {
      const AutocastGuard guard(device().type(), kBFloat16, autocast);
      *value = loss(module->forward(x), target);
    }
    value->backward();
    optimizer->step();
  };
  if (!captured)
    return [=] {
      step();
      value->item<float>();
      *value = {};  // frees the autograd graph, as the end of an iteration does in a training loop
    };
  step();  // the first step creates the optimizer's state, which must exist before the capture
  const auto graph = std::make_shared<Graph>();
  graph->capture(step);
  return [=] {
    graph->replay();
    value->item<float>();
  };
}
template <class Module> Run inference(Module module, const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous) {
  module->to(device());
  module->to(format);
  module->eval();
  return [=]() mutable {
    const InferenceMode guard;
    module->forward(x);
  };
}
MemoryFormat format_of_images() { return device().is_cpu() ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous; }
/// Returns the loss of predicting the next token. @param output logits (N, L, vocabulary) @param target tokens (N, L)
Tensor next_token(const Tensor& output, const Tensor& target) {
  return cross_entropy(output.flatten(0, 1), target.flatten());
}
constexpr int64_t kVocabulary = 8192;
models::GptModel small_gpt(int64_t context) {
  return models::GptModel(models::GptConfig()
                              .vocab_size(kVocabulary)
                              .n_positions(context)
                              .n_embd(256)
                              .n_layer(4)
                              .n_head(8)
                              .resid_pdrop(0)
                              .embd_pdrop(0)
                              .attn_pdrop(0));
}
Tensor random_classes(const Shapes& s) { return random_integers(10, {s[0][0]}); }

/// Number of multiply-adds in matrix products and convolutions for one row of a batch. `first_layer` counts the first
/// layer, whose input needs no gradient in training; `other_layers` counts all other layers.
struct MultiplyAdds {
  double first_layer, other_layers;
  double training(const Shapes& s) const {
    return 2 * static_cast<double>(s[0][0]) * (2 * first_layer + 3 * other_layers);
  }
  double inference(const Shapes& s) const { return 2 * static_cast<double>(s[0][0]) * (first_layer + other_layers); }
};
constexpr MultiplyAdds kMlpMultiplyAdds{784 * 128, 128 * 64 + 64 * 10};
constexpr MultiplyAdds kLenetMultiplyAdds{24 * 24 * 10 * 25, 8 * 8 * 20 * 250 + 320 * 50 + 50 * 10};
constexpr MultiplyAdds kFashionCnnMultiplyAdds{28 * 28 * 32 * 9,
                                               12 * 12 * 64 * 288 + 2304 * 600 + 600 * 120 + 120 * 10};
double gpt_flops(const Shapes& s) {  // counts only the half of the attention scores that the causal mask leaves visible
  const auto length = static_cast<double>(s[0][1]);
  return MultiplyAdds{0, length * (4 * (12 * 256 * 256 + length * 256) + 256 * kVocabulary)}.training(s);
}
template <const MultiplyAdds& Of> double training_flops(const Shapes& s) { return Of.training(s); }
template <const MultiplyAdds& Of> double inference_flops(const Shapes& s) { return Of.inference(s); }

}  // namespace

std::vector<Benchmark> training_benchmarks() {
  const std::vector<Shapes> images = {{{64, 1, 28, 28}}, {{128, 1, 28, 28}}};
  std::vector<Benchmark> all;
  for (const bool captured : {false, true}) {
    const std::string step = captured ? "/captured_train_step" : "/train_step";
    all.push_back({.name = "simple_model" + step, .cases = {{{64, 10}}, {{128, 10}}}, .prepare = [=](const Shapes& s) {
                     return training_step<optim::Adam>(captured, nn::Linear(10, 1), optim::AdamOptions(1e-3),
                                                       random_values(s[0]), random_values({s[0][0], 1}), mse_criterion);
                   }});
    all.push_back({.name = "mlp" + step,
                   .cases = {{{64, 784}}, {{128, 784}}},
                   .flops = training_flops<kMlpMultiplyAdds>,
                   .prepare = [=](const Shapes& s) {
                     return training_step<optim::SGD>(captured, models::Mlp(), optim::SGDOptions(0.01).momentum(0.9),
                                                      random_values(s[0]), random_classes(s), cross_entropy_criterion);
                   }});
    all.push_back({.name = "lenet" + step,
                   .cases = images,
                   .flops = training_flops<kLenetMultiplyAdds>,
                   .prepare = [=](const Shapes& s) {
                     return training_step<optim::SGD>(captured, models::Lenet(), optim::SGDOptions(0.01).momentum(0.5),
                                                      random_values(s[0]), random_classes(s), nll_criterion);
                   }});
    all.push_back({.name = "fashion_cnn" + step,
                   .cases = {{{64, 1, 28, 28}}, {{128, 1, 28, 28}}, {{512, 1, 28, 28}}},
                   .flops = training_flops<kFashionCnnMultiplyAdds>,
                   .prepare = [=](const Shapes& s) {
                     return training_step<optim::Adam>(captured, models::FashionCnn(), optim::AdamOptions(1e-3),
                                                       random_values(s[0]), random_classes(s), cross_entropy_criterion,
                                                       format_of_images());
                   }});
    all.push_back({.name = "gpt" + step, .cases = {{{8, 128}}}, .flops = gpt_flops, .prepare = [=](const Shapes& s) {
                     return training_step<optim::AdamW>(captured, small_gpt(s[0][1]), optim::AdamWOptions(3e-4),
                                                        random_integers(kVocabulary, s[0]),
                                                        random_integers(kVocabulary, s[0]), next_token);
                   }});
  }
  all.push_back({.name = "fashion_cnn/bfloat16_train_step",
                 .cases = {{{128, 1, 28, 28}}},
                 .flops = training_flops<kFashionCnnMultiplyAdds>,
                 .prepare = [](const Shapes& s) {
                   return training_step<optim::Adam>(false, models::FashionCnn(), optim::AdamOptions(1e-3),
                                                     random_values(s[0]).to(kBFloat16), random_classes(s),
                                                     cross_entropy_criterion, format_of_images());
                 }});
  // Under bfloat16 autocast: the forward pass and the loss. Weights, gradients and optimizer stay float32.
  for (const bool captured : {false, true}) {
    const std::string step = captured ? "/captured_bfloat16_autocast_train_step" : "/bfloat16_autocast_train_step";
    const std::vector<Shapes> batch = {{{128, 1, 28, 28}}};
    all.push_back({.name = "lenet" + step,
                   .cases = batch,
                   .flops = training_flops<kLenetMultiplyAdds>,
                   .prepare = [=](const Shapes& s) {
                     return training_step<optim::SGD>(captured, models::Lenet(), optim::SGDOptions(0.01).momentum(0.5),
                                                      random_values(s[0]), random_classes(s), nll_criterion,
                                                      MemoryFormat::Contiguous, true);
                   }});
    all.push_back({.name = "fashion_cnn" + step,
                   .cases = batch,
                   .flops = training_flops<kFashionCnnMultiplyAdds>,
                   .prepare = [=](const Shapes& s) {
                     return training_step<optim::Adam>(captured, models::FashionCnn(), optim::AdamOptions(1e-3),
                                                       random_values(s[0]), random_classes(s), cross_entropy_criterion,
                                                       format_of_images(), true);
                   }});
    all.push_back({.name = "gpt" + step, .cases = {{{8, 128}}}, .flops = gpt_flops, .prepare = [=](const Shapes& s) {
                     return training_step<optim::AdamW>(
                         captured, small_gpt(s[0][1]), optim::AdamWOptions(3e-4), random_integers(kVocabulary, s[0]),
                         random_integers(kVocabulary, s[0]), next_token, MemoryFormat::Contiguous, true);
                   }});
  }
  const std::vector<Shapes> many = {{{512, 1, 28, 28}}};
  all.push_back({.name = "mlp/inference",
                 .cases = {{{512, 784}}},
                 .flops = inference_flops<kMlpMultiplyAdds>,
                 .prepare = [](const Shapes& s) { return inference(models::Mlp(), random_values(s[0])); }});
  all.push_back({.name = "lenet/inference",
                 .cases = many,
                 .flops = inference_flops<kLenetMultiplyAdds>,
                 .prepare = [](const Shapes& s) { return inference(models::Lenet(), random_values(s[0])); }});
  all.push_back({.name = "fashion_cnn/inference",
                 .cases = many,
                 .flops = inference_flops<kFashionCnnMultiplyAdds>,
                 .prepare = [](const Shapes& s) {
                   return inference(models::FashionCnn(), random_values(s[0]), format_of_images());
                 }});
  return all;
}

}  // namespace tandem::benchmarks
