// Access to modules in containers: typed and untyped pointers, references, iterators, and errors.
#include <torch/torch.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace torch::nn;

struct Scale : Module {
  explicit Scale(double by) : by(by) {}
  torch::Tensor forward(torch::Tensor x) { return x * by; }
  double by;
};

template <class F> void refused(const char* what, F call) {
  try {
    call();
    std::cout << what << " passed\n";
  } catch (const std::exception&) {
    std::cout << what << " threw\n";
  }
}

void sequential() {
  Sequential net(Linear(2, 3), ReLU(), Scale(2));
  net->push_back(Scale(0.5));
  net->push_back("last", Scale(4));
  const std::shared_ptr<Module> plain = net->ptr(0);
  const std::shared_ptr<LinearImpl> linear = net->ptr<LinearImpl>(0);
  std::cout << (plain == linear) << (net[0] == plain) << linear->options.out_features() << '\n';
  net->at<Scale>(2).by = 3;
  const SequentialImpl& constant = *net;
  std::cout << constant.at<Scale>(2).by << constant.ptr<Scale>(4)->by << '\n';
  for (AnyModule& module : *net) std::cout << module.is_empty();
  for (const AnyModule& module : constant) std::cout << bool(module.ptr());
  SequentialImpl::Iterator first = net->begin();
  SequentialImpl::ConstIterator last = constant.end();
  std::cout << (constant.begin() + 5 == last) << first->get<LinearImpl>().options.in_features() << '\n';
  refused("at of another class", [&] { net->at<LinearImpl>(1); });
  refused("ptr of another class", [&] { net->ptr<LinearImpl>(1); });
  refused("at beyond the end", [&] { net->at<LinearImpl>(5); });
  refused("ptr beyond the end", [&] { net->ptr(5); });
  refused("typed ptr beyond the end", [&] { net->ptr<Scale>(5); });
  refused("[] beyond the end", [&] { net[5]; });
  net->replace_module("1", Tanh().ptr());
  std::cout << (net->ptr(1)->as<ReLU>() != nullptr) << (net->named_children()["1"]->as<Tanh>() != nullptr) << '\n';
  torch::OrderedDict<std::string, AnyModule> named;
  named.insert("twice", AnyModule(Scale(2)));
  named.insert("half", AnyModule(Scale(0.5)));
  std::cout << Sequential(std::move(named))->named_children().keys() << '\n';
}

void list() {
  ModuleList modules(Linear(2, 3), ReLU());
  modules->push_back(Scale(2));
  modules->insert(1, Scale(3));
  modules->insert(4, Tanh());
  std::cout << modules->size() << modules->at<Scale>(1).by << modules->ptr<Scale>(3)->by << '\n';
  modules->at<Scale>(1).by = 7;
  const ModuleListImpl& constant = *modules;
  std::cout << constant.at<Scale>(1).by << (constant.ptr(1) == modules[1]) << '\n';
  std::cout << (modules->ptr<LinearImpl>(2) == nullptr) << (modules->ptr<LinearImpl>(0) == modules[0]) << '\n';
  for (std::shared_ptr<Module>& module : *modules) std::cout << bool(module);
  for (const auto& module : constant) std::cout << bool(module);
  ModuleListImpl::Iterator first = modules->begin();
  ModuleListImpl::ConstIterator last = constant.end();
  std::cout << (constant.begin() + 5 == last) << (*first)->as<Linear>()->options.in_features() << '\n';
  refused("at of another class", [&] { modules->at<LinearImpl>(2); });
  refused("at beyond the end", [&] { modules->at<LinearImpl>(5); });
  refused("ptr beyond the end", [&] { modules->ptr(5); });
  refused("typed ptr beyond the end", [&] { modules->ptr<Scale>(5); });
  refused("[] beyond the end", [&] { modules[5]; });
}

void dict() {
  ModuleDict modules(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{
      {"in", Linear(2, 3).ptr()}, {"twice", std::make_shared<Scale>(2)}});
  std::cout << modules->at<Scale>("twice").by << (modules["in"] == modules->named_children()["in"]) << '\n';
  modules->at<Scale>("twice").by = 5;
  const ModuleDictImpl& constant = *modules;
  std::cout << constant.at<Scale>("twice").by << '\n';
  ModuleDictImpl::Iterator first = modules->begin();
  ModuleDictImpl::ConstIterator last = constant.end();
  std::cout << first->key() << (constant.begin() + 2 == last) << '\n';
  for (auto& item : *modules) std::cout << item.key() << bool(item.value());
  std::cout << '\n';
  refused("at of another class", [&] { modules->at<LinearImpl>("twice"); });
  refused("at of no name", [&] { modules->at<LinearImpl>("none"); });
  refused("[] of no name", [&] { modules["none"]; });
}

int main() {
  sequential();
  list();
  dict();
  return 0;
}
