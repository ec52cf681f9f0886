// Programs with two ranks, each written twice: here, and in fixtures/make_parallel_fixtures.py for PyTorch with the
// same data. Their results are compared with PyTorch's numbers in fixtures/parallel.json, over every backend. `./run
// programs` prints the table.
#include <cstdio>
#include <map>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using nlohmann::json;
using nn::parallel::DistributedDataParallel;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

constexpr int kRanks = 2;
using Numbers = std::map<std::string, Tensor>;  // a tensor is undefined where PyTorch has None

Tensor formula(IntArrayRef sizes, uint32_t salt) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(test::value(i, salt));
  return tensor(values, kFloat64).view(sizes);
}
Tensor data(int step, int rank) { return formula({4, 3}, static_cast<uint32_t>(2000 + 10 * step + rank)); }
template <class M> M initialised(M net, uint32_t salt = 1000) {
  const NoGradGuard guard;
  net->to(kFloat64);
  for (Tensor& p : net->parameters()) p.copy_(formula(p.sizes(), salt++));
  return net;
}

struct NetImpl : nn::Cloneable<NetImpl> {
  explicit NetImpl(int64_t outputs = 1) : outputs(outputs) { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(3, 4));
    second = register_module("second", nn::Linear(4, outputs));
  }
  Tensor forward(const Tensor& x) { return second(first(x).tanh()); }
  int64_t outputs;
  nn::Linear first{nullptr}, second{nullptr};
};
TANDEM_MODULE(Net);

struct BranchesImpl : nn::Module {
  Tensor forward(const Tensor& x, bool both) { return both ? a(x) + b(x) : a(x); }
  nn::Linear a = register_module("a", nn::Linear(3, 2)), b = register_module("b", nn::Linear(3, 2));
};
TANDEM_MODULE(Branches);

struct ScaledImpl : nn::Cloneable<ScaledImpl> {
  ScaledImpl() { reset(); }
  void reset() override { layer = register_module("layer", nn::Linear(3, 2)); }
  Tensor forward(const Tensor& x) {
    ++calls;
    return layer(x) * scale;
  }
  nn::Linear layer{nullptr};
  double scale = 1, calls = 0;
};
TANDEM_MODULE(Scaled);

using Dictionary = std::map<std::string, Tensor>;
struct NamedImpl : nn::Module {
  Dictionary forward(const Dictionary& inputs) {
    const Tensor y = left(inputs.at("left"));
    return {{"sum", y + right(inputs.at("right"))}, {"left", y}};
  }
  nn::Linear left = register_module("left", nn::Linear(3, 2)), right = register_module("right", nn::Linear(3, 2));
};
TANDEM_MODULE(Named);

template <class M> Numbers gradients(M& net, const std::string& prefix = "") {
  Numbers out;
  for (const auto& item : net->named_parameters()) out[prefix + item.key() + ".grad"] = item.value().grad();
  return out;
}
template <class M> Numbers parameters(M& net, const std::string& prefix = "") {
  Numbers out;
  for (const auto& item : net->named_parameters()) out[prefix + item.key()] = item.value();
  return out;
}
Numbers operator|(Numbers a, const Numbers& b) {
  a.insert(b.begin(), b.end());
  return a;
}
template <class M> void require_gradients(M& net, bool on) {
  for (Tensor& p : net->parameters()) p.requires_grad_(on);
}
template <class M> optim::SGD sgd(M& net) { return optim::SGD(net->parameters(), 0.1); }

Numbers no_sync_with_unused_parameters(int rank) {
  Branches net = initialised(Branches());
  DistributedDataParallel ddp(net, Options().find_unused_parameters(true));
  {
    const auto guard = ddp.no_sync();
    ddp(data(0, rank), rank == 0).square().sum().backward();
  }
  ddp(data(1, rank), false).square().sum().backward();
  return gradients(net);
}

Numbers unused_parameters_that_differ_by_rank(int rank) {
  Branches net = initialised(Branches());
  DistributedDataParallel ddp(net, Options().find_unused_parameters(true));
  optim::SGD optimizer = sgd(net);
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    ddp(data(step, rank), step == 2 || rank == step).square().sum().backward();
    optimizer.step();
  }
  return parameters(net);
}

Numbers gradient_penalty(int rank) {
  Net critic = initialised(Net());
  DistributedDataParallel ddp(critic);
  optim::SGD optimizer = sgd(critic);
  for (int step = 0; step < 2; ++step) {
    const Tensor real = data(step, rank), fake = data(step + 5, rank);
    const Tensor between = (0.25 * real + 0.75 * fake).requires_grad_();
    const Tensor slope = autograd::grad({ddp(between).sum()}, {between}, {}, {}, /*create_graph=*/true)[0];
    const Tensor penalty = (slope.square().sum({1}).sqrt() - 1).square().mean();
    optimizer.zero_grad();
    (ddp(fake).mean() - ddp(real).mean() + 10 * penalty).backward();
    optimizer.step();
  }
  return parameters(critic);
}

Numbers generator_through_a_frozen_discriminator(int rank) {
  Net generator = initialised(Net(3)), critic = initialised(Net(), 1100);
  DistributedDataParallel g(generator), d(critic);
  optim::SGD step_g = sgd(generator), step_d = sgd(critic);
  for (int step = 0; step < 2; ++step) {
    const Tensor noise = data(step + 5, rank);
    step_d.zero_grad();
    (d(g(noise).detach()).mean() - d(data(step, rank)).mean()).backward();
    step_d.step();
    require_gradients(critic, false);
    step_g.zero_grad();
    (-d(g(noise)).mean()).backward();
    step_g.step();
    require_gradients(critic, true);
  }
  return parameters(generator, "generator.") | parameters(critic, "critic.");
}

Numbers backward_towards_some_inputs(int rank) {
  Net generator = initialised(Net(3)), critic = initialised(Net(), 1100);
  DistributedDataParallel g(generator), d(critic);
  (-d(g(data(0, rank))).mean()).backward({}, {}, false, generator->parameters());
  d(data(1, rank)).mean().backward();
  return gradients(generator) | gradients(critic, "critic.");
}

Numbers gradient_towards_the_input(int rank) {
  Net net = initialised(Net());
  DistributedDataParallel ddp(net);
  const Tensor x = data(0, rank).requires_grad_();
  const Tensor slope = autograd::grad({ddp(x).square().sum()}, {x})[0];
  ddp(data(1, rank) + slope).square().sum().backward();
  return gradients(net) | Numbers{{"slope", slope}};
}

Numbers backward_with_create_graph(int rank) {
  Net net = initialised(Net());
  DistributedDataParallel ddp(net);
  for (int step = 0; step < 3; ++step) {
    ddp.zero_grad();
    ddp(data(step, rank)).square().mean().backward({}, {}, /*create_graph=*/true);
  }
  return gradients(net);
}

Numbers penalty_on_the_parameters_gradients(int rank) {
  Net net = initialised(Net());
  DistributedDataParallel ddp(net);
  Tensor loss = ddp(data(0, rank)).square().mean();
  for (const Tensor& slope : autograd::grad({loss}, net->parameters(), {}, {}, /*create_graph=*/true))
    loss = loss + slope.square().sum();
  loss.backward();
  return gradients(net);
}

Numbers data_parallel_with_plain_members(int) {
  Scaled net = initialised(Scaled());
  nn::DataParallel dp(net, {test::kFirst, test::kSecond});
  Numbers results;
  for (const double scale : {1.0, 3.0}) {
    net->scale = scale;
    dp.refresh();
    results["scale " + std::to_string(static_cast<int>(scale))] = dp(data(0, 0));
  }
  results["calls"] = full({1}, net->calls, kFloat64);
  return results;
}

Numbers dictionaries_in_and_out(int rank) {
  Named net = initialised(Named());
  DistributedDataParallel ddp(net);
  const Dictionary output = ddp(Dictionary{{"left", data(0, rank)}, {"right", data(1, rank)}});
  (output.at("sum").square().mean() + output.at("left").mean()).backward();
  return gradients(net);
}

Numbers kept_gradients(int rank) {
  Net net = initialised(Net());
  DistributedDataParallel ddp(net, Options().gradient_as_bucket_view(false));
  std::vector<Tensor> kept;
  for (int step = 0; step < 2; ++step) {
    ddp.zero_grad();
    {
      const auto guard = ddp.no_sync();
      ddp(data(2 * step, rank)).square().mean().backward();
    }
    ddp(data(2 * step + 1, rank)).square().mean().backward();
    kept.push_back(net->first->weight.grad());
  }
  return {{"first", kept[0]}, {"second", kept[1]}};
}

Numbers frozen_then_unfrozen(int rank) {
  Net net = initialised(Net());
  DistributedDataParallel ddp(net);
  optim::SGD optimizer = sgd(net);
  for (int step = 0; step < 3; ++step) {
    require_gradients(net->first, step != 1);
    optimizer.zero_grad();
    ddp(data(step, rank)).square().mean().backward();
    optimizer.step();
  }
  return parameters(net);
}

Numbers unfrozen_after_wrapping(int rank) {
  Net net = initialised(Net());
  require_gradients(net->first, false);
  DistributedDataParallel ddp(net);
  require_gradients(net->first, true);
  ddp(data(0, rank)).square().mean().backward();
  return gradients(net);
}

Numbers layer_added_after_wrapping(int rank) {
  nn::Sequential net(nn::Linear(3, 4));
  DistributedDataParallel ddp(initialised(net));
  net->push_back(nn::Linear(4, 1));
  initialised(net);
  ddp(data(0, rank)).square().mean().backward();
  return gradients(net);
}

Numbers collectives_in_another_order(int rank) {
  nn::Linear net = initialised(nn::Linear(3, 2));
  DistributedDataParallel ddp(net);
  const Tensor metric = formula({8}, static_cast<uint32_t>(3000 + rank));
  if (rank == 0) distributed::all_reduce(metric);
  ddp(data(0, rank)).square().mean().backward();
  if (rank == 1) distributed::all_reduce(metric);
  return gradients(net) | Numbers{{"metric", metric}};
}

struct Program {
  const char* name;
  Numbers (*run)(int rank);
  const char* pytorch = "runs";
  const char* difference = "none";
  const char* refusal = nullptr;  // Tandem's error, if PyTorch's numbers are not the ranks' average
};
#define TANDEM_PROGRAM(name) #name, name
const Program kPrograms[] = {
    {TANDEM_PROGRAM(no_sync_with_unused_parameters)},
    {TANDEM_PROGRAM(unused_parameters_that_differ_by_rank)},
    {TANDEM_PROGRAM(gradient_penalty)},
    {TANDEM_PROGRAM(generator_through_a_frozen_discriminator)},
    {TANDEM_PROGRAM(backward_towards_some_inputs)},
    {TANDEM_PROGRAM(gradient_towards_the_input)},
    {TANDEM_PROGRAM(backward_with_create_graph), "refuses", "compared with PyTorch's numbers without create_graph"},
    {TANDEM_PROGRAM(penalty_on_the_parameters_gradients)},
    {TANDEM_PROGRAM(data_parallel_with_plain_members), "runs",
     "replicas see the change after refresh(), or with clone_each_call"},
    {TANDEM_PROGRAM(dictionaries_in_and_out)},
    {TANDEM_PROGRAM(kept_gradients), "runs", "gradient_as_bucket_view(false), PyTorch's default, must be said"},
    {TANDEM_PROGRAM(frozen_then_unfrozen), "runs", "PyTorch needs find_unused_parameters"},
    {TANDEM_PROGRAM(unfrozen_after_wrapping), "wrong numbers", "PyTorch averages a part of the gradients",
     "first.weight requires a gradient now, but was frozen when the module was wrapped"},
    {TANDEM_PROGRAM(layer_added_after_wrapping), "wrong numbers", "PyTorch averages a part of the gradients",
     "parameter 2 is 1.weight, but was missing when the module was wrapped"},
    {TANDEM_PROGRAM(collectives_in_another_order), "wrong numbers", "PyTorch adds the metric to the gradients",
     "rank 1 calls all_reduce #5 (DDP 1: gradients, bucket 0 of 1, from bias)"},
};

struct Outcome {
  std::string error;              // empty if the program ran
  double largest_difference = 0;  // difference from PyTorch's numbers; relative for numbers above 1
};
double difference(const Tensor& ours, const json& theirs) {
  if (theirs.is_null() || !ours.defined()) return theirs.is_null() && !ours.defined() ? 0 : INFINITY;
  const Tensor x = ours.detach().contiguous();
  if (static_cast<size_t>(x.numel()) != theirs.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const auto expected = theirs[i].get<double>();
    largest = std::max(largest, std::abs(x.data_ptr<double>()[i] - expected) / std::max(1.0, std::abs(expected)));
  }
  return largest;
}
Outcome outcome_of(const Program& program, const std::string& backend, const json& by_rank) {
  const test::Devices devices(2);
  Outcome outcome;
  std::mutex mutex;
  try {
    test::run_with_backend(backend, kRanks, [&](const distributed::ProcessGroupPtr& group) {
      const Numbers numbers = program.run(group->rank());
      const json& theirs = by_rank.at(static_cast<size_t>(group->rank()));
      const std::lock_guard lock(mutex);
      if (numbers.size() != theirs.size()) outcome.largest_difference = INFINITY;
      for (const auto& [name, x] : numbers)
        outcome.largest_difference = std::max(outcome.largest_difference, difference(x, theirs.at(name)));
    });
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}
json fixture_of(const json& fixture, const std::string& name) {
  for (const json& row : fixture.at("programs"))
    if (row.at("program") == name) return row.at("ranks");
  throw Error("parallel.json has no program " + name);
}

}  // namespace

TEST_CASE("programs with two ranks end with PyTorch's numbers, or with an error where those are wrong",
          "[parallel][ddp][programs]") {
  const json fixture = test::read_json("parallel.json");
  const std::string backend = GENERATE(from_range(test::backends()));
  CHECK(fixture.at("programs").size() == std::size(kPrograms));
  for (const Program& program : kPrograms) {
    const Outcome outcome = outcome_of(program, backend, fixture_of(fixture, program.name));
    INFO(program.name << " over " << backend);
    if (program.refusal) {
      CHECK_THAT(outcome.error, Contains(program.refusal));
    } else {
      CHECK(outcome.error == "");
      CHECK(outcome.largest_difference < 1e-12);  // float64, sums of some dozen terms in another order
    }
  }
}

TEST_CASE("the table of programs beside PyTorch", "[.table]") {
  const json fixture = test::read_json("parallel.json");
  const std::string pytorch = "PyTorch " + fixture.at("torch").get<std::string>();
  std::printf("%-42s %-16s %-20s %s\n", "program, 2 ranks", pytorch.c_str(), "Tandem", "difference");
  for (const Program& program : kPrograms) {
    double largest = 0;
    bool refuses = false;
    for (const std::string& backend : test::backends()) {
      const Outcome outcome = outcome_of(program, backend, fixture_of(fixture, program.name));
      refuses |= !outcome.error.empty();
      largest = std::max(largest, outcome.largest_difference);
    }
    char equal[32];
    std::snprintf(equal, sizeof equal, "equal within %.0e", largest);
    std::printf("%-42s %-16s %-20s %s\n", program.name, program.pytorch, refuses ? "refuses" : equal,
                program.difference);
  }
}
