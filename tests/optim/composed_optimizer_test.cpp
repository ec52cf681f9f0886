// Tests every optimizer whose step is composed of tensor operations: state, captured steps, half types, errors.
#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"

namespace tandem::test {
namespace {

struct Variant {
  const char* kind;
  nlohmann::json settings;
};
/// Optimizers, with the settings that create all of their state.
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"Adadelta", {{"weight_decay", 0.1}}},
      {"Adagrad", {{"lr", 0.1}, {"lr_decay", 0.1}}},
      {"RMSprop", {{"momentum", 0.5}, {"centered", true}, {"weight_decay", 0.1}}},
      {"Adamax", {{"weight_decay", 0.1}}},
      {"NAdam", {{"lr", 0.01}, {"weight_decay", 0.1}, {"decoupled_weight_decay", true}}},
      {"RAdam", {{"lr", 0.01}}},
      {"Rprop", {{"lr", 0.015625}}}};
  return all;
}
Parameters parameters(DType dtype) {
  return {from_formula({3, 2}, 1, dtype).requires_grad_(), from_formula({}, 2, dtype).requires_grad_()};
}
/// Sets the gradients of step number `step` and runs the step.
void train(optim::Optimizer& optimizer, const Parameters& p, uint32_t step) {
  for (uint32_t k = 0; k < p.size(); ++k)
    p[k].set_grad(from_formula(p[k].sizes(), 100 * step + k + 1, p[k].dtype()).to(p[k].device()));
  optimizer.step();
}

}  // namespace

TEST_CASE("five steps, a saved state and five more are ten steps, bit for bit", "[optim]") {
  const DType dtype = GENERATE(kFloat64, kFloat32, kBFloat16);
  for (const Variant& v : variants()) {
    CAPTURE(v.kind, dtype);
    const Parameters whole = parameters(dtype), parts = parameters(dtype);
    const auto ten = make_optimizer(v.kind, v.settings, whole), five = make_optimizer(v.kind, v.settings, parts);
    for (uint32_t step = 1; step <= 10; ++step) train(*ten, whole, step);
    for (uint32_t step = 1; step <= 5; ++step) train(*five, parts, step);
    const auto more = make_optimizer(v.kind, {}, parts);  // load_state also restores the settings
    more->load_state(five->state(), five->settings());
    for (uint32_t step = 6; step <= 10; ++step) train(*more, parts, step);
    for (size_t k = 0; k < whole.size(); ++k) CHECK(whole[k].equal(parts[k]));
    CHECK_FALSE(whole[0].equal(from_formula({3, 2}, 1, dtype)));
  }
}

TEST_CASE("a loaded state is a copy: neither optimizer's steps change the other's", "[optim]") {
  for (const Variant& v : variants()) {
    CAPTURE(v.kind);
    const Parameters ours = parameters(kFloat32), theirs = parameters(kFloat32);
    const auto from = make_optimizer(v.kind, v.settings, ours), to = make_optimizer(v.kind, v.settings, theirs);
    for (uint32_t step = 1; step <= 3; ++step) train(*from, ours, step);
    to->load_state(from->state(), from->settings());
    const auto values_of = [](const optim::Optimizer& optimizer) {
      std::vector<Tensor> out;
      for (const auto& [name, tensor] : optimizer.state()) out.push_back(tensor.detach().clone());
      return out;
    };
    const auto before = from->state(), loaded = to->state();
    REQUIRE(before.size() == loaded.size());
    for (size_t i = 0; i < before.size(); ++i) CHECK(before[i].second.storage() != loaded[i].second.storage());
    const std::vector<Tensor> mine = values_of(*from);
    for (uint32_t step = 4; step <= 5; ++step) train(*to, theirs, step);
    const std::vector<Tensor> still = values_of(*from);
    for (size_t i = 0; i < mine.size(); ++i) CHECK(mine[i].equal(still[i]));
  }
}

TEST_CASE("a recorded step of every optimizer goes on as steps do, with the rate of the moment", "[optim]") {
  std::vector<Device> devices = {kCPU};
#if TANDEM_TEST_EMULATED
  devices.push_back(kCUDA);
#endif
  for (const Device device : devices)
    for (const Variant& v : variants()) {
      CAPTURE(v.kind, device);
      const auto on_device = [&] {
        Parameters p;
        for (const Tensor& t : parameters(kFloat32)) p.push_back(t.detach().to(device).requires_grad_());
        return p;
      };
      const Parameters eager = on_device(), recorded = on_device();
      const auto a = make_optimizer(v.kind, v.settings, eager), b = make_optimizer(v.kind, v.settings, recorded);
      for (const Tensor& p : recorded) p.set_grad(zeros_like(p));
      Graph graph;
      CHECK_THROWS_WITH(graph.capture([&] { b->step(); }),
                        Contains(v.kind) && Contains("its first step allocates its state"));
      train(*a, eager, 1);
      train(*b, recorded, 1);
      graph.capture([&] { b->step(); });
      for (uint32_t step = 2; step <= 8; ++step) {  // RAdam's rectification starts at step six
        if (step == 4) a->set_lr(0.003), b->set_lr(0.003);
        train(*a, eager, step);
        for (uint32_t k = 0; k < recorded.size(); ++k)
          Tensor(recorded[k].grad()).copy_(from_formula(recorded[k].sizes(), 100 * step + k + 1, kFloat32));
        graph.replay();
        for (size_t k = 0; k < eager.size(); ++k) CHECK(eager[k].equal(recorded[k]));
      }
    }
}

TEST_CASE("half types are computed in float32 and rounded once a step", "[optim]") {
  for (const Variant& v : variants()) {
    CAPTURE(v.kind);
    const Parameters half = parameters(kBFloat16), single = parameters(kFloat32);
    for (const Tensor& p : single) p.detach().copy_(p.detach().to(kBFloat16));
    const auto a = make_optimizer(v.kind, v.settings, half), b = make_optimizer(v.kind, v.settings, single);
    for (uint32_t k = 0; k < half.size(); ++k) {
      const Tensor grad = from_formula(half[k].sizes(), k + 7, kBFloat16);
      half[k].set_grad(grad);
      single[k].set_grad(grad.to(kFloat32));
    }
    a->step();
    b->step();
    for (size_t k = 0; k < half.size(); ++k) CHECK(half[k].equal(single[k].detach().to(kBFloat16)));
  }
}

TEST_CASE("every optimizer leaves what has no gradient, and steps on a GPU as on the CPU", "[optim]") {
  for (const Variant& v : variants()) {
    CAPTURE(v.kind);
    const Parameters here = parameters(kFloat32);
    const Tensor unused = ones({2}).requires_grad_();
    const auto a = make_optimizer(v.kind, v.settings, {here[0], unused, here[1]});
    for (uint32_t step = 1; step <= 4; ++step) train(*a, here, step);
    CHECK(unused.equal(ones({2})));
    for (const auto& entry : a->state()) CHECK_FALSE(entry.first.starts_with("1."));
#if TANDEM_TEST_EMULATED
    Parameters there;
    for (const Tensor& p : parameters(kFloat32)) there.push_back(p.detach().to(kCUDA).requires_grad_());
    const auto b = make_optimizer(v.kind, v.settings, there);
    for (uint32_t step = 1; step <= 4; ++step) train(*b, there, step);
    for (size_t k = 0; k < there.size(); ++k) CHECK(there[k].detach().cpu().allclose(here[k].detach(), 1e-5, 1e-6));
#endif
  }
}

TEST_CASE("the state of every optimizer goes where its module goes", "[optim]") {
  set_cpu_device_count(2);
  for (const Variant& v : variants()) {
    CAPTURE(v.kind);
    nn::Linear moved(2, 2), stays(2, 2);
    stays->load_state_dict(moved->state_dict());
    const auto a = make_optimizer(v.kind, v.settings, moved->parameters());
    const auto b = make_optimizer(v.kind, v.settings, stays->parameters());
    for (uint32_t step = 1; step <= 4; ++step) {
      train(*a, moved->parameters(), step);
      train(*b, stays->parameters(), step);
      if (step == 2) moved->to(Device("cpu:1"));
    }
    for (const auto& entry : a->state()) CHECK(entry.second.device() == Device("cpu:1"));
    CHECK(moved->weight.cpu().equal(stays->weight));
  }
  set_cpu_device_count(1);
}

TEST_CASE("the optimizers refuse settings that make no sense, with the value", "[optim]") {
  using namespace optim;
  const Tensor w = ones({2}).requires_grad_();
  CHECK_THROWS_WITH(Adadelta({w}, AdadeltaOptions().rho(1.5)),
                    Contains("Adadelta: Invalid rho value: 1.5; accepted: 0 to 1"));
  CHECK_THROWS_WITH(Adagrad({w}, AdagradOptions(-1)), Contains("Adagrad: Invalid learning rate: -1"));
  CHECK_THROWS_WITH(Adagrad({w}, AdagradOptions().lr_decay(-2)), Contains("Adagrad: Invalid lr_decay value: -2"));
  CHECK_THROWS_WITH(Adagrad({w}, AdagradOptions().initial_accumulator_value(-3)),
                    Contains("Invalid initial_accumulator_value value: -3"));
  CHECK_THROWS_WITH(RMSprop({w}, RMSpropOptions().alpha(-0.5)), Contains("RMSprop: Invalid alpha value: -0.5"));
  CHECK_THROWS_WITH(RMSprop({w}, RMSpropOptions().momentum(-1)), Contains("RMSprop: Invalid momentum value: -1"));
  CHECK_THROWS_WITH(Adamax({w}, AdamaxOptions().betas({0.9, 1})),
                    Contains("Adamax: Invalid beta parameter at index 1: 1;"));
  CHECK_THROWS_WITH(NAdam({w}, NAdamOptions().momentum_decay(-1)), Contains("NAdam: Invalid momentum_decay value: -1"));
  CHECK_THROWS_WITH(NAdam({w}, NAdamOptions().betas({-0.5, 0.9})),
                    Contains("NAdam: Invalid beta parameter at index 0: -0.5"));
  CHECK_THROWS_WITH(RAdam({w}, RAdamOptions().eps(-1)), Contains("RAdam: Invalid epsilon value: -1"));
  CHECK_THROWS_WITH(Rprop({w}, RpropOptions().etas({1.5, 2})),
                    Contains("Rprop: Invalid eta values: 1.5, 2; accepted: "));
  RMSprop optimizer({w});
  CHECK_THROWS_WITH(optimizer.add_param_group({{ones({1})}, std::make_unique<AdamOptions>()}),
                    Contains("RMSprop") && Contains("another optimizer"));
  CHECK_THROWS_WITH(optimizer.load_state({{"0.exp_avg", ones({2})}}), Contains("no state named '0.exp_avg'"));
  w.set_grad(ones({3}));
  CHECK_THROWS_WITH(optimizer.step(), Contains("RMSprop") && Contains("(2,)") && Contains("(3,)"));
}

}  // namespace tandem::test
