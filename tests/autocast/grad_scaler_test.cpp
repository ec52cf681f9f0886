// Tests amp::GradScaler: its scale against PyTorch's (fixtures/grad_scaler.json), skipped steps of every optimizer,
// recorded steps, saved state, and errors.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/optim/from_fixture.h"

using namespace tandem;
using amp::GradScaler;
using amp::GradScalerOptions;
using test::from_formula;
using test::Parameters;

namespace {

struct Kind {
  const char* name;
  nlohmann::json settings;
};
/// All optimizers without a closure, with the settings that create all of their state.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"SGD", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.5}, {"weight_decay", 0.1}}},
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
std::vector<Device> devices() {
#if TANDEM_TEST_EMULATED
  return {kCPU, kCUDA};
#else
  return {kCPU};
#endif
}
Parameters parameters(Device device, DType dtype = kFloat32) {
  return {from_formula({3, 2}, 1, dtype).to(device).requires_grad_(),
          from_formula({}, 2, dtype).to(device).requires_grad_()};
}
/// Gradients of one step, times `scale`.
std::vector<Tensor> gradients(const Parameters& p, uint32_t step, double scale = 1) {
  std::vector<Tensor> out;
  for (uint32_t k = 0; k < p.size(); ++k)
    out.push_back(from_formula(p[k].sizes(), 100 * step + k + 1, kFloat32).to(p[k].device(), p[k].dtype()) * scale);
  return out;
}
void set_gradients(const Parameters& p, uint32_t step, double scale = 1) {
  const std::vector<Tensor> all = gradients(p, step, scale);
  for (size_t k = 0; k < p.size(); ++k) p[k].set_grad(all[k]);
}
/// Copies of all numbers of an optimizer: parameters and state.
std::vector<Tensor> all_values(const optim::Optimizer& optimizer) {
  std::vector<Tensor> out;
  for (const Tensor& p : optimizer.parameters()) out.push_back(p.detach().clone());
  for (const auto& entry : optimizer.state()) out.push_back(entry.second.detach().clone());
  return out;
}
void check_equal(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].equal(expected[i]));
  }
}

}  // namespace

TEST_CASE("the scale grows and backs off as PyTorch's over planted infinities", "[grad_scaler]") {
  const nlohmann::json file = test::read_json("grad_scaler.json");
  const float bad = GENERATE(INFINITY, -INFINITY, NAN);
  for (const Device device : devices())
    for (const nlohmann::json& row : file.at("sequences")) {
      CAPTURE(device, row.dump());
      const Tensor w = zeros({2}, device).requires_grad_();
      optim::SGD optimizer({w}, optim::SGDOptions(1));
      GradScaler scaler(GradScalerOptions()
                            .init_scale(row.at("init_scale"))
                            .growth_factor(row.at("growth_factor"))
                            .backoff_factor(row.at("backoff_factor"))
                            .growth_interval(row.at("growth_interval")));
      const std::vector<bool> found = row.at("found");
      for (size_t k = 0; k < found.size(); ++k) {
        CAPTURE(k);
        optimizer.zero_grad();
        scaler.scale(w.sum() * 0.125).backward();
        if (found[k]) w.mutable_grad().select(0, 1).fill_(bad);
        scaler.step(optimizer);
        scaler.update();
        CHECK(scaler.get_scale() == row.at("scales")[k]);
        CHECK(scaler.state_dict().at("_growth_tracker").toInt() == row.at("trackers")[k]);
        CHECK(w.detach().cpu().data_ptr<float>()[0] == row.at("weights")[k]);
      }
    }
}

TEST_CASE("a skipped step of every optimizer changes no number, and other steps are those without a scaler",
          "[grad_scaler]") {
  const DType dtype = GENERATE(kFloat32, kFloat64, kBFloat16);
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device, dtype);
      const Parameters p = parameters(device, dtype), plain = parameters(device, dtype);
      const auto a = test::make_optimizer(kind.name, kind.settings, p);
      const auto b = test::make_optimizer(kind.name, kind.settings, plain);
      GradScaler scaler(GradScalerOptions().init_scale(1024));
      scaler.scale(ones({}, device));
      for (uint32_t step = 1; step <= 6; ++step) {
        const double scale = scaler.get_scale();  // a power of 2, so that scaling and unscaling round nothing
        set_gradients(p, step, scale);
        const bool skipped = step == 1 || step == 4;
        const std::vector<Tensor> before = all_values(*a);
        if (skipped) p[0].mutable_grad().select(0, 2).select(0, 1).fill_(step == 1 ? INFINITY : NAN);
        scaler.step(*a);
        scaler.update();
        if (skipped) {
          if (step > 1) check_equal(all_values(*a), before);  // the first step may allocate state
          CHECK(p[1].equal(plain[1]));
          continue;
        }
        set_gradients(plain, step);
        b->step();
        check_equal(all_values(*a), all_values(*b));
      }
      CHECK_FALSE(plain[0].equal(parameters(device, dtype)[0]));
    }
}

TEST_CASE("float16 gradients are unscaled by the optimizer, in float32", "[grad_scaler]") {
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device);
      const Parameters half = parameters(device, kFloat16), single = parameters(device, kFloat32);
      for (size_t k = 0; k < half.size(); ++k) single[k].detach().copy_(half[k].detach());
      const auto a = test::make_optimizer(kind.name, kind.settings, half);
      const auto b = test::make_optimizer(kind.name, kind.settings, single);
      GradScaler scaler;
      scaler.scale(ones({}, device));
      for (size_t k = 0; k < half.size(); ++k) {
        // 2^-16 of the gradient is too small for float16, which the unscaled gradient would be rounded to
        const Tensor g = from_formula(half[k].sizes(), static_cast<uint32_t>(k) + 1, kFloat16).to(device);
        half[k].set_grad(g);
        single[k].set_grad(g.to(kFloat32) / 65536);
      }
      scaler.step(*a);
      b->step();
      for (size_t k = 0; k < half.size(); ++k) CHECK(half[k].equal(single[k].detach().to(kFloat16)));
    }
}

TEST_CASE("gradients can be clipped between unscale_ and step", "[grad_scaler]") {
  const Parameters p = parameters(kCPU), plain = parameters(kCPU);
  optim::Adam a(p), b(plain);
  GradScaler scaler;
  scaler.scale(ones({}));
  set_gradients(p, 1, 65536);
  set_gradients(plain, 1);
  p[0].set_grad(p[0].grad().t().contiguous().t());  // in another order in memory
  scaler.unscale_(a);
  CHECK(nn::utils::clip_grad_norm_(p, 0.5) == Approx(nn::utils::clip_grad_norm_(plain, 0.5)).epsilon(1e-6));
  scaler.step(a);
  b.step();
  for (size_t k = 0; k < p.size(); ++k) CHECK(p[k].allclose(plain[k], 1e-6, 1e-7));

  // gradients with gaps in memory
  optim::SGD c({p[0]}, optim::SGDOptions(1));
  const Tensor wide = ones({3, 2, 2}) * 65536, old = p[0].detach().clone();
  p[0].set_grad(wide.select(2, 1));
  scaler.step(c);
  CHECK(p[0].detach().equal(old - 1));
  CHECK(wide.select(2, 0).equal(full({3, 2}, 65536)));
  scaler.update();
  wide.fill_(INFINITY);
  scaler.step(c);
  CHECK(p[0].detach().equal(old - 1));
}

TEST_CASE("two optimizers share a scale: each skips its own steps, and either backs off", "[grad_scaler]") {
  const Tensor u = ones({2}).requires_grad_(), v = ones({2}).requires_grad_();
  optim::SGD a({u}, optim::SGDOptions(1)), b({v}, optim::SGDOptions(1));
  GradScaler scaler(GradScalerOptions().init_scale(8));
  const std::vector<Tensor> losses = scaler.scale({u.sum(), v.sum()});
  for (const Tensor& loss : losses) loss.backward();
  v.mutable_grad().fill_(NAN);
  scaler.step(a);
  scaler.step(b);
  scaler.update();
  CHECK(u.equal(zeros({2})));
  CHECK(v.equal(ones({2})));
  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("an infinity on one device makes the parameters on all devices skip", "[grad_scaler]") {
  set_cpu_device_count(2);
  std::vector<Device> places = {Device("cpu:0"), Device("cpu:1")};
#if TANDEM_TEST_EMULATED
  places.push_back(kCUDA);
#endif
  for (const char* name : {"Adam", "RMSprop"})
    for (const Device bad : places) {
      CAPTURE(name, bad);
      Parameters p;
      for (const Device place : places) p.push_back(ones({3}, place).requires_grad_());
      const auto optimizer = test::make_optimizer(name, {{"lr", 0.5}}, p);
      GradScaler scaler;
      scaler.scale(ones({}));
      for (const bool infinite : {true, false}) {
        for (const Tensor& each : p) each.set_grad(full_like(each, 65536));
        if (infinite)
          for (const Tensor& each : p)
            if (each.device() == bad) each.mutable_grad().select(0, 2).fill_(NAN);
        scaler.step(*optimizer);
        scaler.update();
        for (const Tensor& each : p) CHECK(each.equal(ones_like(each)) == infinite);
        CHECK(scaler.get_scale() == 32768);
      }
    }
  set_cpu_device_count(1);
}

TEST_CASE("recorded steps with a GradScaler are eager steps, bit for bit, also skipped ones", "[grad_scaler][graph]") {
  for (const Device device : devices())
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name, device);
      // Step 3 has an infinite gradient, because its input is infinite.
      const auto run = [&](bool captured) {
        manual_seed(3);
        nn::Sequential net(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 1));
        net->to(device);
        const auto optimizer = test::make_optimizer(kind.name, kind.settings, net->parameters());
        GradScaler scaler(GradScalerOptions().growth_interval(3));
        Tensor x = zeros({5, 4}, device), factor = ones({}, device);
        const auto step = [&] {
          optimizer->zero_grad();
          const Tensor loss = net->forward(x).square().mean() * factor;
          scaler.scale(loss).backward();
          scaler.unscale_(*optimizer);
          const Tensor norm = nn::utils::get_total_norm({net->parameters()[0].grad()});
          nn::utils::clip_grads_with_norm_(net->parameters(), 0.1, norm);
          scaler.step(*optimizer);
          scaler.update();
        };
        Graph graph;
        std::vector<Tensor> out;
        for (uint32_t k = 0; k < 8; ++k) {
          x.copy_(from_formula({5, 4}, 50 + k, kFloat32));
          factor.fill_(k == 3 || k == 4 ? INFINITY : 1);
          if (captured && k == 1) graph.capture(step);
          captured&& k > 0 ? graph.replay() : step();
          out.push_back(tensor({scaler.get_scale()}, kFloat64));
          for (const Tensor& value : all_values(*optimizer)) out.push_back(value);
        }
        CHECK(scaler.get_scale() == 65536);  // grown after step 2, halved in steps 3 and 4, grown after step 7
        return out;
      };
      check_equal(run(true), run(false));
    }
}

TEST_CASE("a GradScaler's state goes to a file and back, and to a scaler in use", "[grad_scaler]") {
  const Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, optim::SGDOptions(1));
  const auto iterate = [&](GradScaler& scaler) {
    optimizer.zero_grad();
    scaler.scale(w.sum()).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  GradScaler scaler(GradScalerOptions().init_scale(64).growth_interval(4).backoff_factor(0.25));
  CHECK(scaler.state_dict().at("scale").toDouble() == 64);
  for (int k = 0; k < 7; ++k) iterate(scaler);  // one growth, then 3 of 4 steps
  serialize::OutputArchive out;
  scaler.save(out);
  std::stringstream stream;
  out.save_to(stream);
  serialize::InputArchive in;
  in.load_from(stream);
  GradScaler fresh, used;
  iterate(used);
  fresh.load(in);
  used.load_state_dict(scaler.state_dict());
  for (GradScaler* other : {&fresh, &used}) {
    CHECK(other->get_scale() == 128);
    CHECK(other->get_growth_factor() == 2);
    CHECK(other->get_backoff_factor() == 0.25);
    CHECK(other->get_growth_interval() == 4);
    iterate(*other);
    CHECK(other->get_scale() == 256);
  }
  CHECK_THROWS_WITH(scaler.load_state_dict(IValue::dict()), Contains("The source state dict is empty"));
  scaler.update(32);
  CHECK(scaler.get_scale() == 32);
  scaler.update(full({1}, 16.0));
  CHECK(scaler.get_scale() == 16);
}

TEST_CASE("a disabled GradScaler changes nothing and accepts a closure", "[grad_scaler]") {
  const Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, optim::SGDOptions(1));
  GradScaler scaler(GradScalerOptions().enabled(false).growth_factor(0.5));
  const Tensor loss = w.sum();
  CHECK(scaler.scale(loss).is_same(loss));
  scaler.unscale_(optimizer);
  const Tensor found = scaler.step(optimizer, [&] {
    const Tensor again = w.sum();
    again.backward();
    return again;
  });
  scaler.update();
  CHECK(found.item<float>() == 2);
  CHECK(w.equal(zeros({2})));
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.state_dict().entries().empty());
  CHECK_FALSE(scaler.is_enabled());
}

TEST_CASE("calls in the wrong order are errors with PyTorch's words", "[grad_scaler]") {
  const Tensor w = ones({2}).requires_grad_(), half = ones({2}, kFloat16).requires_grad_();
  optim::SGD optimizer({w}, optim::SGDOptions(1)), of_half({half}, optim::SGDOptions(1));
  GradScaler scaler;
  CHECK_THROWS_WITH(scaler.update(), Contains("Attempted update but _scale is None."));
  CHECK_THROWS_WITH(scaler.update(2.0), Contains("Attempted update but _scale is None."));
  CHECK_THROWS_WITH(scaler.step(optimizer), Contains("Attempted step but _scale is None."));
  CHECK_THROWS_WITH(scaler.unscale_(optimizer), Contains("Attempted unscale_ but _scale is None."));
  Graph graph;
  CHECK_THROWS_WITH(graph.capture([&] { scaler.scale(w.sum()); }),
                    Contains("GradScaler::scale") && Contains("run one step before the capture"));
  scaler.scale(w.sum());
  CHECK_THROWS_WITH(scaler.update(), Contains("No inf checks were recorded prior to update."));
  CHECK_THROWS_WITH(scaler.step(optimizer), Contains("No inf checks were recorded for this optimizer."));
  w.set_grad(ones({2}));
  half.set_grad(ones({2}, kFloat16));
  CHECK_THROWS_WITH(scaler.unscale_(of_half), Contains("Attempting to unscale FP16 gradients."));
  CHECK_THROWS_WITH(scaler.step(optimizer, [&] { return w.sum(); }),
                    Contains("Closure use is not currently supported if GradScaler is enabled."));
  scaler.unscale_(optimizer);
  CHECK_THROWS_WITH(scaler.unscale_(optimizer),
                    Contains("unscale_() has already been called on this optimizer since the last update()."));
  scaler.step(optimizer);
  CHECK_THROWS_WITH(scaler.step(optimizer), Contains("step() has already been called since the last update()."));
  CHECK_THROWS_WITH(scaler.unscale_(optimizer), Contains("unscale_() is being called after step()."));
  CHECK_THROWS_WITH(scaler.update(ones({2})), Contains("new_scale should be a float or a 1-element FloatTensor"));
  CHECK_THROWS_WITH(GradScaler(GradScalerOptions().growth_factor(1)),
                    Contains("The growth factor must be > 1.0. Got 1"));
  CHECK_THROWS_WITH(GradScaler(GradScalerOptions().backoff_factor(1)),
                    Contains("The backoff factor must be < 1.0. Got 1"));
}

TEST_CASE("an optimizer of a program's own is skipped by the host", "[grad_scaler]") {
  class Halve : public optim::Optimizer {
   public:
    explicit Halve(const Tensor& p) : Optimizer(std::make_unique<optim::SGDOptions>(1)) { add_param_groups({{{p}}}); }

   private:
    std::vector<StateSlot> state_slots() override { return {}; }
    void update(const optim::OptimizerParamGroup& group, size_t) override {
      for (Tensor p : group.params()) p.mul_(0.5);
    }
    void resize_state() override {}
    void check_options(const optim::OptimizerOptions&) const override {}
  };
  const Tensor w = ones({2}).requires_grad_();
  Halve optimizer(w);
  GradScaler scaler;
  for (const float gradient : {INFINITY, 1.0f, NAN}) {
    scaler.scale(w.sum());
    w.set_grad(full({2}, gradient));
    scaler.step(optimizer);
    scaler.update();
  }
  CHECK(w.equal(full({2}, 0.5)));
}

TEST_CASE("a model of several dtypes takes Adam's and SGD's steps of each dtype", "[grad_scaler]") {
  for (const Device device : devices())
    for (const char* name : {"Adam", "SGD"}) {
      CAPTURE(device, name);
      const auto make = [&](DType dtype, uint32_t salt) {
        return from_formula({7}, salt, dtype).to(device).requires_grad_();
      };
      const Parameters mixed = {make(kFloat32, 1), make(kBFloat16, 2), make(kFloat64, 3)},
                       alone = {make(kFloat32, 1), make(kBFloat16, 2), make(kFloat64, 3)};
      const auto all = test::make_optimizer(name, {{"lr", 0.01}}, mixed);
      for (uint32_t step = 1; step <= 2; ++step) {
        set_gradients(mixed, step);
        all->step();
      }
      for (size_t k = 0; k < alone.size(); ++k) {
        const auto one = test::make_optimizer(name, {{"lr", 0.01}}, {alone[k]});
        for (uint32_t step = 1; step <= 2; ++step) {
          alone[k].set_grad(gradients(alone, step)[k]);
          one->step();
        }
        CHECK(mixed[k].equal(alone[k]));
      }
    }
}
