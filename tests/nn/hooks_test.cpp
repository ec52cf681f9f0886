// Tests module hooks, and weights computed from other parameters, against PyTorch's numbers
// (tests/fixtures/module_cases/parametrizations.py).
#include <map>
#include <set>

#include "tandem/tests/nn/module_rows.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("hooks run before and after a module's forward, and may change what goes through", "[nn][hooks]") {
  nn::Linear fc(3, 2);
  const Tensor x = randn({4, 3});
  std::string order;
  nn::RemovableHandle first = fc->register_forward_pre_hook([&](nn::Module& m, const Tensors& inputs) {
    CHECK(&m == fc.get());
    CHECK((inputs.size() == 1 && inputs[0].is_same(x)));
    order += "a";
  });
  nn::RemovableHandle second = fc->register_forward_pre_hook([&](nn::Module&, const Tensors& inputs) {
    order += "b";
    return inputs[0] * 2;
  });
  nn::RemovableHandle third =
      fc->register_forward_hook([&](nn::Module&, const Tensors& inputs, const Tensors& outputs) {
        order += "c";
        CHECK(inputs[0].equal(x * 2));
        return Tensors{outputs[0] + 1};
      });
  CHECK(fc(x).allclose(fc->forward(x * 2) + 1));
  CHECK(order == "abc");
  CHECK(nn::Sequential(fc)->forward(x).allclose(fc->forward(x * 2) + 1));
  CHECK(nn::AnyModule(fc).forward(x).allclose(fc->forward(x * 2) + 1));
  order.clear();
  first.remove(), second.remove(), third.remove();
  third.remove();
  CHECK(fc(x).equal(fc->forward(x)));
  CHECK(order.empty());
}

TEST_CASE("forward hooks see the tensors of several arguments and outputs", "[nn][hooks]") {
  nn::LSTM lstm(nn::LSTMOptions(2, 3));
  size_t inputs_seen = 0, outputs_seen = 0;
  lstm->register_forward_hook([&](nn::Module&, const Tensors& inputs, const Tensors& outputs) {
    inputs_seen = inputs.size(), outputs_seen = outputs.size();
    return std::optional<Tensors>(Tensors{outputs[0] * 0, outputs[1], outputs[2]});
  });
  const auto [y, state] = lstm(randn({4, 1, 2}));
  CHECK((inputs_seen == 1 && outputs_seen == 3));
  CHECK(y.abs().sum().item<float>() == 0);
  CHECK(std::get<0>(state).abs().sum().item<float>() > 0);
  nn::Bilinear two(2, 3, 4);
  two->register_forward_pre_hook([&](nn::Module&, const Tensors& inputs) {
    inputs_seen = inputs.size();
    return Tensors{inputs[0]};
  });
  CHECK_THROWS_WITH(two(ones({1, 2}), ones({1, 3})),
                    Contains("pre-hook of Bilinear returned 1 tensors") && Contains("2"));
  CHECK(inputs_seen == 2);
}

namespace {
struct Scores {
  OrderedDict<std::string, Tensor> by_name;
  std::vector<std::optional<Tensor>> layers;
  int64_t steps;
  auto tensor_parts() { return std::tie(by_name, layers); }
};
struct ScoresNetImpl : nn::Module {
  std::pair<Scores, std::map<int, Tensor>> forward(const Tensor& x) {
    Scores scores{{}, {x * 3, std::nullopt}, 4};
    scores.by_name.insert("b", x);
    scores.by_name.insert("a", x * 2);
    return {scores, {{7, x * 5}, {6, x * 4}}};
  }
};
TANDEM_MODULE(ScoresNet);
}  // namespace

TEST_CASE("forward hooks see the tensors of maps, lists and structs that a module returns", "[nn][hooks]") {
  ScoresNet net;
  std::string seen;
  net->register_forward_hook([&](nn::Module&, const Tensors&, const Tensors& outputs) {
    Tensors more;
    for (const Tensor& each : outputs) {
      seen += std::to_string(each.item<int64_t>()) + " ";
      more.push_back(each + 10);
    }
    return more;
  });
  const auto [scores, map] = net(ones({}, kInt64));
  CHECK(seen == "1 2 3 4 5 ");  // an ordered dict in order of insertion, then a map by key
  CHECK(scores.by_name["b"].item<int64_t>() == 11);
  CHECK(scores.by_name["a"].item<int64_t>() == 12);
  CHECK(scores.layers[0]->item<int64_t>() == 13);
  CHECK(scores.steps == 4);
  CHECK(map.at(6).item<int64_t>() == 14);
  CHECK(map.at(7).item<int64_t>() == 15);
}

TEST_CASE("full backward hooks see the gradients of inputs and outputs, and may change the inputs'", "[nn][hooks]") {
  nn::Linear fc(3, 2);
  const Tensor x = randn({4, 3}).requires_grad_();
  const Tensor dy = randn({4, 2});
  int calls = 0;
  nn::RemovableHandle handle =
      fc->register_full_backward_hook([&](nn::Module&, const Tensors& dx, const Tensors& given) {
        ++calls;
        CHECK((dx.size() == 1 && given.size() == 1));
        CHECK(given[0].equal(dy * 3));
        CHECK(dx[0].allclose(dy.matmul(fc->weight.detach()) * 3, 1e-5, 1e-6));
        return dx[0] * 2;
      });
  const nn::RemovableHandle pre =
      fc->register_full_backward_pre_hook([](nn::Module&, const Tensors& given) { return given[0] * 3; });
  fc(x).backward(dy);
  CHECK(calls == 1);
  CHECK(x.grad().allclose(dy.matmul(fc->weight.detach()) * 6, 1e-5, 1e-6));
  CHECK(fc->weight.grad().allclose(dy.t().matmul(x.detach()) * 3, 1e-5, 1e-6));
  {
    const NoGradGuard guard;
    fc(x);
  }
  handle.remove();
  fc(x).backward(dy);
  CHECK(calls == 1);
  CHECK_THROWS_WITH(fc(x).add_(1), Contains("add_") && Contains("full_backward_hook"));
}

TEST_CASE("a full backward hook of a module whose input needs no gradient gets an undefined one", "[nn][hooks]") {
  nn::Linear fc(3, 2);
  int calls = 0;
  fc->register_full_backward_hook([&](nn::Module&, const Tensors& dx, const Tensors& given) {
    ++calls;
    CHECK((dx.size() == 1 && !dx[0].defined() && given[0].defined()));
  });
  fc(randn({4, 3})).sum().backward();
  CHECK(calls == 1);
  CHECK(fc->weight.grad().defined());
}

TEST_CASE("a clone has the hooks of what it was made of, and lists of its own", "[nn][hooks]") {
  nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
  int calls = 0;
  nn::RemovableHandle handle =
      model->ptr(0)->register_forward_hook([&](nn::Module&, const Tensors&, const Tensors&) { ++calls; });
  const nn::Sequential copy(std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone()));
  handle.remove();
  model->forward(ones({1, 3}));
  CHECK(calls == 0);
  copy->forward(ones({1, 3}));
  CHECK(calls == 1);
}

TEST_CASE("weight norm and spectral norm have PyTorch's values and gradients", "[nn][parametrizations]") {
  using namespace nn::utils;
  const auto check = [](const char* name, auto module) {
    check_module(name, *module, [&](const Tensors& in) { return Tensors{module(in[0])}; });
  };
  check("weight_norm/linear", weight_norm(nn::Linear(5, 3)));
  check("weight_norm/whole", weight_norm(nn::Linear(5, 3), "weight", std::nullopt));
  check("weight_norm/conv", weight_norm(nn::Conv2d(2, 3, 2), "weight", 1));
  check("weight_norm/bias", weight_norm(nn::Linear(5, 3), "bias"));
  const auto twice = [](const char* name, auto module) {
    check_module(name, *module, [&](const Tensors& in) {
      const Tensor first = module(in[0]);
      module->eval();
      return Tensors{first, module(in[0])};
    });
  };
  twice("spectral_norm/linear", spectral_norm(nn::Linear(5, 3)));
  twice("spectral_norm/conv", spectral_norm(nn::Conv1d(2, 3, 2), "weight", 3));
  twice("spectral_norm/transposed", spectral_norm(nn::ConvTranspose1d(2, 3, 2)));
}

TEST_CASE("a weight norm leaves the value as it was, trains, clones, and comes off again", "[nn][parametrizations]") {
  nn::Linear fc(4, 3);
  const Tensor x = randn({2, 4}), y = fc->forward(x).detach();
  nn::utils::weight_norm(fc);
  CHECK(fc(x).allclose(y, 1e-5, 1e-6));
  CHECK(fc->state_dict().keys() == std::vector<std::string>{"bias", "weight_g", "weight_v"});
  optim::SGD optimizer(fc->parameters(), 0.1);
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    fc(x).square().sum().backward();
    optimizer.step();
  }
  const Tensor trained = fc(x).detach();
  CHECK(trained.abs().sum().item<float>() < y.abs().sum().item<float>());
  const nn::Sequential model(fc);
  const nn::Sequential copy(std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone()));
  CHECK(copy->forward(x).allclose(trained, 1e-5, 1e-6));
  CHECK_THROWS_WITH(nn::utils::spectral_norm(fc), Contains("already has a weight_norm"));
  nn::utils::remove_weight_norm(fc);
  CHECK(fc->state_dict().keys() == std::vector<std::string>{"bias", "weight"});
  CHECK(fc->weight.is_leaf());
  CHECK(fc->forward(x).allclose(trained, 1e-5, 1e-6));
  CHECK_THROWS_WITH(nn::utils::remove_weight_norm(fc), Contains("weight_norm of 'weight' not found in Linear"));
  CHECK_THROWS_WITH(nn::utils::weight_norm(nn::Linear(nn::LinearOptions(2, 2).bias(false)), "bias"),
                    Contains("weight_norm") && Contains("'bias'"));
  CHECK_THROWS_WITH(nn::utils::weight_norm(nn::Linear(2, 2), "w"), Contains("no member 'w'"));
}

TEST_CASE("sequences come out of padding and packing as they went in", "[nn][sequences]") {
  using namespace nn::utils::rnn;
  const Tensors sequences{randn({2, 3}), randn({4, 3}), randn({1, 3})};
  const Tensor lengths = tensor({2, 4, 1});
  for (const bool batch_first : {false, true}) {
    const Tensors back = unpad_sequence(pad_sequence(sequences, batch_first), lengths, batch_first);
    for (size_t i = 0; i < 3; ++i) CHECK(back[i].equal(sequences[i]));
  }
  const Tensors unpacked = unpack_sequence(pack_sequence(sequences, /*enforce_sorted=*/false));
  for (size_t i = 0; i < 3; ++i) CHECK(unpacked[i].equal(sequences[i]));
  CHECK_THROWS_WITH(unpad_sequence(ones({2, 3}), tensor({3, 1, 1})), Contains("lengths[0] is 3") && Contains("0 to 2"));
  CHECK_THROWS_WITH(unpad_sequence(ones({2, 3}), tensor({1, 1})), Contains("(2, 3)") && Contains("(2,)"));
}

TEST_CASE("gradients of one parameter are clipped by value and by norm", "[nn][clip]") {
  const Tensor p = zeros({2}).requires_grad_();
  p.set_grad(tensor({3.0f, -4.0f}));
  CHECK(nn::utils::clip_grad_norm_(p, 1.0) == Approx(5));
  CHECK(p.grad().allclose(tensor({0.6f, -0.8f})));
  nn::utils::clip_grad_value_(p, 0.7);
  CHECK(p.grad().allclose(tensor({0.6f, -0.7f})));
  p.set_grad(full({2}, INFINITY));
  CHECK_THROWS_WITH(nn::utils::clip_grad_norm_(p, 1.0, 2, /*error_if_nonfinite=*/true), Contains("inf"));
}

TEST_CASE("the library's modules call those below them so that hooks run", "[nn][hooks]") {
  std::map<std::string, int> calls;
  const auto watch = [&](nn::Module& root) {
    calls.clear();
    root.apply([&](const std::string& name, nn::Module& m) {
      m.register_forward_hook([&calls, name](nn::Module&, const Tensors&, const Tensors&) { ++calls[name]; });
    });
  };
  const auto once = [&](const nn::Module& root, const std::set<std::string>& only_held) {
    for (const auto& item : root.named_modules()) {
      CAPTURE(item.key());
      CHECK(calls[item.key()] == (only_held.count(item.key()) ? 0 : 1));
    }
  };
  nn::Transformer transformer(nn::TransformerOptions(4, 2, 2, 1).dim_feedforward(8));
  watch(*transformer);
  transformer(randn({3, 2, 4}), randn({2, 2, 4}));
  std::set<std::string> not_called = {"encoder.layers", "decoder.layers"};
  for (const auto& item : transformer->named_modules())
    // out_proj is not called: a function uses its weight, as in PyTorch
    if (item.key().ends_with(".out_proj")) not_called.insert(item.key());
  once(*transformer, not_called);
  nn::AdaptiveLogSoftmaxWithLoss adaptive(nn::AdaptiveLogSoftmaxWithLossOptions(4, 6, {2, 4}).div_value(2));
  watch(*adaptive);
  adaptive(randn({6, 4}), arange(6));
  once(*adaptive, {"tail"});
}
