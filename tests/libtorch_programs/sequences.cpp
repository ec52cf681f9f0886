// Sequence networks written for LibTorch: an LSTM on packed sequences that learns to count, a GRU cell, attention, a
// transformer that learns to copy, and modules in AnyModule and Sequential.
#include <torch/torch.h>

#include <cstdlib>
#include <iostream>

namespace rnn = torch::nn::utils::rnn;

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::cerr << __FILE__ << ":" << __LINE__ << ": " #condition << "\n"; \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

struct CounterImpl : torch::nn::Module {
  CounterImpl(int64_t words, int64_t size)
      : embedding(torch::nn::EmbeddingOptions(words, size).padding_idx(0)),
        lstm(torch::nn::LSTMOptions(size, size).num_layers(2).dropout(0.0).bidirectional(false)),
        out(size, 1) {
    register_module("embedding", embedding);
    register_module("lstm", lstm);
    register_module("out", out);
  }
  torch::Tensor forward(const torch::Tensor& words, const torch::Tensor& lengths) {
    lstm->flatten_parameters();
    const auto packed = rnn::pack_padded_sequence(embedding(words), lengths, /*batch_first=*/false, false);
    auto [output, state] = lstm->forward_with_packed_input(packed);
    auto [h, c] = state;
    return out(h[-1]).squeeze(1);
  }
  torch::nn::Embedding embedding;
  torch::nn::LSTM lstm;
  torch::nn::Linear out;
};
TORCH_MODULE(Counter);

// Trains a network to count the ones in a sequence.
static void count() {
  Counter model(3, 8);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.02));
  const auto sequences = std::vector<torch::Tensor>{torch::tensor({1, 2, 1}), torch::tensor({2, 2}),
                                                    torch::tensor({1, 1, 1, 2}), torch::tensor({1})};
  const auto words = rnn::pad_sequence(sequences);
  const auto lengths = torch::tensor({3, 2, 4, 1}), target = torch::tensor({2.0f, 0.0f, 3.0f, 1.0f});
  float loss = 0;
  for (int step = 0; step < 150; ++step) {
    optimizer.zero_grad();
    auto error = torch::nn::functional::mse_loss(model(words, lengths), target);
    error.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    loss = error.item<float>();
  }
  REQUIRE(loss < 0.05);
}

// Trains a transformer to copy its source, shifted by one position.
static void copy() {
  torch::nn::Transformer model(torch::nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(16).dropout(0.0));
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.01));
  const auto source = torch::randn({4, 3, 8});
  const auto mask = torch::nn::TransformerImpl::generate_square_subsequent_mask(4);
  float first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    auto error = torch::mse_loss(model(source, torch::zeros_like(source), torch::Tensor(), mask), source);
    error.backward();
    optimizer.step();
    (step == 0 ? first : last) = error.item<float>();
  }
  REQUIRE(last < 0.7f * first);
}

struct ScaledImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, double factor, bool negate = false) {
    return negate ? x * -factor : x * factor;
  }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, torch::nn::AnyValue(false)})
};
TORCH_MODULE(Scaled);

int main() {
  torch::manual_seed(1);
  count();
  copy();

  torch::nn::GRUCell cell(torch::nn::GRUCellOptions(3, 4).bias(false));
  torch::Tensor h;
  for (const auto& x : torch::ones({5, 2, 3}).unbind(0)) h = cell(x, h);
  REQUIRE(h.sizes() == torch::IntArrayRef({2, 4}));
  torch::nn::RNN plain(torch::nn::RNNOptions(3, 4).nonlinearity(torch::kReLU).batch_first(true));
  auto [output, state] = plain(torch::ones({2, 5, 3}));
  REQUIRE(output.select(1, 4).allclose(state[0]));
  REQUIRE(plain->all_weights().size() == 4);

  torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(6, 2).kdim(3).vdim(3));
  auto [attended, weights] = attention(torch::randn({2, 1, 6}), torch::randn({5, 1, 3}), torch::randn({5, 1, 3}));
  REQUIRE(weights.sum(-1).allclose(torch::ones({1, 2})));
  torch::nn::TransformerEncoder encoder(
      torch::nn::TransformerEncoderOptions(torch::nn::TransformerEncoderLayerOptions(6, 2).activation(torch::kGELU), 2)
          .norm(torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({6})))));
  REQUIRE(encoder(attended).sizes() == attended.sizes());

  auto table = torch::nn::Embedding::from_pretrained(torch::arange(6.0).view({3, 2}));
  REQUIRE(!table->weight.requires_grad());
  torch::nn::EmbeddingBag bag(torch::nn::EmbeddingBagOptions(3, 2).mode(torch::kSum));
  REQUIRE(bag(torch::tensor({0, 1, 1}), torch::tensor({0, 1})).size(0) == 2);
  torch::nn::Bilinear bilinear(torch::nn::BilinearOptions(2, 3, 4));
  REQUIRE(bilinear(torch::ones({5, 2}), torch::ones({5, 3})).size(1) == 4);

  Scaled scaled;
  torch::nn::Sequential chain(scaled, torch::nn::Functional(torch::relu));
  REQUIRE(chain->forward(torch::ones({2}), 3.0).equal(torch::full({2}, 3.0)));
  REQUIRE(chain->forward<torch::Tensor>(torch::ones({2}), 3.0, true).equal(torch::zeros({2})));
  torch::nn::AnyModule any(torch::nn::LSTM(3, 4));
  const auto any_output = any.any_forward(torch::ones({5, 2, 3}))
                              .get<std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>>>();
  REQUIRE(std::get<0>(any_output).size(2) == 4);
  REQUIRE(any.get<torch::nn::LSTM>()->options.hidden_size() == 4);

  const auto vector = torch::nn::utils::parameters_to_vector(cell->parameters());
  torch::nn::utils::vector_to_parameters(vector * 2, cell->parameters());
  REQUIRE(torch::nn::utils::parameters_to_vector(cell->parameters()).equal(vector * 2));
}
