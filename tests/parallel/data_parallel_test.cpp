// Tests DataParallel through its public interface: inputs and outputs, errors, threads, random numbers, and the
// functional forms.
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::nn::parallel;
using test::kFirst;
using test::kSecond;
using test::kThird;

namespace {
/// A module whose forward is any callable. `Function` is the callable's type, so every test gets its own class.
template <class Function> struct ModuleOf : nn::Cloneable<ModuleOf<Function>> {
  explicit ModuleOf(Function f) : function(std::move(f)) {}
  void reset() override {}
  template <class... Inputs> auto forward(const Inputs&... inputs) { return function(inputs...); }
  Function function;
};
template <class Function> auto module_of(Function f) { return std::make_shared<ModuleOf<Function>>(std::move(f)); }

struct WithoutClone : nn::Module {
  explicit WithoutClone(Device device) { fc->to(device); }
  Tensor forward(const Tensor& x) { return fc(x); }
  nn::Linear fc = register_module("fc", nn::Linear(3, 2));
};
static_assert(!nn::parallel::detail::kHasClone<WithoutClone>);
static_assert(nn::parallel::detail::kHasClone<models::MlpImpl> && nn::parallel::detail::kHasClone<nn::SequentialImpl>);
}  // namespace

TEST_CASE("parameters are the module's own, under the name of the child", "[parallel][dp]") {
  const test::Devices devices(2);
  models::Mlp net;
  DataParallel dp(net, devices.list);
  const nn::NamedParameters names = dp.named_parameters();
  CHECK(names.size() == 6);
  CHECK(names["module.fc1.weight"].is_same(net->fc1->weight));
  CHECK(dp.module() == net.ptr());
  CHECK(dp.named_children().contains("module"));
}

TEST_CASE("handles, shared pointers and references are modules; all devices are the default", "[parallel][dp]") {
  const test::Devices devices(3);
  models::Mlp handle;
  models::MlpImpl local;
  const Tensor x = randn({5, 784});
  DataParallel a(handle);
  DataParallel b(handle.ptr(), {"cpu:0", "cpu:1"}, "cpu:2");
  DataParallel<models::Mlp> c(handle, {kFirst});
  DataParallel d(local, devices.list);
  nn::DataParallel<models::MlpImpl> e(handle);
  CHECK(a.devices() == devices.list);
  CHECK(b.output_device() == kThird);
  CHECK(b(x).device() == kThird);
  CHECK(b(x).to(kFirst).equal(gather(scatter(a(x), {kFirst}), kFirst)));
  CHECK(c(x).allclose(a(x), 1e-5, 1e-6));  // matrix products of other sizes may add in another order
  CHECK(d(x).sizes() == IntArrayRef({5, 10}));
  CHECK(e.devices().size() == 3);
}

TEST_CASE("inputs may be anywhere, in any number and any form", "[parallel][dp]") {
  const test::Devices devices(3);
  const Tensor x = arange(10).to(kFloat32).reshape({5, 2});
  const auto net =
      module_of([](const Tensor& a, const std::vector<Tensor>& list, const std::tuple<Tensor, double>& pair,
                   const Tensor& scalar, const Tensor& none, const std::optional<Tensor>& maybe, int factor,
                   const std::string& text, const char* literal) {
        if (none.defined() || !maybe || text != "text" || std::string(literal) != "literal")
          throw Error("inputs got lost");
        return (a + list[0] + list[1] + std::get<0>(pair) * std::get<1>(pair) + scalar + *maybe) * factor;
      });
  DataParallel dp(net, devices.list);
  const std::string text = "text";
  const Tensor y = dp(x.to(kSecond), std::vector<Tensor>{x, x.to(kThird)}, std::tuple(x, 3.0), full({}, 100.0f, kThird),
                      Tensor(), std::optional(x), 2, text, "literal");
  CHECK(y.equal((x * 7 + 100) * 2));
}

TEST_CASE("outputs are tensors, tuples, pairs and vectors; scalars become a vector", "[parallel][dp]") {
  const test::Devices devices(2);
  const Tensor x = arange(6).to(kFloat32).reshape({3, 2});
  DataParallel tuple(module_of([](const Tensor& a) {
                       return std::tuple(a, std::pair(a * 2, a.argmax(1)), std::vector<Tensor>{a.sum(), a});
                     }),
                     devices.list);
  const auto [same, pair, list] = tuple(x);
  CHECK(same.equal(x));
  CHECK(pair.first.equal(x * 2));
  CHECK(pair.second.equal(ones({3}, kInt64)));
  CHECK(list[0].sizes() == IntArrayRef({2}));
  CHECK(list[0].sum().item<float>() == 15);
  DataParallel scalar(module_of([](const Tensor& a) { return a.mean(); }), {kFirst});
  CHECK(scalar(x).sizes() == IntArrayRef({1}));
}

namespace {
struct Pieces {
  Tensor rows;
  std::vector<Tensor> more;
  std::string label;
  auto tensor_parts() { return std::tie(rows, more); }
};
}  // namespace

TEST_CASE("inputs and outputs are maps by key, and structs that say what their tensors are", "[parallel][dp]") {
  const test::Devices devices(2);
  const Tensor x = arange(6).to(kFloat32).reshape({3, 2});
  using Map = std::map<std::string, Tensor>;
  using HashMap = std::unordered_map<std::string, Tensor>;
  DataParallel maps(module_of([](const Map& in, const OrderedDict<std::string, Tensor>& dict) {
                      // Different bucket counts make the replicas iterate their keys in different orders.
                      HashMap out(in.at("a").device() == kFirst ? 1 : 97);
                      for (int i = 0; i < 9; ++i) out[std::to_string(i)] = in.at("a") * i + in.at("b") + dict["c"];
                      return std::pair(Map{{"all", in.at("a")}}, out);
                    }),
                    devices.list);
  OrderedDict<std::string, Tensor> dict;
  dict.insert("c", x);
  const auto [map, hashed] = maps(Map{{"a", x}, {"b", x.to(kSecond)}}, dict);
  CHECK(map.at("all").equal(x));
  for (int i = 0; i < 9; ++i) CHECK(hashed.at(std::to_string(i)).equal(x * (i + 2)));

  DataParallel structs(module_of([](const Pieces& in) {
                         return Pieces{in.rows * 2, {in.more[0] + in.rows}, in.label + " of " + in.rows.device().str()};
                       }),
                       devices.list);
  const Pieces out = structs(Pieces{x, {x}, "pieces"});
  CHECK(out.rows.equal(x * 2));
  CHECK(out.more[0].equal(x * 2));
  CHECK(out.label == "pieces of cpu");

  DataParallel others(module_of([](const Tensor& a) {
                        return Map{{a.device() == kFirst ? "left" : "right", a}};
                      }),
                      devices.list);
  CHECK_THROWS_WITH(others(x), Contains("replica 0 returned {left} and replica 1 {right}"));
}

TEST_CASE("one device, one named twice, few rows, no rows, no parameters: all work", "[parallel][dp]") {
  const test::Devices devices(4);
  std::atomic<int> calls{0};
  std::atomic<bool> empty{false};
  const auto net = module_of([&](const Tensor& a) {
    ++calls, empty = empty || a.size(0) == 0;
    return a * 2;
  });
  for (const auto& list : {devices.list, {kFirst}, {kFirst, kFirst}, {kSecond, kFirst}}) {
    DataParallel dp(net, list);
    for (const int64_t rows : {1, 2, 9}) {
      calls = 0;
      const Tensor x = randn({rows, 3}).requires_grad_();
      const Tensor y = dp(x);
      CHECK(y.to(kFirst).equal(x * 2));
      CHECK(y.device() == list[0]);
      CHECK(calls == std::min<int64_t>(rows, static_cast<int64_t>(list.size())));
      y.sum().backward();
      CHECK(x.grad().equal(full({rows, 3}, 2.0f)));
    }
    CHECK_FALSE(empty);
    CHECK(dp(zeros({0, 3})).sizes() == IntArrayRef({0, 3}));
    empty = false;
  }
}

TEST_CASE("inputs are cut along another dimension if asked", "[parallel][dp]") {
  const test::Devices devices(2);
  std::atomic<int64_t> columns{0};
  DataParallel dp(module_of([&](const Tensor& a) { return columns += a.size(-1), a * 2; }), devices.list, {},
                  DataParallelOptions().dim(-1));
  const Tensor x = randn({1, 5});
  CHECK(dp(x).equal(x * 2));
  CHECK(columns == 5);
}

TEST_CASE("each input has a dimension of its own, or goes to every replica whole", "[parallel][dp]") {
  const test::Devices devices(2);
  // x is split by rows, w is broadcast whole, and s is split along dimension 1 because its dimension 0 is time.
  const auto net = module_of([](const Tensor& x, const Tensor& w, const std::vector<Tensor>& s) {
    return matmul(x, w) + s[0].sum(0) + s[1].sum(0);
  });
  DataParallel dp(net, devices.list, {}, DataParallelOptions().input_dims({0, std::nullopt, 1}));
  Tensor x = randn({5, 3}, kFloat64), w = randn({3, 2}, kFloat64).requires_grad_(), s = randn({4, 5, 2}, kFloat64);
  const Tensor y = dp(x, w, std::vector<Tensor>{s, s});
  CHECK(y.allclose(matmul(x, w) + 2 * s.sum(0)));
  y.sum().backward();
  CHECK(w.grad().allclose(x.sum(0).unsqueeze(1).expand({3, 2})));  // the sum of both replicas' gradients
  CHECK_THROWS_WITH(dp(x, w, std::vector<Tensor>{s, x}), Contains("dimension 0 and 1: (5, 3) and (5, 3)"));
  DataParallel few(module_of([](const Tensor& a) { return a; }), devices.list, {},
                   DataParallelOptions().input_dims({0, 0}));
  CHECK_THROWS_WITH(few(x), Contains("input_dims has 2 entries, but the number of inputs is 1"));
  // In loss() the target is the last input.
  models::Mlp model;
  DataParallel whole(model, devices.list, {}, DataParallelOptions().input_dims({std::nullopt, std::nullopt}));
  CHECK_THROWS_WITH(whole.loss(nn::CrossEntropyLoss(), randn({2, 784}), tensor({1, 2})),
                    Contains("none of the inputs"));
}

TEST_CASE("devices by their numbers, and rows by chunk sizes", "[parallel][dp]") {
  const test::Devices devices(4);
  models::Mlp net;
  DataParallel dp(net, DataParallelOptions().device_ids({0, 2}));
  CHECK(dp.devices() == std::vector<Device>{kFirst, kThird});
  DataParallel all(net);
  CHECK(all.devices() == devices.list);
  CHECK_THROWS_WITH(DataParallel(net, DataParallelOptions().device_ids({0, 4})), Contains("cpu:4"));
  CHECK_THROWS_WITH(DataParallel(net, devices.list, {}, DataParallelOptions().device_ids({0})),
                    Contains("both a list of devices and device_ids"));

  std::array<std::atomic<int64_t>, 2> rows;
  const auto counting = module_of([&](const Tensor& a) {
    rows[static_cast<size_t>(a.device().index())] = a.size(0);
    return a * 2;
  });
  DataParallel chunks(counting, devices.first(2), {}, DataParallelOptions().chunk_sizes({6, 2}));
  for (const int64_t n : {8, 16, 5, 2}) {
    const Tensor x = randn({n, 3});
    CHECK(chunks(x).equal(x * 2));
    CHECK(rows[0] + rows[1] == n);
    CHECK(rows[1] == std::max<int64_t>(1, n / 4));
  }
  CHECK_THROWS_WITH(DataParallel(net, devices.list, {}, DataParallelOptions().chunk_sizes({6, 2})),
                    Contains("chunk_sizes are (6, 2) for 4 device(s)"));
  CHECK_THROWS_WITH(DataParallel(net, devices.first(2), {}, DataParallelOptions().chunk_sizes({6, 0})),
                    Contains("accepted: a positive size for each device"));
}

TEST_CASE("unequal devices are warned about, with what can be done", "[parallel][dp]") {
  const int64_t gib = int64_t{1} << 30;
  CHECK(describe_imbalance({{kFirst, "A", 16 * gib, 100}, {kSecond, "B", 12 * gib, 75}}).empty());
  CHECK_THAT(describe_imbalance({{kFirst, "A", 16 * gib, 100}, {kSecond, "B", 11 * gib, 100}}),
             Contains("cpu:1 (B, 11264 MiB, 100 multiprocessors) has less than 75 %") && Contains("of cpu (A, 16384") &&
                 Contains("device_ids") && Contains("chunk_sizes"));
  CHECK_THAT(describe_imbalance({{kFirst, "A", gib, 74}, {kSecond, "B", gib, 100}}), Contains("cpu (A, 1024 MiB, 74"));
}

namespace {
/// Returns whether all parameters and buffers of two modules are equal.
bool same(const nn::Module& a, const nn::Module& b) {
  const nn::NamedParameters others = b.state_dict();
  for (const auto& item : a.state_dict())
    if (!item->equal(*others.find(item.key()))) return false;
  return true;
}
}  // namespace

TEST_CASE("what a wrapper saves the bare module loads, and the other way round", "[parallel][dp][ddp]") {
  const test::Devices devices(2);
  const test::TemporaryFolder folder;
  const bool ddp = GENERATE(false, true);
  const std::string file = folder / GENERATE("a.safetensors", "a.pt");
  distributed::run_ranks(1, [&](int) {
    distributed::init_process_group("local");
    models::FashionCnn net, other;
    // Checks the wrapper through its own type and as an nn::Module.
    const auto check = [&](auto& wrapped) {
      nn::Module& module = wrapped;
      CHECK(module.state_dict().keys() == net->state_dict().keys());
      CHECK(wrapped.named_parameters().contains("module.fc1.weight"));
      save_module(module, file);
      load_module(*other, file);
      CHECK(same(*net, *other));
      models::FashionCnn third;
      save_module(*third, file);
      load_module(module, file);
      CHECK(same(*net, *third));
      wrapped.load_state_dict(other->state_dict());
      CHECK(same(*net, *other));
      nn::NamedParameters prefixed;  // names with the prefix "module.", as in state dicts of PyTorch's wrappers
      std::vector<std::pair<std::string, Tensor>> tensors;
      for (const auto& item : third->state_dict()) {
        prefixed.insert("module." + item.key(), item.value());
        tensors.emplace_back("module." + item.key(), item.value());
      }
      wrapped.load_state_dict(prefixed);
      CHECK(same(*net, *third));
      wrapped.load_state_dict(other->state_dict());
      save_safetensors(tensors, folder / "python.safetensors");
      load_module(module, folder / "python.safetensors");
      CHECK(same(*net, *third));
      CHECK_THROWS_WITH(wrapped.load_state_dict({}), Contains("missing: 'layer1.0.weight'"));
    };
    if (ddp) {
      DistributedDataParallel wrapped(net);
      check(wrapped);
    } else {
      DataParallel wrapped(net, devices.list);
      check(wrapped);
    }
  });
}

TEST_CASE("a factory makes replicas of what has no clone()", "[parallel][dp]") {
  const test::Devices devices(2);
  manual_seed(5);
  const auto net = std::make_shared<WithoutClone>(kFirst);
  const uint64_t drawn = default_generator().get_state().offset;
  DataParallel dp(
      net, [](Device device) { return std::make_shared<WithoutClone>(device); }, devices.list);
  CHECK(default_generator().get_state().offset == drawn);
  const Tensor x = randn({4, 3});
  CHECK(dp(x).allclose(net->forward(x), 1e-6, 1e-6));  // products of other sizes may add in another order
  dp(x).sum().backward();
  CHECK(net->fc->weight.grad().defined());
  const auto null = [](Device) { return std::shared_ptr<WithoutClone>(); };
  CHECK_THROWS_WITH(DataParallel(net, null, devices.list), Contains("a null module for cpu"));
}

TEST_CASE("mistakes are refused by name and value", "[parallel][dp]") {
  const test::Devices devices(2);
  models::Mlp net;
  CHECK_THROWS_WITH(DataParallel(net, std::vector<Device>{}), Contains("the list of devices is empty"));
  CHECK_THROWS_WITH(DataParallel(net, {"cpu:0", "cpu:7"}), Contains("cpu:7"));
  CHECK_THROWS_WITH(DataParallel(net, devices.list, "cpu:9"), Contains("cpu:9"));
  CHECK_THROWS_WITH(
      DataParallel(net, {"cpu:1", "cpu:0"}),
      Contains("module must have its parameters and buffers on device cpu:1 (device_ids[0]) but found one of "
               "them on device: cpu ('fc1.weight')"));
  DataParallel dp(net, devices.list);
  DataParallel none(module_of([](int, double) { return Tensor(); }), devices.list);
  CHECK_THROWS_WITH(none(3, 0.5), Contains("none of the inputs is a tensor"));
  DataParallel two(module_of([](const Tensor& a, const Tensor& b) { return a + b; }), devices.list);
  CHECK_THROWS_WITH(two(ones({4, 2}), ones({3, 2})), Contains("(4, 2)") && Contains("(3, 2)"));
  net->to(kSecond);
  CHECK_THROWS_WITH(dp(randn({4, 784})), Contains("found one of them on device: cpu:1 ('fc1.weight')"));
  const auto factory = [](Device) {
    auto made = std::make_shared<models::MlpImpl>();
    made->register_parameter("extra", ones({1}));
    return made;
  };
  net->to(kFirst);
  CHECK_THROWS_WITH(DataParallel(net, factory, devices.list), Contains("the replica for cpu:1 has 'extra'"));
}

TEST_CASE("an exception in a replica comes back with its device, and as what it was", "[parallel][dp]") {
  const test::Devices devices(3);
  DataParallel dp(module_of([](const Tensor& a, const std::string& kind) {
                    if (a.device() == kFirst) return a;
                    if (kind == "index") throw IndexError("no such row");
                    if (kind == "other") throw std::runtime_error("of the user's");
                    return a;
                  }),
                  devices.list);
  const Tensor x = ones({3, 2});
  CHECK_THROWS_AS(dp(x, std::string("index")), IndexError);
  // If several replicas fail, the lowest one is reported.
  CHECK_THROWS_WITH(dp(x, std::string("index")), "replica 1 on cpu:1: no such row");
  CHECK_THROWS_WITH(dp(x, std::string("other")), "replica 1 on cpu:1: of the user's");
  CHECK(dp(x, std::string("none")).equal(x));
}

TEST_CASE("an exception in a replica's backward comes back with its number and device", "[parallel][dp]") {
  const test::Devices devices(3);
  const bool twice = GENERATE(false, true);  // three replicas on one device, so backward runs on one thread
  const auto list = twice ? std::vector<Device>{kFirst, kFirst, kFirst} : devices.list;
  DataParallel dp(module_of([&](const Tensor& a, const std::string& where) {
                    const Tensor y = a * 2;
                    if (where == "replica" && a.sum().item<float>() > 30)
                      y.register_hook([](const Tensor&) { throw std::runtime_error("of the user's"); });
                    return y.exp();
                  }),
                  list);
  // Shard 2 has the values 16 and 25.
  const Tensor x = arange(6).to(kFloat32).reshape({3, 2}).square().requires_grad_();
  CHECK_THROWS_WITH(dp(x, std::string("replica")).sum().backward(),
                    "replica 2 on " + list[2].str() + ": of the user's");
  const auto sum = [](const Tensor& y, const Tensor&) { return LossPart(y.sum(), Tensor()); };
  CHECK_THROWS_WITH(dp.loss(sum, x, std::string("replica"), zeros({3})).backward(),
                    "replica 2 on " + list[2].str() + ": of the user's");
  // An error in the graph before the inputs are scattered, or after the outputs are gathered, belongs to no replica.
  Tensor shared = x * 1;
  shared.register_hook([](const Tensor&) { throw std::runtime_error("of the user's"); });
  CHECK_THROWS_WITH(dp(shared, std::string("none")).sum().backward(), "of the user's");
  const Tensor y = dp(x, std::string("none"));
  y.register_hook([](const Tensor&) { throw std::runtime_error("of the user's"); });
  CHECK_THROWS_WITH(y.sum().backward(), "of the user's");
}

TEST_CASE("replicas run at the same time, with the caller's grad mode and a share of the cores", "[parallel][dp]") {
  const test::Devices devices(2);
  const int threads = get_num_threads();
  set_num_threads(4);
  std::mutex mutex;
  std::condition_variable both;
  int inside = 0, share = 0;
  bool grad = true;
  std::set<std::thread::id> ids;
  DataParallel dp(module_of([&](const Tensor& a) {
                    std::unique_lock lock(mutex);
                    ids.insert(std::this_thread::get_id()), share = get_thread_share(), grad = is_grad_enabled();
                    ++inside;
                    both.notify_all();
                    // Neither replica leaves before the other has entered.
                    both.wait(lock, [&] { return inside == 2; });
                    return a;
                  }),
                  devices.list);
  {
    const NoGradGuard guard;
    dp(ones({2, 2}));
  }
  CHECK(ids.size() == 2);
  CHECK(share == 2);
  CHECK_FALSE(grad);
  set_num_threads(threads);
}

TEST_CASE("shards draw from streams of their own, which manual_seed repeats", "[parallel][dp][random]") {
  const test::Devices devices(3);
  nn::Dropout drop(0.5);
  DataParallel dp(drop, devices.list);
  const Tensor x = ones({6, 64});
  manual_seed(11);
  const Tensor first = dp(x), second = dp(x);
  CHECK_FALSE(first.equal(second));
  CHECK_FALSE(first.narrow(0, 0, 2).equal(first.narrow(0, 2, 2)));
  manual_seed(11);
  CHECK(dp(x).equal(first));
  CHECK(dp(x).equal(second));
  manual_seed(11);
  // Shard 0 draws the same random numbers as one device would.
  CHECK(drop(x.narrow(0, 0, 2)).equal(first.narrow(0, 0, 2)));
}

TEST_CASE("attention of shards draws its dropout from their streams, and draws it again in backward",
          "[parallel][dp][random]") {
  const test::Devices devices(2);
  const auto attend = [](const Tensor& x) { return scaled_dot_product_attention(x, x, x, {}, 0.5); };
  DataParallel dp(module_of(attend), devices.list);
  const Tensor x = randn({4, 2, 16, 8}), slope = randn({4, 2, 16, 8});
  const auto gradient = [&](const std::function<Tensor(const Tensor&)>& f, int64_t rows) {
    manual_seed(11);
    const Tensor leaf = x.narrow(0, 0, rows).clone().requires_grad_();
    const Tensor y = f(leaf);
    rand({100});  // numbers that others draw between forward and backward
    y.backward(slope.narrow(0, 0, rows));
    return leaf.grad();
  };
  const auto whole = [&](const Tensor& in) { return dp(in); };
  const Tensor first = gradient(whole, 4);
  CHECK(gradient(whole, 4).equal(first));
  CHECK(gradient(attend, 2).equal(first.narrow(0, 0, 2)));  // shard 0 draws what one device would
}

TEST_CASE("a gradient may be taken inside a replica", "[parallel][dp]") {
  const test::Devices devices(2);
  struct Force : nn::Cloneable<Force> {
    Force() { reset(); }
    void reset() override { fc = register_module("fc", nn::Linear(2, 1)); }
    Tensor forward(const Tensor& x) {
      const Tensor at = x.detach().requires_grad_();
      return autograd::grad({fc(at).tanh().sum()}, {at}, {}, {}, /*create_graph=*/true)[0];
    }
    nn::Linear fc{nullptr};
  };
  const auto net = std::make_shared<Force>();
  net->to(kFloat64);
  DataParallel dp(net, devices.list);
  const Tensor x = randn({4, 2}, kFloat64);
  dp(x).square().sum().backward();
  const Tensor found = net->fc->weight.grad().clone();
  net->zero_grad();
  net->forward(x).square().sum().backward();
  CHECK(found.allclose(net->fc->weight.grad(), 1e-12, 1e-12));  // sums of four terms in another order
}

TEST_CASE("the functional forms do one step", "[parallel][dp][functional]") {
  const test::Devices devices(2);
  nn::Linear net(3, 2);
  const Tensor x = randn({5, 3});
  const Tensor expected = DataParallel(net, devices.list)(x);
  const Tensor y = data_parallel(net, x, devices.list, kSecond);
  CHECK(y.device() == kSecond);
  CHECK(y.to(kFirst).equal(expected));
  CHECK(data_parallel(net, x).equal(expected));

  const std::vector<nn::ModuleHolder<nn::LinearImpl>> replicas = replicate(net, devices.list);
  CHECK(replicas[1]->weight.grad_fn_name() == "broadcast_coalesced");
  const std::vector<Tensor> outputs = parallel_apply(replicas, scatter(x, devices.list));
  const Tensor whole = gather(outputs, kFirst);
  CHECK(whole.equal(expected));
  whole.sum().backward();
  const Tensor found = net->weight.grad().clone();
  net->zero_grad();
  y.sum().backward();
  CHECK(net->weight.grad().equal(found));
  CHECK_THROWS_WITH(parallel_apply(replicas, {x}),
                    Contains("Must have as many inputs as modules, but got 1 inputs and 2 modules"));
}
