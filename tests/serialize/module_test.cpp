#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/serialize/pytorch_files.h"
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

TEST_CASE("a file that does not fit a module is refused with all three lists", "[serialize]") {
  const TemporaryFolder folder;
  nn::Sequential net(nn::Linear(2, 3), nn::BatchNorm1d(3));
  std::map<std::string, Tensor> prefixed, others;
  for (const auto& item : net->state_dict()) prefixed["module." + item.key()] = item.value().detach();
  others["0.weight"] = ones({2, 2}), others["0.bias"] = ones({3}), others["head"] = ones({1});
  for (const std::string name : {"a.pt", "a.safetensors"}) {
    save(IValue(prefixed), folder / name);
    CHECK_THROWS_WITH(load(net, folder / name),
                      Contains(name) && Contains("missing: '0.weight' of (3, 2), '0.bias' of (3,), '1.weight'") &&
                          Contains("unexpected: 'module.0.bias', 'module.0.weight'") &&
                          Contains("every key begins with 'module.': remove that prefix"));
    save(IValue(others), folder / name);
    CHECK_THROWS_WITH(load(net, folder / name),
                      Contains("missing: '1.weight' of (3,)") && Contains("unexpected: 'head'") &&
                          Contains("size mismatch: '0.weight' of (2, 2), but the module's is (3, 2)"));
  }
  prefixed.clear();
  for (const auto& item : net->state_dict()) prefixed[item.key()] = item.value().detach();
  prefixed["beside"] = ones({1});  // with a complete state, other tensors are ignored
  save(IValue(prefixed), folder / "a.pt");
  load(net, folder / "a.pt");
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
  CHECK(options.lr() == 1.0 / 3 * 0.5);  // equal to the last bit
  CHECK(options.momentum() == 0.9);
  CHECK(options.weight_decay() == 1e-4);
  CHECK(options.nesterov());
  CHECK(loaded.param_groups()[1].options().get_lr() == 0.005);
  CHECK(loaded.param_groups()[0].initial_lr() == 1.0 / 3);  // the initial learning rate, not the current one

  AdamW adam(groups(1)[0].params(), AdamWOptions(0.3).betas({0.8, 0.99}).eps(1e-5).amsgrad(true));
  save(adam, folder / "adam");
  AdamW other(groups(1)[0].params());
  load(other, folder / "adam");
  const auto& now = static_cast<AdamWOptions&>(other.param_groups()[0].options());
  CHECK((now.lr() == 0.3 && now.betas() == AdamWOptions::Betas(0.8, 0.99) && now.eps() == 1e-5 && now.amsgrad()));

  REQUIRE_THROWS_WITH(
      load(loaded, folder / "adam"),
      Contains("loaded state dict has a different number of parameter groups: the file has 1, the optimizer 2"));
  REQUIRE_THROWS_WITH(
      load(other, folder / "sgd"),
      Contains("loaded state dict has a different number of parameter groups: the file has 2, the optimizer 1"));
  CHECK(loaded.param_groups()[1].options().get_lr() == 0.005);
  CHECK(now.lr() == 0.3);
  save_safetensors(saved.state(), folder / "bare", {{"format", "pt"}});  // without options, as Python writes it
  load(other, folder / "bare");
  CHECK(now.lr() == 0.3);
  for (const char* bad : {"fast", "", "-1"}) {
    save_safetensors(saved.state(), folder / "bad", {{"options.0.lr", bad}});
    REQUIRE_THROWS_WITH(load(other, folder / "bad"),
                        Contains(folder / "bad") && (Contains("lr") || Contains("learning rate")) && Contains(bad));
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
  REQUIRE_THROWS_WITH(load(net, folder / "wider"), Contains("'0.weight' of (5, 3)") && Contains("(4, 3)"));
  REQUIRE_THROWS_WITH(load(optimizer, folder / "linear"), Contains("no state named 'weight'"));
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

TEST_CASE("modules read the state dicts of Python and LibTorch, and write the former by the path's extension",
          "[serialize]") {
  const TemporaryFolder folder;
  for (const char* name : {"python_state_dict", "libtorch_module"}) {
    INFO(name);
    nn::Sequential net = make_net();
    load(net, test::pytorch_file(name));
    int64_t salt = 0;
    const nn::NamedParameters state = net->state_dict();
    for (const auto& item : state) {
      INFO(item.key());
      const Tensor expected = item->dim() ? test::file_values(item->sizes(), salt) : full({}, 5, kInt64);
      CHECK(item->detach().equal(expected));
      ++salt;
    }
    CHECK(salt == 9);
    save(net, folder / "net.pt");
    save(net, folder / "net.safetensors");
    CHECK(test::read_file(folder / "net.pt").substr(0, 2) == "PK");
    CHECK(load_safetensors(folder / "net.safetensors").size() == 9);
    serialize::InputArchive archive;
    archive.load_from(folder / "net.pt");
    CHECK(archive.keys() == state.keys());
    nn::Sequential again = make_net();
    load(again, folder / "net.safetensors");
    CHECK(again->parameters()[0].equal(net->parameters()[0]));
  }
}

TEST_CASE("archives hold values under keys, and archives within them", "[serialize]") {
  const TemporaryFolder folder;
  nn::Sequential net = make_net();
  {
    serialize::OutputArchive archive, inner;
    net->save(inner);
    archive.write("net", inner);
    archive.write("weight", ones({2}).requires_grad_());
    archive.write("buffer", ones({2}).requires_grad_(), /*is_buffer=*/true);
    archive("epoch", IValue(7));
    archive.write("names", IValue(std::vector<std::string>{"a", "b"}));
    REQUIRE_THROWS_WITH(archive.write("epoch", 8), Contains("already has a value under 'epoch'"));
    REQUIRE_THROWS_WITH(archive.write("none", Tensor()), Contains("'none' is undefined"));
    REQUIRE_THROWS_WITH(archive.save_to(folder / "mixed.safetensors"),
                        Contains("mixed.safetensors") && Contains("'epoch'"));
    archive.save_to(folder / "archive");
  }
  serialize::InputArchive archive, inner;
  archive.load_from(folder / "archive");
  CHECK(archive.keys() == std::vector<std::string>{"net", "weight", "buffer", "epoch", "names"});
  Tensor weight, buffer, absent;
  archive.read("weight", weight);
  archive.read("buffer", buffer, /*is_buffer=*/true);
  CHECK((weight.requires_grad() && !buffer.requires_grad()));
  IValue value;
  archive.read("epoch", value);
  CHECK(value.toInt() == 7);
  CHECK((!archive.try_read("absent", absent) && !absent.defined()));
  REQUIRE_THROWS_WITH(archive.read("absent", absent), Contains(folder / "archive") &&
                                                          Contains("No such serialized tensor 'absent'") &&
                                                          Contains("'epoch'"));
  REQUIRE_THROWS_WITH(archive.read("epoch", absent), Contains("'epoch' is an int; accepted: a Tensor"));
  REQUIRE_THROWS_WITH(archive.read("epoch", inner), Contains("accepted: a dict"));
  archive.read("net", inner);
  nn::Sequential again = make_net();
  again->load(inner);
  CHECK(again->parameters()[2].equal(net->parameters()[2]));
  serialize::InputArchive first;
  inner.read("0", first);  // "0.weight" is read as "weight" of "0"
  CHECK(first.keys() == std::vector<std::string>{"weight", "bias"});

  nn::Linear linear(3, 4);
  for (const char* name : {"libtorch_tensor", "libtorch_list", "libtorch_adam"})
    REQUIRE_THROWS_WITH(load(linear, test::pytorch_file(name)), Contains(name) && Contains("load_state_dict"));
  Tensor six;
  load(six, test::pytorch_file("libtorch_tensor"));
  CHECK(six.equal(arange(6).reshape({2, 3})));
  std::vector<Tensor> list;
  load(list, test::pytorch_file("libtorch_list"));
  CHECK((list.size() == 3 && list[1].sizes() == IntArrayRef{0, 3} && list[2].item<float>() == 2.5f));
  IValue pickled;
  load(pickled, test::pytorch_file("libtorch_pickle"));
  CHECK(pickled.toTensorVector()[0].equal(ones({2})));
  test::write_file(folder / "text", "neither of these formats");
  REQUIRE_THROWS_WITH(load(linear, folder / "text"), Contains(folder / "text") && Contains("neither"));
  REQUIRE_THROWS_WITH(load(linear, folder / "nowhere"), Contains("No such file"));
}
