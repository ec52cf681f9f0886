// Tests that sequence modules give the same results on a GPU as on the CPU, forward and backward.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace rnn = nn::utils::rnn;

/// Runs forward(to) on the CPU and on the GPU, where `to` moves a tensor to the device. Compares the output and the
/// gradients of the module's parameters.
static void check_on_gpu(nn::Module& m,
                         const std::function<Tensor(const std::function<Tensor(const Tensor&)>& to)>& forward) {
  INFO(m.name());
  const auto run = [&](Device device) {
    m.to(device);
    m.zero_grad();
    const Tensor y = forward([&](const Tensor& x) { return x.to(device); });
    CHECK(y.device().is_cuda() == (device != Device(kCPU)));
    (y * y).sum().backward();
    std::vector<Tensor> out = {y.detach().cpu()};
    for (const Tensor& p : m.parameters()) out.push_back(p.grad().defined() ? p.grad().cpu().clone() : zeros({}));
    return out;
  };
  const std::vector<Tensor> expected = run(kCPU), found = run(kCUDA);
  // Tolerance: sums of up to a hundred products of numbers near 1, in another order.
  for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i].allclose(expected[i], 1e-4, 1e-5));
}

TEST_CASE("modules on sequences give on a GPU what they give on the CPU", "[nn][recurrent][cuda]") {
  if (!cuda::is_available()) {
    WARN("SKIPPED: there is no GPU");
    return;
  }
  manual_seed(8);
  const Tensor x = randn({5, 3, 3}), source = randn({5, 2, 4}), target = randn({3, 2, 4});
  nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).proj_size(2));
  check_on_gpu(*lstm, [&](const auto& to) {
    const auto packed = rnn::pack_padded_sequence(to(x), tensor({2, 5, 4}), false, /*enforce_sorted=*/false);
    return std::get<0>(rnn::pad_packed_sequence(std::get<0>(lstm->forward_with_packed_input(packed))));
  });
  nn::GRU gru(3, 4);
  check_on_gpu(*gru, [&](const auto& to) { return std::get<0>(gru(to(x))); });
  nn::Transformer transformer(nn::TransformerOptions(4, 2, 1, 1).dim_feedforward(6).dropout(0));
  const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(3);
  const Tensor padding = tensor({{0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}}) != 0;
  check_on_gpu(*transformer, [&](const auto& to) {
    return transformer(to(source), to(target), Tensor(), to(mask), Tensor(), to(padding));
  });
  for (const nn::EmbeddingBagMode& mode :
       {nn::EmbeddingBagMode(kSum), nn::EmbeddingBagMode(kMean), nn::EmbeddingBagMode(kMax)}) {
    nn::EmbeddingBag bag(nn::EmbeddingBagOptions(6, 3).mode(mode).padding_idx(1).max_norm(0.5));
    check_on_gpu(*bag, [&](const auto& to) { return bag(to(tensor({1, 2, 3, 4, 1})), to(tensor({0, 2, 2}))); });
  }
  nn::Embedding table(nn::EmbeddingOptions(6, 3).scale_grad_by_freq(true));
  check_on_gpu(*table, [&](const auto& to) { return table(to(tensor({1, 2, 3, 4, 1}))); });
}

}  // namespace tandem
