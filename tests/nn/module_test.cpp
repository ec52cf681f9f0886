// Tests modules: names, order, shared parameters, copies, moves between devices and dtypes, printing, state.
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

struct Block : nn::Cloneable<Block> {
  explicit Block(int64_t width) : width(width) { reset(); }
  void reset() override {
    scale = register_parameter("scale", ones({width}));
    fc = register_module("fc", nn::Linear(width, width));
    count = register_buffer("count", zeros({}, kInt64));
    norm = register_module("norm", nn::BatchNorm1d(width));
  }
  Tensor forward(const Tensor& x) { return norm(fc(x)) * scale; }
  int64_t width;
  Tensor scale, count;
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
struct Net : nn::Cloneable<Net> {
  Net() { reset(); }
  void reset() override {
    first = register_module("first", std::make_shared<Block>(3));
    drop = register_module("drop", nn::Dropout(0.5));
    second = register_module("second", std::make_shared<Block>(3));
  }
  Tensor forward(const Tensor& x) { return second->forward(drop(first->forward(x))); }
  std::shared_ptr<Block> first, second;
  nn::Dropout drop{nullptr};
};
/// A module with one parameter under two names, and with one layer registered twice.
struct Tied : nn::Module {
  Tied() {
    embedding = register_module("embedding", nn::Embedding(5, 2));
    head = register_parameter("head", embedding->weight);
    a = register_module("a", nn::Linear(2, 2));
    register_module("b", a);
  }
  nn::Embedding embedding{nullptr};
  nn::Linear a{nullptr};
  Tensor head;
};
using Names = std::vector<std::string>;

bool same_state(const nn::Module& a, const nn::Module& b) {
  const nn::NamedParameters ours = a.state_dict(), theirs = b.state_dict();
  bool same = ours.keys() == theirs.keys();
  for (const auto& item : ours) same = same && item->equal(theirs[item.key()]);
  return same;
}
template <class M> std::string print_to_string(const M& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace

TEST_CASE("parameters, buffers and modules come in the order of registration, parents first", "[nn][module]") {
  const Net net;
  CHECK(net.named_parameters().keys() == Names{"first.scale", "first.fc.weight", "first.fc.bias", "first.norm.weight",
                                               "first.norm.bias", "second.scale", "second.fc.weight", "second.fc.bias",
                                               "second.norm.weight", "second.norm.bias"});
  CHECK(net.named_parameters(/*recurse=*/false).is_empty());
  CHECK(net.first->named_parameters(false).keys() == Names{"scale"});
  CHECK(net.first->named_buffers().keys() ==
        Names{"count", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"});
  CHECK(net.named_children().keys() == Names{"first", "drop", "second"});
  const auto shared = std::make_shared<Net>();
  CHECK(shared->named_modules().keys() ==
        Names{"", "first", "first.fc", "first.norm", "drop", "second", "second.fc", "second.norm"});
  CHECK(shared->named_modules("net").keys() == Names{"net", "net.first", "net.first.fc", "net.first.norm", "net.drop",
                                                     "net.second", "net.second.fc", "net.second.norm"});
  CHECK(shared->named_modules("", /*include_self=*/false).keys() ==
        Names{"first", "first.fc", "first.norm", "drop", "second", "second.fc", "second.norm"});
  Names named, constant, of_pointers;
  shared->apply([&](const std::string& name, nn::Module&) { named.push_back(name); }, "net");
  std::as_const(*shared).apply([&](const std::string& name, const nn::Module&) { constant.push_back(name); }, "net");
  shared->apply([&](const std::string& name, const std::shared_ptr<nn::Module>&) { of_pointers.push_back(name); },
                "net");
  CHECK((named == shared->named_modules("net").keys() && constant == named && of_pointers == named));
  size_t visited = 0;
  std::as_const(*shared).apply([&](const nn::Module&) { ++visited; });
  shared->apply([&](const std::shared_ptr<nn::Module>& m) { visited += m == shared->first; });
  CHECK(visited == 9);
  CHECK_THROWS_WITH(net.apply([](const std::shared_ptr<nn::Module>&) {}), Contains("is not stored in a shared_ptr"));
  CHECK(shared->modules().size() == 8);
  CHECK(shared->modules(/*include_self=*/false).size() == 7);
  CHECK(net.first->parameters()[0].is_same(net.first->scale));
}

TEST_CASE("names must be new, and neither empty nor dotted", "[nn][module]") {
  nn::Module m;
  m.register_parameter("w", ones({1}));
  m.register_buffer("b", ones({1}));
  m.register_module("child", nn::ReLU());
  for (const std::string taken : {"w", "b", "child"}) {
    CHECK_THROWS_WITH(m.register_parameter(taken, ones({1})), Contains("Parameter '" + taken + "' already defined"));
    CHECK_THROWS_WITH(m.register_buffer(taken, ones({1})), Contains("Buffer '" + taken + "' already defined"));
    CHECK_THROWS_WITH(m.register_module(taken, nn::ReLU()), Contains("Submodule '" + taken + "' already defined"));
  }
  for (const std::string bad : {"", "a.b"})
    CHECK_THROWS_WITH(m.register_parameter(bad, ones({1})), Contains("Parameter name must not "));
  CHECK_THROWS_WITH(m.register_module("empty", nn::Linear(nullptr)), Contains("'empty' is an empty ModuleHolder"));
  CHECK(m.children().size() == 1);
  m.register_parameter("none", Tensor());  // an undefined parameter is not listed
  m.register_parameter("frozen", ones({1}), /*requires_grad=*/false);
  CHECK(m.named_parameters().keys() == Names{"w", "frozen"});
  CHECK(m.named_parameters()["w"].requires_grad());
  CHECK_FALSE(m.named_parameters()["frozen"].requires_grad());
}

TEST_CASE("what is shared is trained once, and saved under all its names", "[nn][module]") {
  Tied tied;
  CHECK(tied.named_parameters().keys() == Names{"head", "a.weight", "a.bias"});
  CHECK(tied.state_dict().keys() == Names{"head", "embedding.weight", "a.weight", "a.bias", "b.weight", "b.bias"});
  int visits = 0;
  tied.apply([&](nn::Module&) { ++visits; });
  CHECK(visits == 3);
  // A shared parameter can be loaded under any one of its names.
  nn::NamedParameters state;
  state.insert("embedding.weight", full({5, 2}, 7.0));
  state.insert("a.weight", zeros({2, 2}));
  state.insert("b.bias", ones({2}));
  tied.load_state_dict(state);
  CHECK(tied.head.equal(full({5, 2}, 7.0)));
  CHECK(tied.a->bias.equal(ones({2})));
}

TEST_CASE("state_dict goes module by module, parameters before buffers, as PyTorch's", "[nn][module]") {
  nn::Sequential net(nn::Linear(1, 2), nn::BatchNorm1d(2), nn::Linear(2, 1));
  CHECK(net->state_dict().keys() == Names{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
                                          "1.num_batches_tracked", "2.weight", "2.bias"});
}

TEST_CASE("train and eval reach every module below", "[nn][module]") {
  Net net;
  net.eval();
  CHECK_FALSE(net.is_training());
  CHECK_FALSE(net.second->norm->is_training());
  net.train();
  CHECK(net.drop->is_training());
  net.train(false);
  CHECK_FALSE(net.drop->is_training());
}

TEST_CASE("apply calls with the module, then with those below it", "[nn][module]") {
  Net net;
  Names names, types;
  net.apply([&](const std::string& name, nn::Module& m) { names.push_back(name), types.push_back(m.name()); });
  CHECK(names == Names{"", "first", "first.fc", "first.norm", "drop", "second", "second.fc", "second.norm"});
  CHECK(types == Names{"Net", "Block", "Linear", "BatchNorm1d", "Dropout", "Block", "Linear", "BatchNorm1d"});
  net.apply([](nn::Module& m) {
    if (auto* linear = m.as<nn::Linear>()) nn::init::constant_(linear->weight, 2);
  });
  CHECK(net.second->fc->weight.equal(full({3, 3}, 2.0)));
}

TEST_CASE("zero_grad clears the gradients of all parameters", "[nn][module]") {
  Net net;
  net.forward(ones({4, 3}).cumsum(0)).sum().backward();
  REQUIRE(net.first->fc->weight.grad().defined());
  net.zero_grad(/*set_to_none=*/false);
  CHECK(net.first->fc->weight.grad().equal(zeros({3, 3})));
  net.zero_grad();
  CHECK_FALSE(net.first->fc->weight.grad().defined());
}

TEST_CASE("clone is a deep copy: values, dtypes, devices, flags, and nobody's random numbers", "[nn][module]") {
  set_cpu_device_count(2);
  Net net;
  net.forward(ones({4, 3}).cumsum(0));  // changes the running statistics
  net.second->norm->eval();
  net.first->scale.requires_grad_(false);
  net.to(kFloat64);
  net.second->to(Device("cpu:1"));
  const PhiloxState before = default_generator().get_state();
  const auto copy = std::dynamic_pointer_cast<Net>(net.clone());
  CHECK(default_generator().get_state().offset == before.offset);
  REQUIRE(copy);
  CHECK(same_state(net, *copy));
  CHECK(copy->first->fc->weight.dtype() == kFloat64);
  CHECK(copy->first->fc->weight.device() == Device("cpu:0"));
  CHECK(copy->second->fc->weight.device() == Device("cpu:1"));
  CHECK(copy->first->count.dtype() == kInt64);
  CHECK_FALSE(copy->first->scale.requires_grad());
  CHECK(copy->second->scale.requires_grad());
  CHECK(copy->is_training());
  CHECK_FALSE(copy->second->norm->is_training());
  CHECK(copy->second->norm->num_batches_tracked.is_same(copy->named_buffers()["second.norm.num_batches_tracked"]));
  {
    const NoGradGuard guard;
    copy->first->fc->weight.fill_(0);
  }
  CHECK_FALSE(net.first->fc->weight.equal(copy->first->fc->weight));
  const auto moved = std::dynamic_pointer_cast<Net>(net.clone(Device("cpu:1")));
  for (const Tensor& p : moved->parameters()) CHECK(p.device() == Device("cpu:1"));
  set_cpu_device_count(1);
}

TEST_CASE("containers clone what they hold; a module without clone says so", "[nn][module]") {
  nn::Sequential net(nn::Linear(2, 3), nn::Sequential(nn::BatchNorm1d(3), nn::ReLU()), nn::Dropout(0.1));
  net->eval();
  const nn::Sequential copy(std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone()));
  CHECK(same_state(*net, *copy));
  CHECK_FALSE(copy->is_training());
  const Tensor x = randn({4, 2});
  CHECK(copy(x).equal(net(x)));
  CHECK_FALSE(copy->at<nn::LinearImpl>(0).weight.is_same(net->at<nn::LinearImpl>(0).weight));
  const nn::ModuleList list(nn::Linear(1, 1), nn::Linear(1, 2));
  CHECK(same_state(*list, *list->clone()));
  CHECK_THROWS_WITH(Tied().clone(), Contains("clone() has not been implemented for Tied"));
}

TEST_CASE("to moves values and gradients in place, under the same handles", "[nn][module]") {
  set_cpu_device_count(2);
  Net net;
  const Tensor w = net.first->fc->weight;
  optim::SGD optimizer(net.parameters(), 0.1);
  const auto run = [&](const Tensor& x) {
    const Tensor loss = net.forward(x).square().sum();
    loss.backward();
    return loss;
  };
  run(ones({4, 3}).cumsum(0));
  net.to(Device("cpu:1"), kFloat64);
  CHECK(w.is_same(net.first->fc->weight));
  CHECK(w.dtype() == kFloat64);
  CHECK(w.grad().dtype() == kFloat64);
  CHECK(w.grad().device() == Device("cpu:1"));
  CHECK(net.first->count.dtype() == kInt64);  // integers keep their dtype
  CHECK(net.first->count.device() == Device("cpu:1"));
  const Tensor before = w.detach().clone();
  run(ones({4, 3}, TensorOptions(kFloat64).device("cpu:1")).cumsum(0));  // gradients of both runs are added
  optimizer.step();
  CHECK_FALSE(w.equal(before));
  CHECK_THROWS_WITH(net.to(kInt64), Contains("int64") && Contains("floating point"));
  set_cpu_device_count(1);
}

TEST_CASE("a state must have the module's names and shapes, or nothing is changed", "[nn][module]") {
  nn::Linear layer(2, 3);
  const nn::NamedParameters good = nn::Linear(2, 3)->state_dict();
  const Tensor before = layer->weight.detach().clone();
  const auto refuses = [&](auto change, const std::string& words) {
    nn::NamedParameters state;
    for (const auto& item : good) change(state, item.key(), item.value());
    CHECK_THROWS_WITH(layer->load_state_dict(state),
                      Contains("load_state_dict: Error(s) in loading state_dict for Linear") && Contains(words));
    CHECK(layer->weight.equal(before));
  };
  refuses([](auto& s, auto name, auto t) { name == "bias" ? void() : void(s.insert(name, t)); },
          "; missing: 'bias' of (3,) [");
  refuses([](auto& s, auto name, auto t) { s.insert(name, t), s.insert(name + "s", t); },
          "; unexpected: 'weights', 'biass' [");
  refuses([](auto& s, auto name, auto t) { s.insert(name, t.unsqueeze(0)); },
          "; size mismatch: 'weight' of (1, 3, 2), but the module's is (3, 2), 'bias' of (1, 3)");
  refuses([](auto& s, auto name, auto t) { name == "bias" ? void(s.insert("b", t)) : void(s.insert(name, t[0])); },
          "; missing: 'bias' of (3,); unexpected: 'b'; size mismatch: 'weight' of (2,), but");
  refuses([](auto& s, auto name, auto t) { s.insert("module." + name, t); },
          "; missing: 'weight' of (3, 2), 'bias' of (3,); unexpected: 'module.weight', 'module.bias'; every key "
          "begins with 'module.': remove that prefix");
  layer->load_state_dict(good);
  CHECK(layer->weight.equal(good["weight"]));
  CHECK(layer->weight.requires_grad());
}

TEST_CASE("modules print as they do in Python", "[nn][module]") {  // texts from PyTorch 2.15
  using namespace nn;
  CHECK(print_to_string(Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)");
  CHECK(print_to_string(Conv2d(1, 32, 3)) == "Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1))");
  CHECK(print_to_string(
            Conv2d(Conv2dOptions(2, 4, {3, 1}).stride({2, 1}).padding(1).dilation(2).groups(2).bias(false))) ==
        "Conv2d(2, 4, kernel_size=(3, 1), stride=(2, 1), padding=(1, 1), dilation=(2, 2), groups=2, bias=False)");
  CHECK(print_to_string(
            ConvTranspose2d(ConvTranspose2dOptions(2, 4, 3).stride(2).padding(1).output_padding({1, 0}).bias(false))) ==
        "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 0), bias=False)");
  CHECK(print_to_string(Conv1d(Conv1dOptions(2, 4, 3).padding(1))) ==
        "Conv1d(2, 4, kernel_size=(3,), stride=(1,), padding=(1,))");
  CHECK(print_to_string(ConvTranspose1d(2, 4, 3)) == "ConvTranspose1d(2, 4, kernel_size=(3,), stride=(1,))");
  CHECK(print_to_string(BatchNorm1d(5)) ==
        "BatchNorm1d(5, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)");
  CHECK(print_to_string(BatchNorm2d(BatchNorm2dOptions(64).momentum(nullopt).affine(false))) ==
        "BatchNorm2d(64, eps=1e-05, momentum=None, affine=False, bias=False, track_running_stats=True)");
  CHECK(print_to_string(LayerNorm(LayerNormOptions({5}))) ==
        "LayerNorm((5,), eps=1e-05, elementwise_affine=True, bias=True)");
  CHECK(print_to_string(Embedding(EmbeddingOptions(10, 3).padding_idx(1))) == "Embedding(10, 3, padding_idx=1)");
  CHECK(print_to_string(ReLU()) == "ReLU()");
  CHECK(print_to_string(ReLU(ReLUOptions(true))) == "ReLU(inplace=True)");
  CHECK(print_to_string(GELU()) == "GELU(approximate='none')");
  CHECK(print_to_string(ELU()) == "ELU(alpha=1.0)");
  CHECK(print_to_string(LeakyReLU()) == "LeakyReLU(negative_slope=0.01)");
  CHECK(print_to_string(LogSoftmax(-1)) == "LogSoftmax(dim=-1)");
  CHECK(print_to_string(MaxPool2d(2)) == "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)");
  CHECK(print_to_string(MaxPool2d(MaxPool2dOptions({3, 2}).stride(1))) ==
        "MaxPool2d(kernel_size=(3, 2), stride=1, padding=0, dilation=1, ceil_mode=False)");
  CHECK(print_to_string(AvgPool2d(2)) == "AvgPool2d(kernel_size=2, stride=2, padding=0)");
  CHECK(print_to_string(AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({2, 3}))) ==
        "AdaptiveAvgPool2d(output_size=(2, 3))");
  CHECK(print_to_string(Flatten()) == "Flatten(start_dim=1, end_dim=-1)");
  CHECK(print_to_string(Dropout2d(0.25)) == "Dropout2d(p=0.25, inplace=False)");
  CHECK(print_to_string(CrossEntropyLoss()) == "CrossEntropyLoss()");
  CHECK(print_to_string(Sequential()) == "Sequential()");
  CHECK(print_to_string(Block(2)) ==
        "Block(\n"
        "  (fc): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (norm): BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)\n"
        ")");
  CHECK(print_to_string(Sequential(Sequential(Linear(2, 2), ReLU()), Flatten())) ==
        "Sequential(\n"
        "  (0): Sequential(\n"
        "    (0): Linear(in_features=2, out_features=2, bias=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        "  (1): Flatten(start_dim=1, end_dim=-1)\n"
        ")");
  struct Leaf : Module {};
  CHECK(print_to_string(Leaf()) == "Leaf()");
  CHECK(print_to_string(Module("named")) == "named()");
}

TEST_CASE("Sequential takes modules, names and functions, and hands them out", "[nn][containers]") {
  nn::Sequential net({{"fc", nn::Linear(2, 3)}, {"act", nn::ReLU()}});
  net->push_back("out", nn::Linear(3, 1));
  net->push_back(nn::Functional(log_softmax, 1));
  CHECK(net->named_parameters().keys() == Names{"fc.weight", "fc.bias", "out.weight", "out.bias"});
  CHECK(net->size() == 4);
  CHECK(net->named_children().keys() == Names{"fc", "act", "out", "3"});
  CHECK(net(ones({5, 2})).equal(zeros({5, 1})));  // log-softmax over one class is 0
  CHECK(net->at<nn::LinearImpl>(2).options.in_features() == 3);
  CHECK_THROWS_WITH(net->at<nn::LinearImpl>(1), Contains("Unable to cast module[1]") && Contains("ReLU"));
  CHECK_THROWS_AS(net[4], IndexError);
  CHECK_THROWS_WITH(net->push_back("fc", nn::ReLU()), Contains("Submodule 'fc' already defined"));
  CHECK(nn::Sequential()(ones({2})).equal(ones({2})));
}

TEST_CASE("ModuleList registers what it holds and refuses what it does not", "[nn][containers]") {
  nn::ModuleList list(nn::Linear(2, 2), nn::ReLU());
  list->push_back(nn::Linear(2, 1));
  CHECK(list->size() == 3);
  CHECK(list->named_parameters().keys() == Names{"0.weight", "0.bias", "2.weight", "2.bias"});
  Tensor x = ones({4, 2});
  for (const auto& module : *list)
    if (auto* linear = module->as<nn::Linear>()) x = linear->forward(x);
  CHECK(x.sizes() == IntArrayRef{4, 1});
  CHECK_THROWS_AS(list[3], IndexError);
}

TEST_CASE("OrderedDict keeps order, and names what is missing or double", "[nn][module]") {
  OrderedDict<std::string, int> dict;
  dict.insert("b", 1);
  dict.insert("a", 2);
  CHECK(dict.keys() == Names{"b", "a"});
  CHECK(dict.values() == std::vector<int>{1, 2});
  CHECK(dict[size_t{1}].key() == "a");
  CHECK(*dict.front() == 1);
  CHECK(dict.find("c") == nullptr);
  CHECK_THROWS_WITH(dict["c"], Contains("'c'"));
  CHECK_THROWS_WITH(dict.insert("a", 3), Contains("'a' already"));
  CHECK_THROWS_AS(dict[size_t{2}], IndexError);
}

namespace {
template <class Options>
concept HasLabelSmoothing = requires(Options o) {
  o.label_smoothing(0.1);
};
template <class Options>
concept HasWeight = requires(Options o) {
  o.weight(Tensor());
};
template <class Options>
concept HasDilation = requires(Options o) {
  o.dilation(2);
};
template <class Options>
concept HasCountIncludePad = requires(Options o) {
  o.count_include_pad(false);
};
}  // namespace
TEST_CASE("options are those of the module alone: what it would ignore does not compile", "[nn][module]") {
  using namespace nn;
  STATIC_REQUIRE(HasLabelSmoothing<CrossEntropyLossOptions>);
  STATIC_REQUIRE_FALSE(HasLabelSmoothing<MSELossOptions>);
  STATIC_REQUIRE_FALSE(HasLabelSmoothing<NLLLossOptions>);
  STATIC_REQUIRE(HasWeight<BCELossOptions>);
  STATIC_REQUIRE_FALSE(HasWeight<L1LossOptions>);
  STATIC_REQUIRE(HasDilation<MaxPool2dOptions>);
  STATIC_REQUIRE_FALSE(HasDilation<AvgPool2dOptions>);
  STATIC_REQUIRE(HasCountIncludePad<AvgPool2dOptions>);
  STATIC_REQUIRE_FALSE(HasCountIncludePad<MaxPool2dOptions>);
}
