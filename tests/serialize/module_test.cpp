#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using test::TemporaryFolder;

namespace {

nn::Sequential make_net() { return nn::Sequential(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Linear(4, 1)); }
void train(nn::Sequential& net, optim::Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    net(arange(15, kFloat32).reshape({5, 3}).sin().add(i)).square().mean().backward();
    optimizer.step();
  }
}

}  // namespace

TEST_CASE("training goes on from saved module and optimizer as if it had never stopped", "[serialize]") {
  const TemporaryFolder folder;
  const bool adam = GENERATE(true, false);
  const auto make = [&](const nn::Sequential& net) -> std::unique_ptr<optim::Optimizer> {
    if (adam) return std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.1).amsgrad(true));
    return std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  };
  nn::Sequential net = make_net();
  auto optimizer = make(net);
  train(net, *optimizer, 3);
  save(net, folder / "net");
  save(*optimizer, folder / "optimizer");
  train(net, *optimizer, 3);

  nn::Sequential again = make_net();
  auto other = make(again);
  load(again, folder / "net");
  load(*other, folder / "optimizer");
  train(again, *other, 3);
  const nn::NamedParameters ours = net->state_dict(), theirs = again->state_dict();
  for (const auto& item : ours) {
    INFO(item.key());
    CHECK(item.value().equal(*theirs.find(item.key())));
  }
}

TEST_CASE("an optimizer's options are saved, those of each group, and what its schedule starts from", "[serialize]") {
  const TemporaryFolder folder;
  using namespace optim;
  const auto groups = [](double second_rate) {
    std::vector<OptimizerParamGroup> out;
    out.emplace_back(std::vector<Tensor>{ones({2}).requires_grad_()});
    out.emplace_back(std::vector<Tensor>{ones({3}).requires_grad_()}, std::make_unique<SGDOptions>(second_rate));
    return out;
  };
  SGD saved(groups(0.01), SGDOptions(1.0 / 3).momentum(0.9).weight_decay(1e-4).nesterov(true));
  ExponentialLR schedule(saved, 0.5);
  schedule.step();
  save(saved, folder / "sgd");
  SGD loaded(groups(7), SGDOptions(0.5));
  load(loaded, folder / "sgd");
  const auto& options = static_cast<SGDOptions&>(loaded.param_groups()[0].options());
  CHECK(options.lr() == 1.0 / 3 * 0.5);  // to the last bit
  CHECK(options.momentum() == 0.9);
  CHECK(options.weight_decay() == 1e-4);
  CHECK(options.nesterov());
  CHECK(loaded.param_groups()[1].options().get_lr() == 0.005);
  CHECK(loaded.param_groups()[0].initial_lr() == 1.0 / 3);  // and not the rate of the moment

  AdamW adam(groups(1)[0].params(), AdamWOptions(0.3).betas({0.8, 0.99}).eps(1e-5).amsgrad(true));
  save(adam, folder / "adam");
  AdamW other(groups(1)[0].params());
  load(other, folder / "adam");
  const auto& now = static_cast<AdamWOptions&>(other.param_groups()[0].options());
  CHECK((now.lr() == 0.3 && now.betas() == AdamWOptions::Betas(0.8, 0.99) && now.eps() == 1e-5 && now.amsgrad()));

  REQUIRE_THROWS_WITH(load(loaded, folder / "adam"), Contains("'0.amsgrad' has no place"));
  REQUIRE_THROWS_WITH(load(other, folder / "sgd"), Contains("'0.dampening' has no place"));
  CHECK(loaded.param_groups()[1].options().get_lr() == 0.005);
  CHECK(now.lr() == 0.3);
  save_safetensors(saved.state(), folder / "bare", {{"format", "pt"}});  // as Python writes: without options
  load(other, folder / "bare");
  CHECK(now.lr() == 0.3);
  for (const char* bad : {"fast", "", "-1"}) {
    save_safetensors(saved.state(), folder / "bad", {{"options.0.lr", bad}});
    REQUIRE_THROWS_WITH(load(other, folder / "bad"), Contains(folder / "bad") && Contains("lr") && Contains(bad));
  }
}

TEST_CASE("a file of something else is refused, by its name, and changes nothing", "[serialize]") {
  const TemporaryFolder folder;
  nn::Sequential net = make_net();
  const Tensor before = net->parameters()[0].detach().clone();
  optim::Adam optimizer(net->parameters());
  train(net, optimizer, 1);
  const Tensor after = net->parameters()[0].detach().clone();

  save(nn::Linear(3, 4), folder / "linear");
  REQUIRE_THROWS_WITH(load(net, folder / "linear"), Contains(folder / "linear") && Contains("'0.weight'"));
  save(nn::Sequential(nn::Linear(3, 5), nn::BatchNorm1d(5), nn::Linear(5, 1)), folder / "wider");
  REQUIRE_THROWS_WITH(load(net, folder / "wider"), Contains("'0.weight' is (5, 3)") && Contains("(4, 3)"));
  REQUIRE_THROWS_WITH(load(optimizer, folder / "linear"), Contains("'bias' has no place"));
  CHECK(net->parameters()[0].equal(after));
  CHECK(!before.equal(after));
  CHECK(optimizer.state().size() == 3 * net->parameters().size());
}

TEST_CASE("lists of tensors keep their order", "[serialize]") {
  const TemporaryFolder folder;
  std::vector<Tensor> tensors, read;
  for (int64_t i = 0; i < 12; ++i) tensors.push_back(full({i}, i));
  save(tensors, folder / "list");
  load(read, folder / "list");
  REQUIRE(read.size() == 12);
  for (size_t i = 0; i < 12; ++i) CHECK(read[i].equal(tensors[i]));
  save(nn::Linear(1, 1), folder / "linear");
  REQUIRE_THROWS_WITH(load(read, folder / "linear"), Contains(folder / "linear") && Contains("no tensor '0'"));
}
