// Tests twenty steps of four models against PyTorch, from the same weights and batches (fixtures/training.json), and
// training in bfloat16.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/device.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

using namespace tandem;
using nlohmann::json;

namespace {

Tensor from_spec(const test::InputSpec& spec, uint32_t salt, DType dtype) {
  const std::vector<double> v = test::evaluate(spec, salt);
  Tensor t = empty(spec.shape, kFloat64);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t.to(test::test_device(), spec.kind == test::InputSpec::Kind::integer ? kInt64 : dtype);
}

/// A model as in the fixture's script (without dropout), with its loss and optimizer.
struct Setup {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor(const Tensor&)> forward;
  test::InputSpec input = test::real({16, 1, 28, 28}, 0, 1), target = test::integer(10, {16});
  std::function<Tensor(const Tensor& output, const Tensor& target)> loss;
  std::unique_ptr<optim::Optimizer> optimizer;
};
template <class Model> void take(Setup& s, const Model& model, DType dtype) {
  s.module = model.ptr();
  s.module->to(test::test_device(), dtype);
  s.forward = [model](const Tensor& x) { return model(x); };
}
Setup make(const std::string& name, DType dtype) {
  Setup s;
  s.loss = [](const Tensor& x, const Tensor& target) { return cross_entropy(x, target); };
  if (name == "simple_model") {
    take(s, nn::Linear(10, 1), dtype);
    s.input = test::real({16, 10}, 0, 1), s.target = test::real({16, 1});
    s.loss = [](const Tensor& x, const Tensor& target) { return mse_loss(x, target); };
    s.optimizer = std::make_unique<optim::Adam>(s.module->parameters(), optim::AdamOptions(1e-3));
  } else if (name == "mlp") {
    take(s, models::Mlp(), dtype);
    s.optimizer = std::make_unique<optim::SGD>(s.module->parameters(), optim::SGDOptions(0.01).momentum(0.9));
  } else if (name == "lenet") {
    take(s, models::Lenet(), dtype);
    s.module->eval();  // only turns dropout off
    s.loss = [](const Tensor& x, const Tensor& target) { return nll_loss(x, target); };
    s.optimizer = std::make_unique<optim::SGD>(s.module->parameters(), optim::SGDOptions(0.01).momentum(0.5));
  } else {
    const models::FashionCnn cnn;
    cnn->drop->eval();
    take(s, cnn, dtype);
    s.optimizer = std::make_unique<optim::Adam>(s.module->parameters(), optim::AdamOptions(1e-3));
  }
  return s;
}

/// Sets the initial weights of the fixture's script.
void initialise(nn::Module& root) {
  const NoGradGuard guard;
  uint32_t salt = 1000;
  for (const auto& module : root.modules()) {
    const bool norm = module->as<nn::BatchNorm2d>() != nullptr;
    const nn::NamedParameters own = module->named_parameters(/*recurse=*/false);
    const double fan_in =
        own.contains("weight") ? static_cast<double>(own.begin()->value().numel() / own.begin()->value().size(0)) : 1;
    for (const auto& item : own) {
      Tensor p = item.value();
      Tensor v = empty(p.sizes(), kFloat64);
      const double middle = norm && item.key() == "weight" ? 1 : 0, scale = norm ? 0.1 : 1 / std::sqrt(fan_in);
      for (int64_t i = 0; i < v.numel(); ++i)
        v.data_ptr<double>()[i] = static_cast<float>(middle + scale * test::value(i, salt));
      p.copy_(v);
      ++salt;
    }
  }
}

/// Returns the norm of a tensor, and sum_i v_i * value(i, 7), which depends on the order of elements.
std::array<double, 2> summary(const Tensor& t) {
  const Tensor v = t.detach().cpu().to(kFloat64).contiguous();
  double squares = 0, weighted = 0;
  for (int64_t i = 0; i < v.numel(); ++i) {
    const double x = v.data_ptr<double>()[i];
    squares += x * x;
    weighted += x * test::value(i, test::kChecksumSalt);
  }
  return {std::sqrt(squares), weighted};
}
/// Returns the tolerance of both numbers of a summary, relative to the norm. (The weighted sum is of the same size, but
/// may cancel.) float64: 1e-6. Rounding errors of 1e-16 grow over twenty steps, most of all if Adam divides a small
/// gradient by the root of its mean square. float32: 1e-3, because its rounding errors are 5e8 times as large and sums
/// are added in another order. float32 gradients: 1e-2, because two elements of a pooling window may differ by less
/// than
/// rounding. Then the gradient goes to the other element, which changed gradients of earlier layers by 4e-3.
double tolerance(DType dtype, bool gradients) { return dtype == kFloat64 ? 1e-6 : gradients ? 1e-2 : 1e-3; }
/// Returns the tolerance for a bias before batch norm (`rounding_only`), whose gradient is only rounding error. In
/// float64
/// the gradient is far below Adam's eps. In float32, Adam turns it into steps of up to lr with any sign. After twenty
/// steps two runs may differ by up to 2 * 20 * lr = 0.04 per element, and so may the running means of the batch norm.
double noise_margin(const Tensor& t) { return 0.04 * std::sqrt(static_cast<double>(t.numel())); }

void compare(const nn::NamedParameters& ours, const json& theirs, DType dtype, bool gradients, const json& noise) {
  for (const auto& [name, expected] : theirs.items()) {
    const bool is_noise = std::find(noise.begin(), noise.end(), name) != noise.end();
    if (is_noise && gradients) continue;
    CAPTURE(name);
    REQUIRE(ours.contains(name));
    const Tensor& found = *ours.find(name);
    const bool follows = is_noise || (!noise.empty() && name.ends_with("running_mean"));
    const double size = expected[0];
    const double margin = follows && dtype == kFloat32 ? noise_margin(found) : tolerance(dtype, gradients) * size;
    const auto [norm, weighted] = summary(found);
    CHECK(norm == Approx(size).epsilon(0).margin(margin));
    CHECK(weighted == Approx(expected[1].get<double>()).epsilon(0).margin(margin));
  }
}

void follow(const json& run) {
  const std::string name = run.at("model");
  const DType dtype = run.at("dtype") == "float64" ? kFloat64 : kFloat32;
  CAPTURE(name, dtype);
  const Setup s = make(name, dtype);
  initialise(*s.module);

  const nn::NamedParameters parameters = s.module->named_parameters();
  REQUIRE(parameters.size() == run.at("parameters").size());
  for (const auto& item : parameters) {
    CAPTURE(item.key());
    REQUIRE(run.at("parameters").contains(item.key()));
    REQUIRE(item.value().sizes() == IntArrayRef(run.at("parameters").at(item.key()).get<std::vector<int64_t>>()));
  }
  const json& losses = run.at("losses");
  const json& noise = run.at("rounding_only");
  // An emulated GPU takes a second for work that a GPU does in a millisecond.
  const bool emulated = test::test_device().is_cuda() && gpu::implementation() == std::string("emulated");
  const size_t steps = emulated && name != "simple_model" ? 2 : losses.size();
  for (uint32_t step = 1; step <= steps; ++step) {
    CAPTURE(step);
    s.optimizer->zero_grad();
    const Tensor loss =
        s.loss(s.forward(from_spec(s.input, 2000 + step, dtype)), from_spec(s.target, 3000 + step, dtype));
    loss.backward();
    CHECK(loss.item<double>() == Approx(losses[step - 1].get<double>()).epsilon(tolerance(dtype, false)));
    nn::NamedParameters gradients;
    for (const auto& item : parameters) gradients.insert(item.key(), item.value().grad());
    s.optimizer->step();
    const auto details = run.at("steps").find(std::to_string(step));
    if (details == run.at("steps").end()) continue;
    compare(gradients, details->at("gradients"), dtype, true, noise);
    compare(parameters, details->at("values"), dtype, false, noise);
    compare(s.module->named_buffers(), details->at("buffers"), dtype, false, noise);
  }
}

}  // namespace

TEST_CASE("LeNet trains in bfloat16, all of it", "[models][training]") {
  // Two classes that differ in the bright half of the image.
  if (test::test_device().is_cuda() && gpu::implementation() == std::string("emulated")) {
    WARN("SKIPPED: an emulated GPU takes too long to learn it");
    return;
  }
  for (const char* optimizer : {"sgd", "adam"}) {
    CAPTURE(optimizer);
    manual_seed(5);
    const models::Lenet net;
    net->to(test::test_device(), kBFloat16);
    net->eval();  // turns dropout off, so that losses can be compared
    const Tensor target = arange(32).remainder(2).to(test::test_device(), kInt64);
    Tensor x = rand({32, 1, 28, 28});
    for (int64_t i = 0; i < 32; ++i) x.select(0, i).narrow(1, 14 * (i % 2), 14).add_(1.0);
    x = x.to(test::test_device(), kBFloat16);
    std::unique_ptr<optim::Optimizer> steps;
    if (optimizer == std::string("sgd"))
      steps = std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.01).momentum(0.9));
    else
      steps = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(2e-3));
    double first = 0, last = 0;
    for (int step = 0; step < 30; ++step) {
      steps->zero_grad();
      const Tensor loss = nll_loss(net(x), target);
      REQUIRE(loss.dtype() == kBFloat16);
      loss.backward();
      steps->step();
      last = loss.item<double>();
      if (step == 0) first = last;
    }
    CHECK(first > 1);  // the loss starts near ln 10
    CHECK(last < 0.1 * first);
    for (const Tensor& p : net->parameters()) {
      CHECK(p.dtype() == kBFloat16);
      CHECK(p.grad().dtype() == kBFloat16);
      CHECK(p.isfinite().all().item<bool>());
    }
  }
}

TEST_CASE("twenty steps of four models follow PyTorch's", "[models][training]") {
  const json fixture = test::read_json("training.json");
  REQUIRE(fixture.at("runs").size() == 8);
  for (const json& run : fixture.at("runs")) follow(run);
}
