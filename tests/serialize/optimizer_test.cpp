#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/serialize/pytorch_files.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using Params = std::vector<Tensor>;
using Maker = std::function<std::unique_ptr<optim::Optimizer>(const Params&)>;
template <class O, class Options> Maker maker(const Options& options) {
  return [options](const Params& params) { return std::make_unique<O>(params, options); };
}

/// Optimizers with other options than the file's, which load() must replace.
const std::map<std::string, Maker> kMakers = {{"Adam", maker<optim::Adam>(optim::AdamOptions(7))},
                                              {"AdamW", maker<optim::AdamW>(optim::AdamWOptions(7))},
                                              {"SGD", maker<optim::SGD>(optim::SGDOptions(7))},
                                              {"Adagrad", maker<optim::Adagrad>(optim::AdagradOptions(7))},
                                              {"Adadelta", maker<optim::Adadelta>(optim::AdadeltaOptions(7))},
                                              {"RMSprop", maker<optim::RMSprop>(optim::RMSpropOptions(7))},
                                              {"Rprop", maker<optim::Rprop>(optim::RpropOptions(7))},
                                              {"Adamax", maker<optim::Adamax>(optim::AdamaxOptions(7))},
                                              {"NAdam", maker<optim::NAdam>(optim::NAdamOptions(7))},
                                              {"RAdam", maker<optim::RAdam>(optim::RAdamOptions(7))}};

Params trained(const Params& values) {
  Params out;
  for (const Tensor& value : values) out.push_back(value.detach().clone().requires_grad_());
  return out;
}
void third_step(optim::Optimizer& optimizer, const Params& params) {
  for (size_t i = 0; i < params.size(); ++i)
    params[i].set_grad(file_values(params[i].sizes(), 30 + static_cast<int64_t>(i)));
  optimizer.step();
}
void check_close(const Params& ours, const Params& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) CHECK(ours[i].detach().allclose(theirs[i].detach(), 1e-6, 1e-7));
}

}  // namespace

TEST_CASE("every optimizer goes on from the state that Python's saved, as Python's does", "[serialize]") {
  serialize::InputArchive file;
  file.load_from(pytorch_file("python_optimizers"));
  REQUIRE(file.keys().size() == kMakers.size());
  const TemporaryFolder folder;
  for (const auto& [name, make] : kMakers) {
    INFO(name);
    serialize::InputArchive one, state;
    file.read(name, one);
    one.read("optimizer", state);
    const Params start = one.value().at("params").toTensorVector(), after = one.value().at("after").toTensorVector();
    const Params params = trained(start);
    const auto optimizer = make(params);
    optimizer->load(state);
    // Saves and loads the optimizer through a file of Tandem's, in both formats.
    for (const char* path : {"state.pt", "state.safetensors"}) {
      save(*optimizer, folder / path);
      const Params copies = trained(start);
      const auto copy = make(copies);
      load(*copy, folder / path);
      third_step(*copy, copies);
      check_close(copies, after);
    }
    third_step(*optimizer, params);
    check_close(params, after);
  }
}

TEST_CASE("optimizers go on from the state that LibTorch's saved", "[serialize]") {
  for (const auto& [name, type] : {std::pair("adam", "Adam"), std::pair("sgd", "SGD")}) {
    INFO(name);
    const std::string file = pytorch_file(std::string("libtorch_") + name);
    const std::string stem = file.substr(0, file.size() - 3);
    Params start, after;
    load(start, stem + "_params.pt");
    load(after, stem + "_after.pt");
    const Params params = trained(start);
    const auto optimizer = kMakers.at(type)(params);
    load(*optimizer, file);
    third_step(*optimizer, params);
    check_close(params, after);
  }
}

TEST_CASE("state that an optimizer cannot go on from is refused, and changes nothing", "[serialize]") {
  const Params params = trained({ones({2}), ones({3})});
  optim::Adam adam(params, optim::AdamOptions(0.5));
  third_step(adam, params);
  const IValue good = [&] {
    serialize::OutputArchive archive;
    archive << adam;
    return archive.value();
  }();
  const auto refuses = [&](const IValue& value, const std::string& words) {
    std::stringstream stream;
    save(value, stream);
    optim::Adam fresh(params, optim::AdamOptions(0.25));
    REQUIRE_THROWS_WITH(load(fresh, stream), Contains("the stream") && Contains(words));
    CHECK((fresh.lr() == 0.25 && fresh.state().empty()));
  };
  const auto with_option = [&](const std::string& name, const IValue& value) {
    IValue group = good.at("param_groups").elements()[0], changed = good;
    group.insert(name, value);
    changed.insert("param_groups", IValue::list({group}));
    return changed;
  };
  refuses(with_option("maximize", true), "the option 'maximize' is not one of");
  refuses(with_option("decoupled_weight_decay", true), "'decoupled_weight_decay'");
  refuses(with_option("momentum", 0.5), "'momentum'");
  refuses(with_option("lr", -1), "Invalid learning rate: -1");
  refuses(with_option("lr", "fast"), "a string");
  refuses(with_option("betas", IValue::tuple({0.5})), "'betas' has 1 numbers");
  refuses(
      with_option("params", IValue::list({0})),
      "loaded state dict contains a parameter group that has a different size than the optimizer's parameter group");
  refuses(with_option("params", IValue::list({0, 7})), "but only 1 are in its parameter groups");
  IValue changed = good;
  changed.insert("param_groups", IValue::list({}));
  refuses(changed, "loaded state dict has a different number of parameter groups: the file has 0, the optimizer 1");
  IValue state = good.at("state").at(0), states = good.at("state");
  state.insert("exp_avg", IValue::list({}));
  states.insert(0, state);
  changed = good;
  changed.insert("state", states);
  refuses(changed, "'exp_avg' of parameter 0 is a list");
  refuses(IValue(1), "an int");
  // Options that only choose an implementation, and options that are off, are accepted.
  std::stringstream stream;
  save(with_option("foreach", true), stream);
  load(adam, stream);
}

// TANDEM_PEERS_PYTHON names a Python with torch, as for ./run differential. CI has none, so it only reads files back.
TEST_CASE("Python reads what is written here", "[serialize][.][python]") {
  const char* const python = std::getenv("TANDEM_PEERS_PYTHON");
  if (!python) {
    WARN("TANDEM_PEERS_PYTHON names no Python with torch");
    return;
  }
  const TemporaryFolder folder;
  IValue everything;
  load(everything, pytorch_file("python_everything"));
  save(everything, folder / "everything.pt");
  std::string wide;
  detail::write_pytorch_file(
      everything, [&](const void* from, uint64_t n) { wide.append(static_cast<const char*>(from), n); }, 1);
  write_file(folder / "wide.pt", wide);
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Linear(4, 1));
  load(net, pytorch_file("libtorch_module"));
  save(net, folder / "module.pt");
  save(arange(6).reshape({2, 3}), folder / "tensor.pt");
  save(std::vector<Tensor>{ones({2}), zeros({0, 3})}, folder / "list.pt");
  serialize::InputArchive file;
  file.load_from(pytorch_file("python_optimizers"));
  for (const auto& [name, make] : kMakers) {
    serialize::InputArchive one, state;
    file.read(name, one);
    one.read("optimizer", state);
    const auto optimizer = make(trained(one.value().at("params").toTensorVector()));
    optimizer->load(state);
    save(*optimizer, folder / (name + ".pt"));
  }
  save(optim::LBFGS(trained({ones({2})}), optim::LBFGSOptions(1).max_iter(5).line_search_fn("strong_wolfe")),
       folder / "LBFGS.pt");
  const std::string fixtures = kFixtures;
  const std::string command = std::string(python) + " " + fixtures + "/../serialize/read_in_python.py " +
                              folder.path() + " " + fixtures + "/pytorch";
  CHECK(std::system(command.c_str()) == 0);
}
