// LibTorch (C++) as a peer on the CPU: the workloads of torch_peers.py under the same names. One JSON line per case.
// usage: libtorch_peers [--workloads GROUPS] [--only SUBSTRING] [--threads N] [--rounds N] [--round-s S]
// [--channels-last] GROUPS: a comma list of models, op_overhead, bandwidth, layers, past_cache, hello; the default is
// the first three.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "libtorch_models.h"
namespace F = torch::nn::functional;
using torch::Tensor, torch::nn::Module;

// ---------------------------------------------------------------- models
struct BlockImpl : Module {
  int64_t d, h;
  torch::nn::LayerNorm ln1, ln2;
  torch::nn::Linear qkv, proj, up, down;
  BlockImpl(int64_t d, int64_t h)
      : d(d),
        h(h),
        ln1(torch::nn::LayerNormOptions({d})),
        ln2(torch::nn::LayerNormOptions({d})),
        qkv(d, 3 * d),
        proj(d, d),
        up(d, 4 * d),
        down(4 * d, d) {
    register_module("ln1", ln1);
    register_module("ln2", ln2);
    register_module("qkv", qkv);
    register_module("proj", proj);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor forward(Tensor x) {
    auto b = x.size(0), t = x.size(1);
    auto p = qkv(ln1(x)).view({b, t, 3, h, d / h}).permute({2, 0, 3, 1, 4});
    auto y = at::scaled_dot_product_attention(p[0], p[1], p[2], {}, 0.0, /*is_causal=*/true);
    x = x + proj(y.transpose(1, 2).reshape({b, t, d}));
    return x + down(torch::gelu(up(ln2(x))));
  }
};
TORCH_MODULE(Block);

struct Gpt : Module {  // 4 layers, d 256, 4 heads, context 128, vocabulary 8192, untied head
  torch::nn::Embedding tok{8192, 256}, pos{128, 256};
  torch::nn::ModuleList blocks;
  torch::nn::LayerNorm ln{torch::nn::LayerNormOptions({256})};
  torch::nn::Linear head{torch::nn::LinearOptions(256, 8192).bias(false)};
  Gpt() {
    for (int i = 0; i < 4; i++) blocks->push_back(Block(256, 4));
    register_module("tok", tok);
    register_module("pos", pos);
    register_module("blocks", blocks);
    register_module("ln", ln);
    register_module("head", head);
  }
  Tensor forward(Tensor ids) {
    auto x = tok(ids) + pos(torch::arange(ids.size(1)));
    for (auto& b : *blocks) x = b->as<Block>()->forward(x);
    return head(ln(x)).flatten(0, 1);
  }
};

// ---------------------------------------------------------------- cases
struct Case {
  std::string name;
  int batch;
  double work;
  const char* unit;
  std::function<void()> f;
  long n = 1;
  std::vector<double> seconds;
};
std::vector<Case> cases;
std::string only;
bool channels_last = false;

bool wanted(const std::string& name) { return only.empty() || name.find(only) != std::string::npos; }
void add(std::string name, int batch, double work, const char* unit, std::function<void()> f) {
  if (wanted(name)) cases.push_back({std::move(name), batch, work, unit, std::move(f)});
}
/// x and the parameters of m in the layout asked for.
Tensor laid_out(Module& m, Tensor x) {
  if (!channels_last || x.dim() != 4) return x;
  for (auto& p : m.parameters())
    if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}
template <class M, class O, class L>
void train(std::string name, int batch, double items, std::shared_ptr<M> m, O o, Tensor x, Tensor y, L loss) {
  auto opt = std::make_shared<O>(std::move(o));
  x = laid_out(*m, x);
  add(std::move(name), batch, items, "items_per_s", [=] {
    opt->zero_grad();  // sets to none by default
    loss(m->forward(x), y).backward();
    opt->step();
  });
}
Tensor classes(int n, int count) { return torch::randint(n, {count}, torch::kLong); }

void add_models() {
  auto xent = [](const Tensor& o, const Tensor& y) { return F::cross_entropy(o, y); };
  auto mse = [](const Tensor& o, const Tensor& y) { return torch::mse_loss(o, y); };
  auto nll = [](const Tensor& o, const Tensor& y) { return torch::nll_loss(o, y); };
  namespace op = torch::optim;
  for (int b : {64, 512}) {
    auto m = std::make_shared<FashionCnn>();
    train("fashion_cnn_train", b, b, m, op::Adam(m->parameters(), 1e-3), torch::randn({b, 1, 28, 28}), classes(10, b),
          xent);
  }
  auto m = std::make_shared<FashionCnn>();
  auto x = laid_out(*m, torch::randn({512, 1, 28, 28}));
  m->eval();
  add("fashion_cnn_infer", 512, 512, "items_per_s", [=] {
    torch::NoGradGuard g;
    m->forward(x);
  });
  auto mlp = std::make_shared<Mlp>();
  train("mlp_train", 64, 64, mlp, op::SGD(mlp->parameters(), op::SGDOptions(.01).momentum(.9)), torch::randn({64, 784}),
        classes(10, 64), xent);
  auto s = std::make_shared<Simple>();
  train("simple_train", 32, 32, s, op::Adam(s->parameters(), 1e-3), torch::randn({32, 10}), torch::randn({32, 1}), mse);
  auto l = std::make_shared<MnistNet>();
  train("mnist_train", 64, 64, l, op::SGD(l->parameters(), op::SGDOptions(.01).momentum(.5)),
        torch::randn({64, 1, 28, 28}), classes(10, 64), nll);
  auto g = std::make_shared<Gpt>();
  auto ids = torch::randint(8192, {8, 129}, torch::kLong);
  train("gpt_train", 8, 8 * 128, g, op::AdamW(g->parameters(), op::AdamWOptions(3e-4)),
        ids.narrow(1, 0, 128).contiguous(), ids.narrow(1, 1, 128).flatten(), xent);
}

void add_op_overhead() {
  auto a = torch::ones({1}), b = torch::ones({1}), c = torch::ones({1});
  auto ga = torch::ones({1}, torch::requires_grad()), gb = ga.detach().clone().requires_grad_(),
       gc = gb.detach().clone().requires_grad_();
  add("op_add_nograd", 1, 1, "ns", [=] { auto z = a + b; });
  add("op_add_grad", 1, 1, "ns", [=] { auto z = ga + gb; });
  add("op_mul_add_sum_nograd", 1, 1, "ns", [=] { auto z = (a * b + c).sum(); });
  add("op_mul_add_sum_backward", 1, 1, "ns", [=] {
    ga.mutable_grad().reset();
    gb.mutable_grad().reset();
    gc.mutable_grad().reset();
    (ga * gb + gc).sum().backward();
  });
}

void add_bandwidth() {
  const long n = 16 << 20;
  auto a = torch::randn({n}), b = torch::randn({n}), c = torch::randn({n}), out = torch::empty({n});
  auto s = torch::randn({8192, 1024});
  add("chain_relu_ab_c_16M", 1, 16.0 * n, "GB/s", [=] { auto z = torch::relu(a * b + c); });
  add("chain_inplace_16M", 1, 16.0 * n, "GB/s", [=] {
    auto o = out;
    torch::mul_out(o, a, b);
    o.add_(c).relu_();
  });
  add("add_16M", 1, 12.0 * n, "GB/s", [=] { auto z = a + b; });
  add("add_out_16M", 1, 12.0 * n, "GB/s", [=] {
    auto o = out;
    torch::add_out(o, a, b);
  });
  add("softmax_8192x1024", 1, 8.0 * s.numel(), "GB/s", [=] { auto z = torch::softmax(s, 1); });
  add("sum_16M", 1, 4.0 * n, "GB/s", [=] { auto z = a.sum(); });
  for (int k : {1024, 2048}) {
    auto p = torch::randn({k, k}), q = torch::randn({k, k});
    add("matmul_" + std::to_string(k), 1, 2.0 * k * k * k, "GFLOP/s", [=] { auto z = torch::mm(p, q); });
  }
}

/// A layer's forward without a graph, and its backward alone (the graph is kept).
template <class L>
void add_layer(const std::string& name, L layer, Tensor x, bool needs_dx, const char* unit, double forward_work,
               double backward_work) {
  x = laid_out(*layer, x).requires_grad_(needs_dx);
  std::vector<Tensor> inputs = layer->parameters();
  if (needs_dx) inputs.push_back(x);
  auto y = layer->forward(x), dy = torch::randn_like(y);
  add(name + "_forward", 1, forward_work, unit, [=]() mutable {
    torch::NoGradGuard g;
    auto z = layer->forward(x);
  });
  add(name + "_backward", 1, backward_work, unit,
      [=] { auto g = torch::autograd::grad({y}, inputs, {dy}, /*retain_graph=*/true); });
}

void add_layers() {
  // The two convolutions of FashionCnn, whose first needs no gradient for its input.
  struct Shape {
    int64_t c, o, size, padding;
  };
  for (const auto& [c, o, size, padding] : {Shape{1, 32, 28, 1}, Shape{32, 64, 14, 0}}) {
    const auto out = size + 2 * padding - 2;
    const double flops = 2.0 * 64 * o * out * out * c * 9;
    const auto name = "conv2d_" + std::to_string(c) + "_" + std::to_string(o) + "_" + std::to_string(size) + "x" +
                      std::to_string(size) + "_b64";
    add_layer(name, torch::nn::Conv2d(torch::nn::Conv2dOptions(c, o, 3).padding(padding)),
              torch::randn({64, c, size, size}), c > 1, "GFLOP/s", flops, flops * (c > 1 ? 2 : 1));
  }
  auto x = torch::randn({8192, 1024});
  add_layer("layer_norm_8192x1024", torch::nn::LayerNorm(torch::nn::LayerNormOptions({1024})), x, true, "GB/s",
            8.0 * x.numel(), 12.0 * x.numel());
  auto m = std::make_shared<FashionCnn>();
  double numel = 0;
  for (auto& p : m->parameters()) {
    p.mutable_grad() = torch::randn_like(p) * 1e-3;
    numel += p.numel();
  }
  auto adam = std::make_shared<torch::optim::Adam>(m->parameters(), 1e-3);
  add("adam_step_5.9MB", 1, 28.0 * numel, "GB/s", [m, adam] { adam->step(); });
}

void add_past_cache() {
  struct Size {
    const char* name;
    int64_t n;
  };
  auto a = torch::randn({64 << 20}), b = torch::randn({64 << 20}), out = torch::empty({64 << 20});
  for (const auto& [name, n] :
       {Size{"16K", 16 << 10}, Size{"256K", 256 << 10}, Size{"4M", 4 << 20}, Size{"64M", 64 << 20}}) {
    auto x = a.narrow(0, 0, n), y = b.narrow(0, 0, n), z = out.narrow(0, 0, n);
    const auto suffix = std::string("_") + name;
    add("add_out" + suffix, 1, 12.0 * n, "GB/s", [=] {
      auto o = z;
      torch::add_out(o, x, y);
    });
    add("add" + suffix, 1, 12.0 * n, "GB/s", [=] { auto r = x + y; });
    add("exp" + suffix, 1, 8.0 * n, "GB/s", [=] { auto r = torch::exp(x); });
    add("sum" + suffix, 1, 4.0 * n, "GB/s", [=] { auto r = x.sum(); });
  }
}

/// A process from its start to its end, with one small op in it: this program, started as `libtorch_peers --hello`.
void add_hello() {
  add("hello", 1, 1, "ns", [] {
    static char program[] = "/proc/self/exe", flag[] = "--hello";
    char* arguments[] = {program, flag, nullptr};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    int status = posix_spawn(&child, program, &quiet, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (status != 0 || waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "hello: the child ended with status %d\n", status);
      exit(1);
    }
  });
}

// ---------------------------------------------------------------- timing
double timed(const std::function<void()>& f, long n) {
  auto t = std::chrono::steady_clock::now();
  for (long i = 0; i < n; i++) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count() / n;
}

void print(const Case& k, int threads, long peak_rss_mib) {
  auto t = k.seconds;
  std::sort(t.begin(), t.end());
  const double median = t.size() % 2 ? t[t.size() / 2] : (t[t.size() / 2 - 1] + t[t.size() / 2]) / 2;
  const std::string unit = k.unit;
  const double figure = unit == "ns" ? median * 1e9 : k.work / median / (unit == "items_per_s" ? 1 : 1e9);
  printf(
      "{\"peer\":\"libtorch-%s\",\"mode\":\"eager\",\"dtype\":\"fp32\",\"device\":\"cpu\",\"channels_last\":%s,"
      "\"threads\":%d,\"workload\":\"%s\",\"batch\":%d,\"calls_per_round\":%ld,\"median_ms\":%.6f,\"min_ms\":%.6f,"
      "\"max_ms\":%.6f,\"%s\":%.6g,\"rounds_ms\":[",
      TORCH_VERSION, channels_last ? "true" : "false", threads, k.name.c_str(), k.batch, k.n, median * 1e3,
      t.front() * 1e3, t.back() * 1e3, unit == "ns" ? "median_ns" : k.unit, figure);
  for (size_t i = 0; i < k.seconds.size(); i++) printf("%s%.6f", i ? "," : "", k.seconds[i] * 1e3);
  printf("],\"peak_rss_mib\":%ld}\n", peak_rss_mib);
}

int main(int argc, char** argv) {
  int threads = 2, rounds = 5;
  double round_s = 0.5;
  std::istringstream workloads("models,op_overhead,bandwidth");
  const std::map<std::string, void (*)()> groups = {{"models", add_models},         {"op_overhead", add_op_overhead},
                                                    {"bandwidth", add_bandwidth},   {"layers", add_layers},
                                                    {"past_cache", add_past_cache}, {"hello", add_hello}};
  for (int i = 1; i < argc; i++) {
    const std::string flag = argv[i];
    const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--hello") {
      printf("%g\n", (torch::ones({3}) + 1).sum().item<double>());
      return 0;
    } else if (flag == "--channels-last") {
      channels_last = true;
      continue;
    } else if (flag == "--threads" && next) {
      threads = atoi(next);
    } else if (flag == "--rounds" && next) {
      rounds = atoi(next);
    } else if (flag == "--round-s" && next) {
      round_s = atof(next);
    } else if (flag == "--workloads" && next) {
      workloads.str(next);
    } else if (flag == "--only" && next) {
      only = next;
    } else {
      fprintf(stderr,
              "libtorch_peers: %s is unknown or lacks its value; accepted: --workloads GROUPS, --only SUBSTRING, "
              "--threads N, --rounds N, --round-s S, --channels-last\n",
              argv[i]);
      return 2;
    }
    i++;
  }
  torch::set_num_threads(threads);
  torch::manual_seed(0);
  for (std::string group; std::getline(workloads, group, ',');) {
    const auto found = groups.find(group);
    if (found == groups.end()) {
      fprintf(stderr,
              "libtorch_peers: workloads %s; accepted: models, op_overhead, bandwidth, layers, past_cache, hello\n",
              group.c_str());
      return 2;
    }
    found->second();
  }
  for (auto& k : cases) {
    for (int i = 0; i < 4; i++) k.f();
    double estimate = timed(k.f, 1);
    estimate = timed(k.f, std::clamp<long>(0.2 / estimate, 1, 2000));
    k.n = std::max<long>(1, round_s / estimate);
  }
  for (int r = 0; r < rounds; r++)
    for (auto& k : cases) k.seconds.push_back(timed(k.f, k.n));
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  for (auto& k : cases) print(k, threads, usage.ru_maxrss / 1024);
}
