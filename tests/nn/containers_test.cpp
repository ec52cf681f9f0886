// Tests ModuleList, ModuleDict, ParameterList, ParameterDict, and the ordered dictionary that they use.
#include "tandem/nn/containers/containers.h"

#include <sstream>
#include <utility>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
using Names = std::vector<std::string>;
using Modules = OrderedDict<std::string, std::shared_ptr<nn::Module>>;

static std::string printed(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("ModuleList inserts, extends, and names its modules by position", "[nn][containers]") {
  nn::ModuleList list(nn::Linear(2, 2));
  list->extend(*nn::ModuleList(nn::ReLU(), nn::Linear(2, 1)));
  list->insert(1, nn::Tanh());
  list->insert(4, nn::Sigmoid());
  CHECK(list->size() == 5);
  CHECK(list->named_children().keys() == Names{"0", "1", "2", "3", "4"});
  CHECK(list->at<nn::TanhImpl>(1).name() == "Tanh");
  CHECK(list->at<nn::LinearImpl>(3).options.out_features() == 1);
  CHECK(list[4]->name() == "Sigmoid");
  CHECK(list->named_parameters().keys() == Names{"0.weight", "0.bias", "3.weight", "3.bias"});
  CHECK_THROWS_WITH(
      list->at<nn::LinearImpl>(1),
      Contains("Unable to cast module[1] to tandem::nn::LinearImpl; the module is a tandem::nn::TanhImpl"));
  CHECK_THROWS_WITH(list->insert(6, nn::ReLU()), Contains("Index out of range: insert at 6"));
  CHECK_THROWS_WITH(list->insert(0, nn::ReLU(nullptr)), Contains("empty ModuleHolder"));
}

TEST_CASE("containers give their modules as what they are, and refuse what they are not", "[nn][containers]") {
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU());
  CHECK(net->ptr<nn::LinearImpl>(0) == net->ptr(0));
  CHECK(&net->at<nn::LinearImpl>(0) == net[0].get());
  CHECK(&std::as_const(*net).at<nn::LinearImpl>(0) == net[0].get());
  CHECK_THROWS_WITH(
      net->at<nn::LinearImpl>(1),
      Contains("Sequential: Unable to cast module[1] to tandem::nn::LinearImpl; the module is a tandem::nn::ReLUImpl"));
  CHECK_THROWS_WITH(net->ptr<nn::LinearImpl>(1), Contains("Sequential: Unable to cast module[1]"));
  CHECK_THROWS_AS(net->ptr<nn::LinearImpl>(2), IndexError);
  CHECK_THROWS_WITH(net[2], Contains("Sequential: Index out of range: index is 2"));
  net->replace_module("1", nn::Tanh().ptr());
  // as in LibTorch, replace_module does not change the modules that Sequential runs
  CHECK(net->ptr(1)->as<nn::ReLU>());

  nn::ModuleList list(nn::Linear(2, 3), nn::ReLU());
  CHECK(list->ptr<nn::LinearImpl>(0) == list[0]);
  CHECK(list->ptr<nn::LinearImpl>(1) == nullptr);  // returns null, as in LibTorch; Sequential throws
  CHECK_THROWS_WITH(list->ptr<nn::LinearImpl>(2), Contains("ModuleList: Index out of range: index is 2"));
  CHECK(&std::as_const(*list).at<nn::LinearImpl>(0) == list[0].get());
}

TEST_CASE("ModuleDict keeps the order of its names, replaces and gives away", "[nn][containers]") {
  nn::ModuleDict dict(Modules{{"in", nn::Linear(2, 3).ptr()}, {"act", nn::ReLU().ptr()}});
  CHECK(dict->keys() == Names{"in", "act"});
  CHECK(dict->named_parameters().keys() == Names{"in.weight", "in.bias"});
  dict->update(Modules{{"act", nn::Tanh().ptr()}, {"out", nn::Linear(3, 1).ptr()}});
  CHECK(dict->keys() == Names{"in", "act", "out"});
  CHECK(dict["act"]->name() == "Tanh");
  CHECK(dict->at<nn::LinearImpl>("out").options.in_features() == 3);
  CHECK_THROWS_WITH(dict->at<nn::LinearImpl>("act"),
                    Contains("module[act] to tandem::nn::LinearImpl; the module is a tandem::nn::TanhImpl"));
  CHECK_THROWS_WITH(dict["none"], Contains("'none'"));
  CHECK_THROWS_WITH(dict->update(Modules{{"a.b", nn::ReLU().ptr()}}),
                    Contains("Submodule name must not contain a dot (got 'a.b')"));
  CHECK(printed(*dict) ==
        "ModuleDict(\n  (in): Linear(in_features=2, out_features=3, bias=True)\n  (act): Tanh()\n"
        "  (out): Linear(in_features=3, out_features=1, bias=True)\n)");

  const auto copy = std::dynamic_pointer_cast<nn::ModuleDictImpl>(dict->clone());
  REQUIRE(copy);
  CHECK(copy->keys() == dict->keys());
  CHECK(copy->at<nn::LinearImpl>("in").weight.equal(dict->at<nn::LinearImpl>("in").weight));
  CHECK_FALSE(copy->at<nn::LinearImpl>("in").weight.is_same(dict->at<nn::LinearImpl>("in").weight));

  CHECK(dict->pop("in")->name() == "Linear");
  CHECK(dict->keys() == Names{"act", "out"});
  CHECK(dict->ptr("out")->name() == "Linear");  // "out" moved to the next lower index
  CHECK_THROWS_WITH(dict->pop("in"), Contains("'in'"));
  dict->clear();
  CHECK(dict->empty());
  CHECK(copy->size() == 3);
}

TEST_CASE("ParameterList trains what it holds", "[nn][containers]") {
  const Tensor fixed = ones({2}), weight = full({2, 3}, 2.0).requires_grad_();
  nn::ParameterList list(weight, fixed);
  list->append(zeros({}, kFloat64));
  list->extend(std::vector<Tensor>{rand({4})});
  CHECK(list->size() == 4);
  CHECK(list->named_parameters().keys() == Names{"0", "1", "2", "3"});
  CHECK(list[0].is_same(weight));
  CHECK(list[0].requires_grad());
  CHECK_FALSE(list[1].requires_grad());
  CHECK_THROWS_AS(list[4], IndexError);
  CHECK(printed(*nn::ParameterList(weight, zeros({}))) ==
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Parameter containing: [torch.float32 of size ]\n)");
  CHECK(printed(*nn::ParameterList()) == "ParameterList()");

  const auto copy = std::dynamic_pointer_cast<nn::ParameterListImpl>(list->clone());
  REQUIRE(copy);
  optim::SGD optimizer(list->parameters(), 0.5);
  list[0].sum().backward();
  optimizer.step();
  CHECK(weight.equal(full({2, 3}, 1.5)));
  CHECK(copy->at(0).equal(full({2, 3}, 2.0)));
  CHECK(copy->at(0).requires_grad());
  CHECK_FALSE(copy->at(1).requires_grad());
}

TEST_CASE("ParameterDict keeps the order of its names, replaces and gives away", "[nn][containers]") {
  const Tensor scale = ones({3}).requires_grad_(), shift = zeros({3});
  nn::ParameterDict dict(nn::NamedParameters{{"scale", scale}, {"shift", shift}});
  CHECK(dict->keys() == Names{"scale", "shift"});
  CHECK(dict["scale"].is_same(scale));
  CHECK_FALSE(dict["shift"].requires_grad());
  CHECK_THROWS_WITH(dict->insert("scale", scale), Contains("Parameter 'scale' already defined"));
  CHECK_THROWS_WITH(dict["none"], Contains("'none'"));
  const Tensor other = full({2}, 3.0);
  dict->insert("last", scale);
  dict->update({{"shift", other}, {"last", scale}});
  CHECK_THROWS_WITH(dict->update({{"none", other}}), Contains("'none'"));
  CHECK(dict->keys() == Names{"scale", "shift", "last"});
  CHECK(dict->get("shift").is_same(other));
  CHECK(dict->parameters().size() == 2);  // a parameter under two names is listed once
  CHECK(dict->pop("scale").is_same(scale));
  CHECK(dict->keys() == Names{"shift", "last"});
  CHECK(dict->get("last").is_same(scale));
  const auto copy = dict->clone();
  CHECK(copy->named_parameters().keys() == Names{"shift", "last"});
  CHECK(copy->named_parameters()["last"].requires_grad());
  dict->clear();
  CHECK(dict->empty());
}

TEST_CASE("a child is replaced and let go of", "[nn][module]") {
  nn::Sequential net(nn::Linear(2, 2), nn::ReLU());
  nn::Module& module = *net;
  CHECK_THROWS_WITH(module.replace_module("2", nn::ReLU()), Contains("'2'"));
  CHECK_THROWS_WITH(module.unregister_module("2"), Contains("'2'"));
  module.replace_module("1", nn::Linear(2, 5));
  CHECK(module.named_parameters()["1.weight"].sizes() == IntArrayRef{5, 2});
  module.unregister_module("0");
  CHECK(module.named_children().keys() == Names{"1"});
}

TEST_CASE("OrderedDict erases, pops, updates and reserves", "[nn][containers]") {
  OrderedDict<std::string, int> dict{{"a", 1}, {"b", 2}, {"c", 3}};
  dict.reserve(10);
  CHECK(dict.pop("b") == 2);
  CHECK(dict.pairs() == std::vector<std::pair<std::string, int>>{{"a", 1}, {"c", 3}});
  CHECK(dict["c"] == 3);
  dict.update({{"d", 4}, {"b", 5}});
  CHECK(dict.keys() == Names{"a", "c", "d", "b"});
  CHECK_THROWS_WITH(dict.update({{"a", 0}}), Contains("'a' already"));
  CHECK_THROWS_WITH(dict.erase("e"), Contains("'e'"));
  dict.erase("a");
  CHECK(dict["b"] == 5);
  CHECK(dict[0].key() == "c");
}

}  // namespace tandem
