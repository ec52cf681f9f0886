// Training under autocast: three models against PyTorch's autocast (fixtures/autocast_training.json), also in float16
// with a GradScaler (fixtures/grad_scaler.json), and captured steps against eager ones.
#include <cmath>
#include <map>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/device.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

using namespace tandem;

namespace {

Tensor from_spec(const test::InputSpec& spec, uint32_t salt) {
  const std::vector<double> v = test::evaluate(spec, salt);
  Tensor t = empty(spec.shape, kFloat64);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t.to(test::test_device(), spec.kind == test::InputSpec::Kind::integer ? kInt64 : kFloat32);
}

/// The initial weights of the fixture's script.
void initialise(const nn::Module& module) {
  const NoGradGuard guard;
  std::map<std::string, Tensor> sorted;
  for (const auto& item : module.named_parameters()) sorted[item.key()] = item.value();
  uint32_t salt = 1000;
  for (auto& [name, p] : sorted) {
    const bool vector = p.dim() == 1, embedding = name == "wte.weight" || name == "wpe.weight";
    const double middle = vector && name.ends_with("weight") ? 1 : 0,
                 scale = vector      ? 0.1
                         : embedding ? 0.5
                                     : 1 / std::sqrt(static_cast<double>(p.numel() / p.size(0)));
    Tensor v = empty(p.sizes(), kFloat64);
    for (int64_t i = 0; i < v.numel(); ++i)
      v.data_ptr<double>()[i] = static_cast<float>(middle + scale * test::value(i, salt));
    p.copy_(v);
    ++salt;
  }
}

/// A model of the fixture's script; loss(inputs, targets) includes the forward under autocast.
struct Setup {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor(const Tensor&, const Tensor&)> loss;
  test::InputSpec input, target;
  double rate;
};
constexpr int64_t kHidden = 16, kLength = 8, kVocab = 11;
Setup make(const std::string& name, DType dtype) {
  const DeviceType device = test::test_device().type();
  if (name == "gpt") {
    const models::GptModel gpt(models::GptConfig()
                                   .vocab_size(kVocab)
                                   .n_positions(kLength)
                                   .n_embd(kHidden)
                                   .n_layer(2)
                                   .n_head(4)
                                   .resid_pdrop(0)
                                   .embd_pdrop(0)
                                   .attn_pdrop(0));
    const auto loss = [gpt, device, dtype](const Tensor& x, const Tensor&) {
      const AutocastGuard guard(device, dtype);
      return gpt->loss(x, x);
    };
    return {gpt.ptr(), loss, test::integer(kVocab, {4, kLength}), test::integer(kVocab, {4, kLength}), 1e-3};
  }
  if (name == "bert") {
    const models::BertEncoder bert(models::BertConfig()
                                       .hidden_size(kHidden)
                                       .num_hidden_layers(2)
                                       .num_attention_heads(4)
                                       .intermediate_size(24)
                                       .hidden_dropout_prob(0)
                                       .attention_probs_dropout_prob(0));
    const auto loss = [bert, device, dtype](const Tensor& x, const Tensor& target) {
      Tensor y;
      {
        const AutocastGuard guard(device, dtype);
        y = bert(x, Tensor());
      }
      return mse_loss(y, target);
    };
    return {bert.ptr(), loss, test::real({4, kLength, kHidden}), test::real({4, kLength, kHidden}), 1e-3};
  }
  const models::FashionCnn cnn;
  cnn->drop->eval();
  const auto loss = [cnn, device, dtype](const Tensor& x, const Tensor& target) {
    const AutocastGuard guard(device, dtype);
    return cross_entropy(cnn(x), target);
  };
  return {cnn.ptr(), loss, test::real({8, 1, 28, 28}, 0, 1), test::integer(10, {8}), 1e-4};
}

/// Losses of some steps, then the parameters. In float16 a GradScaler scales the losses; `scales` receives its scale
/// after each step.
std::vector<Tensor> train(const std::string& name, uint32_t steps, bool captured, DType dtype = kBFloat16,
                          std::vector<double>* scales = nullptr) {
  const Setup s = make(name, dtype);
  s.module->to(test::test_device());
  initialise(*s.module);
  optim::Adam optimizer(s.module->parameters(), optim::AdamOptions(s.rate));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(dtype == kFloat16).init_scale(1 << 22).growth_interval(20));
  Tensor x = from_spec(s.input, 2000), target = from_spec(s.target, 3000), loss;
  const auto step = [&] {
    optimizer.zero_grad();
    loss = s.loss(x, target);
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    loss = loss.detach();
  };
  std::vector<Tensor> out;
  Graph graph;
  for (uint32_t k = 0; k < steps; ++k) {
    x.copy_(from_spec(s.input, 2000 + k % 4));
    target.copy_(from_spec(s.target, 3000 + k % 4));
    if (captured && k == 1) graph.capture(step);  // after the optimizer's first step, which makes its state
    captured&& k > 0 ? graph.replay() : step();
    out.push_back(loss.clone());
    if (scales) scales->push_back(scaler.get_scale());
  }
  for (const Tensor& p : s.module->parameters()) {
    REQUIRE(p.dtype() == kFloat32);
    out.push_back(p.detach().clone());
  }
  return out;
}

}  // namespace

TEST_CASE("FashionCnn, GPT and BERT's encoder follow PyTorch's autocast in bfloat16", "[autocast][training]") {
  const nlohmann::json file = test::read_json("autocast_training.json");
  for (const nlohmann::json& run : file.at("runs")) {
    const std::string name = run.at("model");
    CAPTURE(name);
    const std::vector<double> losses = run.at("losses");
    const std::vector<Tensor> found = train(name, static_cast<uint32_t>(losses.size()), false);
    CHECK(losses.back() < 0.9 * losses.front());  // it learns
    for (size_t k = 0; k < losses.size(); ++k) {
      CAPTURE(k);
      // 2 %: each rounds other intermediate results to bfloat16 (softmax and norms, which PyTorch's list for the CPU
      // leaves in bfloat16), and 50 steps let the difference grow.
      CHECK(found[k].item<double>() == Approx(losses[k]).epsilon(0.02));
    }
  }
}

TEST_CASE("with a GradScaler, the three models follow PyTorch's autocast in float16", "[autocast][training]") {
  if (TANDEM_TEST_TSAN) return;  // takes 15 s there, and starts the same threads as shorter tests
  const nlohmann::json file = test::read_json("grad_scaler.json");
  for (const nlohmann::json& run : file.at("training")) {
    const std::string name = run.at("model");
    CAPTURE(name);
    const std::vector<double> losses = run.at("losses"), expected_scales = run.at("scales");
    std::vector<double> scales;
    const auto steps = static_cast<uint32_t>(losses.size());
    const std::vector<Tensor> found = train(name, steps, false, kFloat16, &scales);
    CHECK(losses.back() < 0.85 * losses.front());
    size_t skipped = 0, skipped_there = 0;
    for (size_t k = 0; k < losses.size(); ++k) {
      CAPTURE(k);
      // 2 %: as in bfloat16. Where a gradient nearly overflows, rounding decides whether a step is skipped.
      CHECK(found[k].item<double>() == Approx(losses[k]).epsilon(0.02));
      CHECK(std::abs(std::log2(scales[k] / expected_scales[k])) <= 1);
      if (k > 0) skipped += scales[k] < scales[k - 1], skipped_there += expected_scales[k] < expected_scales[k - 1];
    }
    CHECK(skipped >= 1);
    CHECK(std::abs(static_cast<int>(skipped) - static_cast<int>(skipped_there)) <= 1);
  }
}

TEST_CASE("captured training under autocast is eager training, bit for bit", "[autocast][graph]") {
  const std::string name = GENERATE("fashion_cnn", "gpt", "bert");
  const DType dtype = GENERATE(kBFloat16, kFloat16);
  CAPTURE(name, dtype);
  std::vector<double> eager_scales, replayed_scales;
  const std::vector<Tensor> eager = train(name, 8, false, dtype, &eager_scales),
                            replayed = train(name, 8, true, dtype, &replayed_scales);
  REQUIRE(eager.size() == replayed.size());
  for (size_t i = 0; i < eager.size(); ++i) CHECK(replayed[i].equal(eager[i]));
  CHECK(replayed_scales == eager_scales);
  // float16: the first step and others are skipped, so the state is created by a skipped step
  CHECK((eager_scales.front() == (dtype == kFloat16 ? 1 << 21 : 1)));
}

TEST_CASE("a captured step casts the weights anew, and one that it uses twice once", "[autocast][graph]") {
  nn::Linear net(4, 4);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.5));
  const Tensor x = randn({3, 4});
  Tensor loss;
  const AutocastGuard guard(kCPU, kBFloat16);  // the region outlives the capture
  const auto step = [&] {
    optimizer.zero_grad();
    loss = net(net(x).tanh()).sum();
    loss.backward();
    optimizer.step();
    loss = loss.detach();
  };
  net(x);  // its casts are in the cache when the capture begins
  const auto start = std::dynamic_pointer_cast<nn::LinearImpl>(net->clone());
  step();
  std::vector<Tensor> eager{loss.clone()};
  for (int i = 0; i < 3; ++i) step(), eager.push_back(loss.clone());
  {
    const NoGradGuard no_grad;
    net->weight.copy_(start->weight), net->bias.copy_(start->bias);
  }
  net(x);
  Graph graph;
  graph.capture(step);
  for (const Tensor& expected : eager) {
    graph.replay();
    CHECK(loss.equal(expected));
  }
  const Tensor y = net(x);  // no cast of the capture, whose memory is the graph's
  CHECK(y.equal(linear(x.to(kBFloat16), net->weight.to(kBFloat16), net->bias.to(kBFloat16))));
}
