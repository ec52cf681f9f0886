// Tests clone(): nested modules, containers, shared modules and parameters, and modules that cannot be cloned.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

using Pairs = std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>;

/// A module with data members, a submodule, a parameter and a buffer, all of which clone() must copy.
struct ScaledImpl : nn::Cloneable<ScaledImpl> {
  explicit ScaledImpl(int64_t width = 3) : width(width) { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(width, width));
    offset = register_parameter("offset", zeros({width}));
    count = register_buffer("count", zeros({}, kInt64));
  }
  Tensor forward(const Tensor& x) { return fc(x) * scale + offset; }
  int64_t width;
  double scale = 1;
  std::string note = "none";
  nn::Linear fc{nullptr};
  Tensor offset, count;
};
TANDEM_MODULE(Scaled);
/// A module with a data member only.
struct FactorImpl : nn::Cloneable<FactorImpl> {
  void reset() override {}
  Tensor forward(const Tensor& x) { return x * factor; }
  double factor = 1;
};
TANDEM_MODULE(Factor);
/// A module that registers its children in several ways.
struct NestedImpl : nn::Cloneable<NestedImpl> {
  NestedImpl() { reset(); }
  void reset() override {
    a = register_module("a", Scaled(3));
    factor = Factor();
    register_module("factor", factor);
    dropout = register_module("dropout", nn::Dropout(0.5));
    dropout->options.inplace(false);
    norm = register_module("norm", nn::BatchNorm1d(3));
    list = register_module("list", nn::ModuleList());
    for (int i = 0; i < 2; ++i) list->push_back(Scaled(3));
    sequence = register_module("sequence", nn::Sequential(a, Factor(), nn::Dropout(0.5)));
    dict = register_module("dict", nn::ModuleDict());
    dict->update(Pairs{{"one", Scaled(3).ptr()}});
    any = nn::AnyModule(Factor());
    register_module("any", any.ptr());
    parameters_list = register_module("parameters_list", nn::ParameterList(ones({2})));
    table = register_module("table", nn::Embedding(3, 3));
    out = register_module("out", nn::Linear(nn::LinearOptions(3, 3).bias(false)));
    out->weight = table->weight;  // shared parameter
  }
  Tensor forward(const Tensor& x) {
    Tensor h = norm(dropout(factor(a(x))));
    for (size_t i = 0; i < list->size(); ++i) h = list->at<ScaledImpl>(i).forward(h);
    h = dict->at<ScaledImpl>("one").forward(sequence(h));
    return out(any.forward(h)) * parameters_list[0].sum();
  }
  Scaled a{nullptr};
  Factor factor{nullptr};
  nn::Dropout dropout{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::ModuleList list{nullptr};
  nn::Sequential sequence{nullptr};
  nn::ModuleDict dict{nullptr};
  nn::AnyModule any;
  nn::ParameterList parameters_list{nullptr};
  nn::Embedding table{nullptr};
  nn::Linear out{nullptr};
};
TANDEM_MODULE(Nested);

template <class Holder> Holder copy_of(const Holder& module, std::optional<Device> device = {}) {
  return Holder(std::dynamic_pointer_cast<typename Holder::ContainedType>(module->clone(device)));
}
/// Returns whether the modules share no tensors.
bool is_apart(const nn::Module& a, const nn::Module& b) {
  for (const auto& x : a.state_dict())
    for (const auto& y : b.state_dict())
      if (x->is_same(*y) || (x->numel() > 0 && x->storage() == y->storage())) return false;
  return true;
}

}  // namespace

TEST_CASE("clone copies members that were changed, in each kind of nesting", "[nn][clone]") {
  const auto changes = std::vector<std::pair<std::string, std::function<void(Nested&)>>>{
      {"a member beside tensors", [](Nested& net) { net->a->scale = 3; }},
      {"a member of a module without tensors", [](Nested& net) { net->factor->factor = 3; }},
      {"an option of a layer without tensors", [](Nested& net) { net->dropout->options.p(0); }},
      {"an option of a layer with tensors", [](Nested& net) { net->norm->options.eps(0.5); }},
      {"in a ModuleList", [](Nested& net) { net->list->at<ScaledImpl>(1).scale = 3; }},
      {"in a Sequential", [](Nested& net) { net->sequence->at<FactorImpl>(1).factor = 3; }},
      {"in a ModuleDict", [](Nested& net) { net->dict->at<ScaledImpl>("one").scale = 3; }},
      {"in an AnyModule", [](Nested& net) { net->any.get<FactorImpl>().factor = 3; }},
      {"a module that was replaced by one of other members",
       [](Nested& net) {
         net->factor = net->replace_module("factor", Factor());
         net->factor->factor = 3;
       }},
      {"a module that was appended to a Sequential", [](Nested& net) { net->sequence->push_back(nn::Tanh()); }},
      {"a module that was appended to a ModuleList", [](Nested& net) { net->list->push_back(Scaled(3)); }},
      {"a module that was put into a ModuleDict",
       [](Nested& net) {
         Scaled other;
         other->scale = 3;
         net->dict->update(Pairs{{"one", other.ptr()}});
       }},
      {"a value of a buffer", [](Nested& net) { net->norm->running_mean.add_(1); }},
      {"a parameter", [](Nested& net) { net->parameters_list[0].detach().mul_(3); }},
      {"a tied weight", [](Nested& net) { net->table->weight.detach().mul_(3); }},
  };
  const Tensor x = randn({4, 3});
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    Nested net;
    net->dropout->options.p(0.5);
    for (const bool training : {false, true}) {
      net->train(training);
      if (training) net->norm->eval(), net->sequence->at<nn::DropoutImpl>(2).eval();
      change(net);
      manual_seed(1);
      const Tensor expected = net(x);
      const Nested copy = copy_of(net);
      manual_seed(1);
      CHECK(copy(x).equal(expected));
      CHECK(is_apart(*net, *copy));
      CHECK(copy->state_dict().keys() == net->state_dict().keys());
      CHECK(copy->sequence->is_training() == training);
    }
  }
}

TEST_CASE("in a copy its own modules and tensors refer to each other", "[nn][clone]") {
  Nested net;
  net->a->note = "changed";
  const Nested copy = copy_of(net);
  CHECK(copy->a->note == "changed");
  CHECK(copy->sequence->ptr(0) == copy->a.ptr());
  CHECK(copy->out->weight.is_same(copy->table->weight));
  CHECK(copy->a->offset.is_same(copy->named_parameters()["a.offset"]));
  CHECK(copy->a->fc->weight.is_same(copy->named_parameters()["a.fc.weight"]));
  CHECK(copy->any.ptr() == copy->named_children()["any"]);
  CHECK(copy->parameters().size() == net->parameters().size());
}

TEST_CASE("a module that stands in several places does so in the copy", "[nn][clone]") {
  const nn::Linear shared(2, 2);
  const nn::Sequential sequence(shared, nn::ReLU(), shared, nn::Sequential(shared));
  const nn::Sequential copy = copy_of(sequence);
  CHECK(copy->ptr(0) == copy->ptr(2));
  CHECK(copy->at<nn::SequentialImpl>(3).ptr(0) == copy->ptr(0));
  CHECK(copy->parameters().size() == 2);
  const nn::ModuleList list(shared, shared);
  const nn::ModuleList twice = copy_of(list);
  CHECK(twice->ptr(0) == twice->ptr(1));
  const nn::ModuleDict dict(Pairs{{"a", shared.ptr()}, {"b", shared.ptr()}});
  const nn::ModuleDict both = copy_of(dict);
  CHECK(both->ptr("a") == both->ptr("b"));
}

TEST_CASE("clone copies hooks, training flags, dtypes and parametrizations on every level", "[nn][clone]") {
  set_cpu_device_count(2);
  Nested net;
  net->to(kFloat64);
  net->list->at<ScaledImpl>(0).eval();
  net->dict->at<ScaledImpl>("one").fc->weight.requires_grad_(false);
  nn::utils::weight_norm(net->list->at<ScaledImpl>(1).fc);
  int calls = 0;
  for (const auto& each : net->modules())
    each->register_forward_hook(
        [&calls](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { ++calls; });
  net->dropout->options.p(0);
  net->sequence->at<nn::DropoutImpl>(2).options.p(0);
  net->norm->eval();
  const Tensor x = randn({4, 3}, kFloat64), expected = net(x);
  const int of_one = std::exchange(calls, 0);
  const Nested copy = copy_of(net, Device("cpu:1"));
  CHECK(copy(x.to(Device("cpu:1"))).cpu().equal(expected));
  CHECK(calls == of_one);
  CHECK(of_one > 8);
  CHECK_FALSE(copy->list->at<ScaledImpl>(0).is_training());
  CHECK_FALSE(copy->dict->at<ScaledImpl>("one").fc->weight.requires_grad());
  CHECK(copy->named_parameters().contains("list.1.fc.weight_g"));
  for (const Tensor& p : copy->parameters()) CHECK((p.dtype() == kFloat64 && p.device() == Device("cpu:1")));
  set_cpu_device_count(1);
}

TEST_CASE("clone says what reset() does not make", "[nn][clone]") {
  Nested more;
  more->register_module("late", nn::Linear(2, 2));
  CHECK_THROWS_WITH(more->clone(), Contains("Are you sure you called register_module() inside reset() and not the "
                                            "constructor? Nested's child 'late', a Linear"));
  Nested other;
  other->any = nn::AnyModule(nn::Tanh());
  other->replace_module("any", other->any.ptr());
  CHECK_THROWS_WITH(
      other->clone(),
      Contains("different type than the submodule it was to be cloned into: child 'any' of Nested is a Tanh"));
  Nested wide;
  wide->a = wide->replace_module("a", Scaled(4));  // reset() registers the same class, but with another size
  const Nested copy = copy_of(wide);
  CHECK(copy->a->fc->weight.equal(wide->a->fc->weight));
  Nested fewer;
  fewer->unregister_module("dict");
  CHECK(copy_of(fewer)->state_dict().keys() == fewer->state_dict().keys());
}

TEST_CASE("a layer that a parent makes from others keeps them: copies of transformers compute the same",
          "[nn][clone]") {
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(8).dropout(0), 2));
  encoder->layers->at<nn::TransformerEncoderLayerImpl>(1).norm1->options.eps(0.25);
  const nn::TransformerEncoder copy = copy_of(encoder);
  const Tensor x = randn({3, 2, 4});
  CHECK(copy(x).equal(encoder(x)));
  CHECK(is_apart(*encoder, *copy));
}
