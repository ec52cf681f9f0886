// Tests the memory use of attention with dropout and in half precision, by the allocator's counters: neither needs
// memory for L x S numbers.
#include <functional>

#include "tandem/models/bert.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem::test::attention_memory {
namespace {

constexpr int64_t kLength = 512;

/// Returns the most bytes that forward and backward of `run` use at a time, in addition to the memory in use before.
/// `run` returns the output.
int64_t peak_of_step(const std::function<Tensor()>& run) {
  const int64_t before = memory_stats().current;
  reset_peak_memory_stats();
  const Tensor y = run();
  y.backward(y.detach());
  return memory_stats().peak - before;
}
class OneThread {  // each thread has its own scratch memory
 public:
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(saved_); }
  OneThread(const OneThread&) = delete;

 private:
  int saved_ = get_num_threads();
};

int64_t attention_peak(DType dtype, double dropout_p, const Tensor& mask = {}) {
  manual_seed(1);
  std::vector<Tensor> in;
  for (int i = 0; i < 3; ++i) in.push_back(randn({2, 4, kLength, 64}).to(dtype).requires_grad_());
  return peak_of_step([&] { return scaled_dot_product_attention(in[0], in[1], in[2], mask, dropout_p); });
}
/// Returns the peak of the second step of a layer, before which the gradients of the parameters exist.
int64_t layer_peak(const std::function<Tensor(const Tensor&)>& layer, const Tensor& x, bool low_precision) {
  const auto step = [&] {
    const AutocastGuard guard(kCPU, kBFloat16, low_precision);
    return layer(x);
  };
  peak_of_step(step);
  return peak_of_step(step);
}

}  // namespace

TEST_CASE("Attention with dropout takes at most 5 % more memory, and in bfloat16 less than in float32",
          "[nn][attention][memory]") {
  const OneThread one;
  const int64_t plain = attention_peak(kFloat32, 0), weights = 2 * 4 * kLength * kLength * 4;
  CAPTURE(plain, weights);
  {
    const FusionGuard off(false);  // the test measures what it is meant to
    CHECK(attention_peak(kFloat32, 0.1) > 2 * weights);
  }
  CHECK(plain < weights);
  const int64_t with_dropout = attention_peak(kFloat32, 0.1);
  CAPTURE(with_dropout);
  CHECK(with_dropout <= 1.05 * plain);
  for (const DType half : {kBFloat16, kFloat16}) {
    const Tensor padding = ones({2, 1, 1, kLength}, half);
    const int64_t found = attention_peak(half, 0), found_with_dropout = attention_peak(half, 0.1, padding);
    CAPTURE(half, found, found_with_dropout);
    CHECK(found <= plain);
    CHECK(found_with_dropout <= 1.05 * found);
  }
}

TEST_CASE("A BERT encoder with dropout at length 512 takes at most 5 % more memory, and less under autocast",
          "[nn][attention][memory]") {
  const OneThread one;
  const int64_t heads = 8, layers = 3;
  const Tensor x = randn({1, kLength, 128}), seen = ones({1, 1, 1, kLength}, kBool);
  const auto peak = [&](double attention_dropout, double hidden_dropout, bool low_precision) {
    models::BertEncoder encoder(models::BertConfig()
                                    .hidden_size(128)
                                    .num_attention_heads(heads)
                                    .num_hidden_layers(layers)
                                    .intermediate_size(512)
                                    .attention_probs_dropout_prob(attention_dropout)
                                    .hidden_dropout_prob(hidden_dropout));
    return layer_peak([&](const Tensor& in) { return encoder(in, seen); }, x, low_precision);
  };
  const int64_t plain = peak(0, 0, false), attention = peak(0.1, 0, false), all = peak(0.1, 0.1, false);
  const int64_t plain_low = peak(0, 0, true), attention_low = peak(0.1, 0, true), all_low = peak(0.1, 0.1, true);
  CAPTURE(plain, attention, all, plain_low, attention_low, all_low);
  CHECK(attention - plain <= 24 * layers);  // a random state for each layer
  CHECK(attention_low - plain_low <= 24 * layers);
  CHECK(all <= 1.05 * plain);  // dropout of hidden states also keeps masks
  CHECK(plain_low <= plain);
  CHECK(all_low <= plain);
}

TEST_CASE("A transformer layer with dropout keeps no attention weights, in float32 and under autocast",
          "[nn][attention][memory]") {
  const OneThread one;
  const int64_t heads = 8, weights = heads * kLength * kLength * 4;
  nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(64, heads).dim_feedforward(64).dropout(0.1));
  const Tensor x = randn({kLength, 1, 64}), padding = zeros({1, kLength}, kBool);
  const auto peak = [&](bool low_precision) {
    return layer_peak([&](const Tensor& in) { return layer(in, Tensor(), padding); }, x, low_precision);
  };
  for (const bool low_precision : {false, true}) {
    CHECK(peak(low_precision) < weights / 2);
    const FusionGuard off(false);
    CHECK(peak(low_precision) > weights);
  }
}

}  // namespace tandem::test::attention_memory
