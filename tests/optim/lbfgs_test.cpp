// Tests L-BFGS against PyTorch (fixtures/optim.json).
#include <cmath>

#include "tandem/optim/strong_wolfe.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"

namespace tandem::test {
namespace {

/// Returns a closure of Rosenbrock's function of all parameters, concatenated, as in the fixture's script.
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
      // Rounding errors grow during a search, through the curvature and through quotients of small differences.
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

// Expected: step sizes, losses and evaluation counts of torch.optim.lbfgs._strong_wolfe in PyTorch 2.15. In half of the
// rows, some point lowers the loss enough, but less than the best earlier point.
TEST_CASE("the line search takes PyTorch's steps along curves of many minima", "[optim]") {
  struct Row {
    double height, frequency, phase, width, first, step, loss;
    int64_t evaluations;
  };
  // clang-format off
  const Row rows[] = {
      {0.21, 3.5, 3.9, 0.5, 3.29, 0.730789640697, 0.0545940835799, 2},
      {0.27, 2.7, 0.5, 1, 0.28, 1.36675794911, -0.166767509202, 3},
      {0.23, 4.5, 1.1, 0.5, 0.37, 0.81679089412, -0.221149856212, 4},
      {0.5, 10.6, 1.7, 1, 3.95, 1.44833229659, -0.386735296195, 5},
      {0.24, 11.2, 1.2, 1, 2.96, 0.335898704642, -0.0120429115494, 6},
      {0.3, 8.3, 1.5, 2, 3.08, 1.14650613046, -0.278473369044, 4},
      {0.57, 2.4, 4.5, 2, 1.3, 0.460214051834, -0.066454061418, 2},
      {0.16, 9.4, 5.7, 2, 3.66, 0.615691609092, 0.00666503508982, 4},
      {0.16, 10.8, 4.7, 1, 2.51, 1.17950339488, -0.14184876336, 4},
      {0.51, 8.7, 3.9, 2, 2.82, 0.800754147465, -0.466062650228, 4},
      {0.43, 8.3, 1.5, 1, 1.96, 1.87180743191, -0.0373677501022, 3},
      {0.12, 11.3, 0.4, 2, 0.81, 0.930705147961, -0.114827679052, 4},
      {0.39, 10.2, 4.9, 1, 3.98, 0.605020868907, -0.310880641951, 6},
      {0.12, 9.7, 4.3, 0.5, 2.42, 0.68407128272, -0.0948307296531, 4},
      {0.11, 7.7, 4.5, 0.5, 3.8, 0.825145527195, -0.101250040829, 4},
  };
  // clang-format on
  for (const Row& row : rows) {
    CAPTURE(row.height, row.frequency, row.phase);
    const auto point = [&](double t) {
      const double angle = row.frequency * t + row.phase,
                   directional_derivative = row.width * (t - 1) + row.height * row.frequency * std::cos(angle);
      return optim::detail::LinePoint{t, row.width * (t - 1) * (t - 1) / 2 + row.height * std::sin(angle),
                                      tensor({directional_derivative}, kFloat64), directional_derivative};
    };
    int64_t evaluations = 0;
    const auto found = optim::detail::strong_wolfe(point, point(0), row.first, /*largest=*/1, 25, evaluations);
    CHECK(found.t == Approx(row.step).epsilon(1e-9));  // the table has 12 digits
    CHECK(found.loss == Approx(row.loss).epsilon(1e-9));
    CHECK(found.gradient.item<double>() == found.directional_derivative);
    CHECK(evaluations == row.evaluations);
  }
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
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions(-1)), Contains("LBFGS: Invalid learning rate: -1"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().max_iter(0)), Contains("max_iter is 0"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().history_size(0)), Contains("history_size 0"));
  CHECK_THROWS_WITH(LBFGS({w}, LBFGSOptions().line_search_fn("armijo")),
                    Contains("only 'strong_wolfe' is supported as line_search_fn, got 'armijo'"));
  CHECK_THROWS_WITH(LBFGS({optim::OptimizerParamGroup({w}), optim::OptimizerParamGroup({v})}),
                    Contains("LBFGS doesn't support per-parameter options (parameter groups)"));
  LBFGS optimizer({w});
  CHECK_THROWS_WITH(optimizer.step(), Contains("LBFGS requires a closure function"));
  Graph graph;
  CHECK_THROWS_WITH(graph.capture([&] { optimizer.step([&] { return w.sum(); }); }), Contains("LBFGS"));
  LBFGS mixed({w, v});
  CHECK_THROWS_WITH(mixed.step([&] { return w.sum(); }), Contains("float32") && Contains("float64"));
}

}  // namespace tandem::test
