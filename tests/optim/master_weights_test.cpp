// Tests master weights: float32 weights of half parameters in every optimizer, their state, and gradients of another
// dtype than their parameter.
#include <sstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"

namespace tandem::test {
namespace {

struct Kind {
  const char* name;
  nlohmann::json settings;
};
/// All optimizers that have master weights, with the settings that create all of their state.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"SGD", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.5}, {"nesterov", false}}},
      {"SGD", {{"lr", 0.1}}},
      {"Adam", {{"lr", 0.01}, {"weight_decay", 0.1}, {"amsgrad", true}}},
      {"AdamW", {{"lr", 0.01}}},
      {"Adadelta", {{"weight_decay", 0.1}}},
      {"Adagrad", {{"lr", 0.1}, {"lr_decay", 0.1}}},
      {"RMSprop", {{"momentum", 0.5}, {"centered", true}}},
      {"Adamax", {{"weight_decay", 0.1}}},
      {"NAdam", {{"lr", 0.01}, {"weight_decay", 0.1}, {"decoupled_weight_decay", true}}},
      {"RAdam", {{"lr", 0.01}}},
      {"Rprop", {{"lr", 0.015625}}}};
  return all;
}
nlohmann::json with_masters(nlohmann::json settings) {
  settings["master_weights"] = true;
  return settings;
}
std::vector<Device> devices() {
#if TANDEM_TEST_EMULATED
  return {kCPU, kCUDA};
#else
  return {kCPU};
#endif
}
/// More elements than a CPU loop processes at a time, a number, and a matrix that is not row-major.
Parameters parameters(Device device, DType dtype) {
  const auto make = [&](const Tensor& t) { return t.to(device).to(dtype).requires_grad_(); };
  return {make(from_formula({7, 43}, 1)), make(from_formula({}, 2)), make(from_formula({3, 5}, 3).t())};
}
/// Sets gradients that are exact in float16 and bfloat16: multiples of 1/64 below 1.
void set_gradients(const Parameters& p, uint32_t step, DType dtype) {
  for (uint32_t k = 0; k < p.size(); ++k) {
    const Tensor exact = (from_formula(p[k].sizes(), 100 * step + k + 1) * 64).round() / 64;
    p[k].set_grad(exact.to(p[k].device()).to(dtype));
  }
}
void train(optim::Optimizer& optimizer, const Parameters& p, uint32_t from, uint32_t to, DType gradient) {
  for (uint32_t step = from; step <= to; ++step) {
    set_gradients(p, step, gradient);
    optimizer.step();
  }
}
std::map<std::string, Tensor> state_of(const optim::Optimizer& optimizer) {
  const auto state = optimizer.state();
  return {state.begin(), state.end()};
}

}  // namespace

TEST_CASE("with master weights, half parameters follow the float32 path of every optimizer, rounded", "[optim]") {
  const DType dtype = GENERATE(kBFloat16, kFloat16), gradient = GENERATE(kBFloat16, kFloat16, kFloat32, kFloat64);
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device, dtype, gradient);
      const Parameters half = parameters(device, dtype), single = parameters(device, kFloat32);
      for (size_t k = 0; k < half.size(); ++k) single[k].detach().copy_(half[k].detach());
      const auto a = make_optimizer(kind.name, with_masters(kind.settings), half);
      const auto b = make_optimizer(kind.name, kind.settings, single);
      train(*a, half, 1, 8, gradient);
      train(*b, single, 1, 8, kFloat32);
      std::map<std::string, Tensor> found = state_of(*a);
      for (size_t k = 0; k < half.size(); ++k) {
        CHECK(half[k].dtype() == dtype);
        CHECK(half[k].equal(single[k].detach().to(dtype)));
        const std::string name = std::to_string(k) + ".master_param";
        REQUIRE(found.count(name));
        CHECK(found[name].equal(single[k].detach()));
        found.erase(name);
      }
      for (const auto& [name, expected] : b->state()) {
        CAPTURE(name);
        CHECK(found[name].dtype() == kFloat32);
        CHECK(found[name].equal(expected));
        found.erase(name);
      }
      CHECK(found.empty());
    }
}

TEST_CASE("AdamW moves 1,000 bfloat16 weights at a rate of 1e-4 only with master weights", "[optim]") {
  const Tensor start = from_formula({1000}, 1).to(kBFloat16), target = from_formula({1000}, 2).to(kFloat32);
  const auto run = [&](DType dtype, bool masters) {
    const Tensor w = start.to(dtype).clone().requires_grad_();
    optim::AdamW optimizer({w}, optim::AdamWOptions(1e-4).master_weights(masters));
    for (int step = 0; step < 100; ++step) {
      optimizer.zero_grad();
      (w.to(kFloat32) - target).square().sum().backward();
      optimizer.step();
    }
    return w.detach().to(kFloat32);
  };
  const Tensor expected = run(kFloat32, false), found = run(kBFloat16, true), plain = run(kBFloat16, false);
  // The unit of bfloat16, with 8 digits, is at most 2^-7 of the number.
  CHECK(((found - expected).abs() <= expected.abs() * 0.0078125).all().item<bool>());
  const auto moved = [&](const Tensor& w) { return (w != start.to(kFloat32)).sum().item<int64_t>(); };
  CHECK(moved(found) > 900);
  CHECK(moved(plain) < 100);
}

TEST_CASE("gradients may have another dtype than their parameters, without master weights too", "[optim]") {
  struct Pair {
    DType parameter, gradient;
  };
  const Pair types = GENERATE(Pair{kBFloat16, kFloat32}, Pair{kFloat16, kBFloat16}, Pair{kFloat32, kFloat16},
                              Pair{kFloat32, kFloat64}, Pair{kFloat64, kFloat32});
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device, types.parameter, types.gradient);
      const Parameters p = parameters(device, types.parameter), same = parameters(device, types.parameter);
      const auto a = make_optimizer(kind.name, kind.settings, p), b = make_optimizer(kind.name, kind.settings, same);
      train(*a, p, 1, 4, types.gradient);
      train(*b, same, 1, 4, types.parameter);  // the same numbers: they are exact in each dtype
      for (size_t k = 0; k < p.size(); ++k) CHECK(p[k].equal(same[k]));
    }
  // A float32 gradient is not rounded to its half parameter's dtype: 1 + 2^-10 would become 1.
  const Tensor w = zeros({1}, kBFloat16).requires_grad_();
  w.set_grad(full({1}, 1.0009765625, kFloat32));
  optim::SGD optimizer({w}, optim::SGDOptions(1024).master_weights(true));
  optimizer.step();
  CHECK(state_of(optimizer)["0.master_param"].item<float>() == -1025);

  w.set_grad(zeros({1}, kInt64));
  CHECK_THROWS_WITH(optimizer.step(), Contains("SGD") && Contains("has a gradient of int64"));
}

TEST_CASE("five steps, a saved state with master weights and five more are ten steps, bit for bit", "[optim]") {
  const bool as_file = GENERATE(false, true);
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name, as_file);
    const Parameters whole = parameters(kCPU, kBFloat16), parts = parameters(kCPU, kBFloat16);
    const auto settings = with_masters(kind.settings);
    const auto ten = make_optimizer(kind.name, settings, whole), five = make_optimizer(kind.name, settings, parts);
    train(*ten, whole, 1, 10, kBFloat16);
    train(*five, parts, 1, 5, kBFloat16);
    const auto more = make_optimizer(kind.name, {}, parts);  // the state dict says that there are master weights
    if (as_file) {
      serialize::OutputArchive out;
      five->save(out);
      std::stringstream stream;
      out.save_to(stream);
      serialize::InputArchive in;
      in.load_from(stream);
      more->load(in);
    } else {
      more->load_state(five->state(), five->settings());
    }
    CHECK(more->param_groups()[0].options().get_master_weights());
    for (const auto& [name, tensor] : five->state()) CHECK(state_of(*more)[name].equal(tensor));
    train(*more, parts, 6, 10, kBFloat16);
    for (size_t k = 0; k < whole.size(); ++k) CHECK(whole[k].equal(parts[k]));
    for (const auto& [name, tensor] : ten->state()) CHECK(state_of(*more)[name].equal(tensor));
  }
}

TEST_CASE("a state without master weights is loaded into an optimizer with them, and the reverse", "[optim]") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const Parameters p = parameters(kCPU, kBFloat16), single = parameters(kCPU, kFloat32);
    const auto plain = make_optimizer(kind.name, kind.settings, p);
    train(*plain, p, 1, 3, kBFloat16);
    for (size_t k = 0; k < p.size(); ++k) single[k].detach().copy_(p[k].detach());
    CHECK(plain->settings().count("0.master_weights") == 0);
    const auto with = make_optimizer(kind.name, with_masters(kind.settings), p);
    with->load_state(plain->state(), plain->settings());
    CHECK(with->param_groups()[0].options().get_master_weights());
    const auto expected = make_optimizer(kind.name, kind.settings, single);
    expected->load_state(plain->state(), plain->settings());
    train(*with, p, 4, 6, kBFloat16);
    train(*expected, single, 4, 6, kFloat32);
    for (size_t k = 0; k < p.size(); ++k) CHECK(p[k].equal(single[k].detach().to(kBFloat16)));

    // The reverse: the settings are not loaded, so the master weights are dropped and the state is rounded.
    const auto without = make_optimizer(kind.name, kind.settings, p);
    without->load_state(with->state());
    train(*without, p, 7, 7, kBFloat16);
    for (const auto& entry : without->state()) CHECK_FALSE(Contains("master_param").match(entry.first));
    if (state_of(*without).count("0.exp_avg")) CHECK(state_of(*without)["0.exp_avg"].dtype() == kBFloat16);
  }
}

TEST_CASE("a parameter that the program changes replaces its master weights where it changed", "[optim]") {
  const Tensor w = ones({3}, kBFloat16).requires_grad_();
  optim::SGD optimizer({w}, optim::SGDOptions(1).master_weights(true));
  const auto step = [&](double gradient) {
    w.set_grad(full({3}, gradient, kFloat32));
    optimizer.step();
    return state_of(optimizer)["0.master_param"];
  };
  step(0.001953125);  // 2^-9: half of the unit of bfloat16 below 1 is 2^-9, which is rounded to even
  CHECK(w.equal(ones({3}, kBFloat16)));
  {
    const NoGradGuard guard;
    w.select(0, 1).fill_(5);
  }
  CHECK(step(0).equal(tensor({0.998046875f, 5.0f, 0.998046875f})));
  {
    const NoGradGuard guard;
    w.copy_(tensor({2.0f, 5.0f, 1.0f}));  // loads other weights
  }
  CHECK(step(1).equal(tensor({1.0f, 4.0f, -0.001953125f})));
  CHECK(w.equal(tensor({1.0f, 4.0f, -0.001953125f}).to(kBFloat16)));

  optimizer.param_groups()[0].options().set_master_weights(false);
  CHECK_FALSE(step(0).defined());
}

TEST_CASE("every optimizer sees changes of a parameter that no version counts", "[optim]") {
  for (const Device device : devices())
    for (const Kind& kind : kinds())
      for (const std::string how : {"data()", "set_data", "in place"}) {
        CAPTURE(kind.name, device, how);
        const Parameters p = parameters(device, kBFloat16);
        const auto optimizer = make_optimizer(kind.name, with_masters(kind.settings), p);
        train(*optimizer, p, 1, 1, kBFloat16);
        Tensor w = p[0];
        const Tensor other = full(w.sizes(), 40, w.options()).contiguous();
        if (how == "data()") {
          w.data().copy_(other);
        } else if (how == "set_data") {
          w.set_data(other);  // its version may be the parameter's
        } else {
          const NoGradGuard guard;
          w.copy_(other);
        }
        train(*optimizer, p, 2, 2, kBFloat16);
        CHECK(state_of(*optimizer)["0.master_param"].sub(40).abs().max().item<float>() < 20);
        CHECK(w.equal(state_of(*optimizer)["0.master_param"].to(kBFloat16)));
      }
}

TEST_CASE("a float64 gradient of a half parameter is not rounded to the half type", "[optim]") {
  for (const bool masters : {false, true}) {
    const Tensor w = ones({1}, kFloat16).requires_grad_();
    optim::SGD optimizer({w}, optim::SGDOptions(1e-7).master_weights(masters));
    w.set_grad(full({1}, 1e6, kFloat64));  // float16 ends at 65504
    optimizer.step();
    CHECK(w.equal(full({1}, 0.9, kFloat16)));
  }
}

TEST_CASE("recorded steps with master weights are eager steps, bit for bit", "[optim][graph]") {
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device);
      const Parameters eager = parameters(device, kBFloat16), recorded = parameters(device, kBFloat16);
      const auto settings = with_masters(kind.settings);
      const auto a = make_optimizer(kind.name, settings, eager), b = make_optimizer(kind.name, settings, recorded);
      train(*a, eager, 1, 1, kBFloat16);
      set_gradients(recorded, 1, kBFloat16);
      Graph graph;
      CHECK_THROWS_WITH(graph.capture([&] { b->step(); }), Contains("its first step allocates the master weights"));
      b->step();
      graph.capture([&] { b->step(); });
      for (uint32_t step = 2; step <= 6; ++step) {
        if (step == 4) {  // the program changes elements of a parameter between two replays
          const NoGradGuard guard;
          for (const Parameters& all : {eager, recorded}) all[0].view({-1}).slice(0, 0, 2).fill_(0.5);
        }
        train(*a, eager, step, step, kBFloat16);
        for (size_t k = 0; k < eager.size(); ++k) Tensor(recorded[k].grad()).copy_(eager[k].grad());
        if (step == 5)
          b->step();  // an eager step in between
        else
          graph.replay();
        for (size_t k = 0; k < eager.size(); ++k) CHECK(eager[k].equal(recorded[k]));
      }
      for (const auto& [name, tensor] : a->state()) CHECK(state_of(*b)[name].equal(tensor));
    }
}

TEST_CASE("a GradScaler trains float16 parameters with master weights, and skips infinite steps", "[optim]") {
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device);
      const Parameters half = parameters(device, kFloat16), single = parameters(device, kFloat32);
      for (size_t k = 0; k < half.size(); ++k) single[k].detach().copy_(half[k].detach());
      const auto a = make_optimizer(kind.name, with_masters(kind.settings), half);
      const auto b = make_optimizer(kind.name, kind.settings, single);
      amp::GradScaler scaler;
      for (uint32_t step = 1; step <= 4; ++step) {
        scaler.scale(ones({}, device));
        set_gradients(half, step, kFloat16);
        set_gradients(single, step, kFloat32);
        const auto inverse_scale = static_cast<float>(1 / scaler.get_scale());
        for (const Tensor& p : single) p.set_grad(p.grad() * inverse_scale);
        if (step == 2) half[2].mutable_grad().select(0, 1).fill_(INFINITY);
        scaler.step(*a);
        scaler.update();
        if (step != 2) b->step();
      }
      CHECK(scaler.get_scale() == 32768);
      for (size_t k = 0; k < half.size(); ++k) {
        CHECK(half[k].equal(single[k].detach().to(kFloat16)));
        CHECK(state_of(*a)[std::to_string(k) + ".master_param"].equal(single[k].detach()));
      }
    }
}

TEST_CASE("data parallel modules in bfloat16 train with master weights, each replica alike", "[optim][ranks]") {
  const auto make = [] {
    manual_seed(1);
    nn::Sequential net(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 2));
    net->to(kBFloat16);
    return net;
  };
  const auto input = [](int step, int64_t rows) {
    return from_formula({rows, 4}, static_cast<uint32_t>(step), kBFloat16);
  };
  const auto options = optim::AdamWOptions(1e-3).master_weights(true);
  std::vector<std::vector<Tensor>> weights(4);
  for (const size_t run : {0, 1}) {  // twice: deterministic
    distributed::run_ranks(2, [&](int rank) {
      distributed::init_process_group("local");
      nn::Sequential net = make();
      nn::parallel::DistributedDataParallel ddp(net);
      optim::AdamW optimizer(net->parameters(), options);
      for (int step = 0; step < 5; ++step) {
        optimizer.zero_grad();
        ddp(input(step, 6).narrow(0, 3 * rank, 3)).square().sum().backward();
        optimizer.step();
      }
      for (const auto& entry : optimizer.state())
        weights[2 * run + static_cast<size_t>(rank)].push_back(entry.second.detach().clone());
      distributed::destroy_process_group();
    });
  }
  for (const size_t other : {1, 2, 3})
    for (size_t i = 0; i < weights[0].size(); ++i) CHECK(weights[other][i].equal(weights[0][i]));

  set_cpu_device_count(2);
  std::vector<Tensor> alone, together;
  for (const bool parallel : {false, true}) {
    nn::Sequential net = make();
    optim::AdamW optimizer(net->parameters(), options);
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      const Tensor x = input(step, 6);
      const Tensor y = parallel ? nn::parallel::data_parallel(net, x, std::vector<Device>{"cpu:0", "cpu:1"}) : net(x);
      y.square().sum().backward();
      optimizer.step();
    }
    (parallel ? together : alone) = net->parameters();
  }
  set_cpu_device_count(1);
  // 2 units of bfloat16: two gradients of three rows are rounded before they are added
  for (size_t k = 0; k < alone.size(); ++k)
    CHECK(together[k].detach().to(kFloat32).allclose(alone[k].detach().to(kFloat32), 0.02, 2e-3));
}

TEST_CASE("master weights: float32 parameters have none, groups inherit the option, LBFGS refuses it", "[optim]") {
  const Tensor single = ones({2}).requires_grad_(), half = ones({2}, kFloat16).requires_grad_();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(Parameters{single});
  groups.emplace_back(Parameters{half}, std::make_unique<optim::AdamOptions>(0.5));
  optim::Adam optimizer(groups, optim::AdamOptions(0.25).master_weights(true));
  single.set_grad(ones({2}));
  half.set_grad(ones({2}, kFloat16));
  optimizer.step();
  CHECK_FALSE(state_of(optimizer).count("0.master_param"));
  CHECK(state_of(optimizer)["1.master_param"].allclose(full({2}, 0.5), 1e-5));
  CHECK_THROWS_WITH(optim::LBFGS({half}, optim::LBFGSOptions().master_weights(true)),
                    Contains("LBFGS: master_weights is not supported"));
}

}  // namespace tandem::test
