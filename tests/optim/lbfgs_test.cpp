// L-BFGS against PyTorch's: fixtures/optim.json.
#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"

namespace tandem::test {
namespace {

/// Rosenbrock's function of all parameters in a row, as the fixture's script has it.
optim::Optimizer::LossClosure rosenbrock(optim::Optimizer& optimizer, const Parameters& p, int64_t& calls) {
  return [&optimizer, p, &calls] {
    ++calls;
    optimizer.zero_grad();
    std::vector<Tensor> parts;
    for (const Tensor& t : p) parts.push_back(t.reshape({-1}));
    const Tensor x = cat(parts), before = x.slice(0, 0, -1), after = x.slice(0, 1);
    const Tensor loss = ((after - before.square()).square() * 5 + (1 - before).square()).sum();
    loss.backward();
    return loss;
  };
}
optim::LBFGSOptions read_lbfgs_options(const nlohmann::json& o) {
  optim::LBFGSOptions options = read_options(optim::LBFGSOptions(), o);
  if (o.contains("line_search_fn")) options.line_search_fn(o["line_search_fn"].get<std::string>());
  return options;
}
Parameters start(DType dtype) {
  return {from_formula({3, 4}, 1, dtype).requires_grad_(), from_formula({5}, 2, dtype).requires_grad_()};
}

}  // namespace

TEST_CASE("LBFGS calls its closure as often as PyTorch's and finds the same parameters", "[optim]") {
  const nlohmann::json rows = read_json("optim.json").at("lbfgs");
  CHECK(rows.size() == 9);
  for (const nlohmann::json& row : rows) {
    const std::string name = row.at("name");
    CAPTURE(name);
    const DType dtype = name.ends_with("/float32") ? kFloat32 : kFloat64;
    const Parameters p = start(dtype);
    optim::LBFGS optimizer(p, read_lbfgs_options(row.at("options")));
    int64_t calls = 0;
    const auto closure = rosenbrock(optimizer, p, calls);
    for (const nlohmann::json& step : row.at("steps")) {
      const Tensor loss = optimizer.step(closure);
      // Roundings grow as a search goes on: by the curvature, and by the quotients of small differences.
      const double margin = dtype == kFloat64 ? 1e-8 : 1e-3;
      CHECK(loss.item<double>() == Approx(step.at("loss").get<double>()).epsilon(margin));
      CHECK(calls == step.at("calls"));
      for (size_t k = 0; k < 2; ++k) {
        const auto expected = step.at(k == 0 ? "a" : "b").get<std::vector<double>>();
        const Tensor found = p[k].detach().to(kFloat64);
        for (size_t i = 0; i < expected.size(); ++i)
          CHECK(found.data_ptr<double>()[i] == Approx(expected[i]).epsilon(0).margin(margin));
      }
    }
  }
}

TEST_CASE("LBFGS goes on from a saved state bit for bit, with a history that was full", "[optim]") {
  const bool search = GENERATE(true, false);
  const Parameters whole = start(kFloat32), parts = start(kFloat32);
  auto options = optim::LBFGSOptions(search ? 1 : 0.1).max_iter(3).history_size(4);
  if (search) options.line_search_fn("strong_wolfe");
  optim::LBFGS ten(whole, options), five(parts, options), more(parts);
  int64_t calls = 0;
  for (int step = 0; step < 10; ++step) ten.step(rosenbrock(ten, whole, calls));
  for (int step = 0; step < 5; ++step) five.step(rosenbrock(five, parts, calls));
  CHECK(five.state().size() == 6 + 3 * 4);
  more.load_state(five.state(), five.settings());
  CHECK(more.settings() == five.settings());
  for (int step = 0; step < 5; ++step) more.step(rosenbrock(more, parts, calls));
  for (size_t k = 0; k < 2; ++k) CHECK(whole[k].equal(parts[k]));
}

TEST_CASE("LBFGS counts a parameter without a gradient as one that does not matter", "[optim]") {
  const Parameters p = {ones({3}).requires_grad_(), ones({2}).requires_grad_()};
  optim::LBFGS optimizer(p, optim::LBFGSOptions().line_search_fn("strong_wolfe"));
  for (int step = 0; step < 2; ++step)
    optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor loss = (p[0] - 3).square().sum();
      loss.backward();
      return loss;
    });
  CHECK(p[1].equal(ones({2})));
  CHECK(p[0].detach().allclose(full({3}, 3.0), 1e-5));
}

#if TANDEM_TEST_EMULATED
TEST_CASE("LBFGS on a GPU finds what it finds on the CPU", "[optim][cuda]") {
  const Parameters here = start(kFloat32);
  Parameters there;
  for (const Tensor& p : here) there.push_back(p.detach().to(kCUDA).requires_grad_());
  const auto options = optim::LBFGSOptions().max_iter(4).line_search_fn("strong_wolfe");
  optim::LBFGS a(here, options), b(there, options);
  int64_t calls = 0;
  for (int step = 0; step < 2; ++step) a.step(rosenbrock(a, here, calls)), b.step(rosenbrock(b, there, calls));
  for (size_t k = 0; k < 2; ++k) CHECK(there[k].detach().cpu().allclose(here[k].detach(), 1e-3, 1e-3));
}
#endif

TEST_CASE("LBFGS refuses what it cannot do", "[optim]") {
  using optim::LBFGS, optim::LBFGSOptions;
  const Tensor w = ones({2}).requires_grad_(), v = ones({2}, kFloat64).requires_grad_();
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions(-1)), Contains("LBFGS: lr is -1"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().max_iter(0)), Contains("max_iter is 0"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().history_size(0)), Contains("history_size 0"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().line_search_fn("armijo")),
                    Contains("line_search_fn is 'armijo'; accepted: 'strong_wolfe'"));
  CHECK_THROWS_WITH(LBFGS({optim::OptimizerParamGroup({w}), optim::OptimizerParamGroup({v})}),
                    Contains("2 parameter groups; accepted: one"));
  LBFGS optimizer({w});
  CHECK_THROWS_WITH(optimizer.step(), Contains("LBFGS: step() was called without a closure"));
  Graph graph;
  CHECK_THROWS_WITH(graph.capture([&] { optimizer.step([&] { return w.sum(); }); }), Contains("LBFGS"));
  LBFGS mixed({w, v});
  CHECK_THROWS_WITH(mixed.step([&] { return w.sum(); }), Contains("float32") && Contains("float64"));
}

}  // namespace tandem::test
