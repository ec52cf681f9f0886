// Tests that signals do not change results: timers send signals at 1,000 Hz while the library computes, as profilers
// and
// schedulers do. A signal handler runs on the stack of the interrupted thread, so code that misuses the stack pointer
// register has its memory overwritten. Every result must have the same bits as without signals.
#include <dirent.h>
#include <pthread.h>
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>

#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/lapack.h"
#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/op_cases/families.h"

using namespace tandem;
using namespace tandem::test;

namespace {

std::atomic<int64_t> arrived{0};
void on_signal(int) {
  volatile char room[512];  // writes to the stack, as a real handler does
  for (volatile char& byte : room) byte = 1;
  ++arrived;
}
/// Sends SIGALRM by wall-clock time, which threads of the program receive, and SIGPROF by CPU time, which threads of
/// the
/// pool receive too.
class Timers {
 public:
  Timers() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < 2; ++i) {
      ::sigaction(kSignals[i], &action, &before_[i]);
      set(kTimers[i], 1000);
    }
  }
  ~Timers() {
    for (size_t i = 0; i < 2; ++i) {
      set(kTimers[i], 0);
      ::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr int kSignals[] = {SIGALRM, SIGPROF};
  static constexpr decltype(ITIMER_REAL) kTimers[] = {ITIMER_REAL, ITIMER_PROF};
  static void set(decltype(ITIMER_REAL) timer, int microseconds) {
    const itimerval value{{0, microseconds}, {0, microseconds}};
    ::setitimer(timer, &value, nullptr);
  }
  struct sigaction before_[2];
};

/// A named call that returns a hash of all its results.
struct Work {
  std::string name;
  std::function<uint64_t()> run;
};
/// Runs each work once without signals, then all of them in turn while signals arrive, for `seconds` and at least once.
/// Checks that the hashes are equal.
void check(const std::vector<Work>& all, double seconds) {
  const int before = get_num_threads();
  set_num_threads(2);
  std::vector<uint64_t> wanted;
  wanted.reserve(all.size());
  for (const Work& each : all) wanted.push_back(each.run());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  arrived = 0;
  do {
    for (size_t i = 0; i < all.size(); ++i) {
      const Timers timers;
      if (all[i].run() != wanted[i]) FAIL_CHECK(all[i].name << " gives other bits while signals arrive");
    }
  } while (std::chrono::steady_clock::now() < end);
  CHECK(arrived > 10);
  set_num_threads(before);
}
uint64_t digest_of(const std::vector<Tensor>& tensors) {
  uint64_t all = 1;
  for (const Tensor& t : tensors)
    if (t.defined()) all = digest(t, all);
  return all;
}

/// Returns every `step`-th op case, with forward and backward.
std::vector<Work> rows(size_t step) {
  std::vector<Work> all;
  size_t number = 0;
  for (const Family& family : families()) {
    if (family.name == std::string("linalg") && !kernels::cpu::has_lapack()) continue;
    for (const OpCase& row : family.cases) {
      if (number++ % step != 0) continue;
      std::vector<Tensor> inputs;
      const Fixture& f = fixture(row.name);
      for (size_t k = 0; k < f.inputs.size(); ++k) inputs.push_back(make_input(f.inputs[k], k, kFloat32));
      all.push_back({row.name, [&row, inputs] {
                       const Ran ran = run_case(row, inputs);
                       return digest_of(ran.outputs) ^ digest_of(ran.grads);
                     }});
    }
  }
  return all;
}

Work gradients(const std::string& name, std::vector<Tensor> inputs,
               const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  for (Tensor& x : inputs) x.requires_grad_();
  return {name, [inputs, f] {
            const Tensor y = f(inputs);
            std::vector<Tensor> all = autograd::grad({y}, inputs, {ones_like(y)});
            all.push_back(y.detach());
            return digest_of(all);
          }};
}
/// Returns calls at sizes for which the libraries use their fast kernels: matrix products in each layout and dtype,
/// convolutions of every kind, factorizations.
std::vector<Work> large() {
  manual_seed(1);
  std::vector<Work> all;
  for (const LargeCase& row : large_cases()) {
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < row.inputs.size(); ++k) inputs.push_back(make_input(row.inputs[k], k, kFloat32));
    all.push_back({row.op.name, [&row, inputs] { return digest_of(row.op.run(inputs)); }});
  }
  for (const DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{200, 200, 200}, {64, 300, 784}, {3, 400, 600}, {600, 20, 64}})
      for (const bool turn_a : {false, true})
        for (const bool turn_b : {false, true}) {
          const Tensor a = randn(turn_a ? IntArrayRef{k, m} : IntArrayRef{m, k}).to(dtype),
                       b = randn(turn_b ? IntArrayRef{n, k} : IntArrayRef{k, n}).to(dtype);
          all.push_back(
              {"a product of matrices", [=] { return digest_of({(turn_a ? a.t() : a).mm(turn_b ? b.t() : b)}); }});
        }
  all.push_back(
      gradients("bmm", {randn({8, 64, 80}), randn({8, 80, 96})}, [](const auto& in) { return in[0].bmm(in[1]); }));
  all.push_back(gradients("linear", {randn({64, 300}), randn({200, 300}), randn({200})},
                          [](const auto& in) { return linear(in[0], in[1], in[2]); }));
  all.push_back(gradients("attention", {randn({2, 4, 100, 32}), randn({2, 4, 100, 32}), randn({2, 4, 100, 32})},
                          [](const auto& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); }));
  struct Conv {
    int64_t channels, filters, size, kernel, stride, padding, dilation, groups;
  };
  for (const Conv& c : {Conv{1, 10, 20, 5, 1, 0, 1, 1},
                        {32, 48, 14, 3, 1, 1, 1, 1},
                        {64, 64, 10, 1, 1, 0, 1, 1},
                        {24, 40, 12, 1, 1, 0, 1, 1},
                        {16, 32, 15, 3, 2, 1, 1, 1},
                        {12, 18, 14, 3, 1, 1, 2, 1},
                        {12, 24, 14, 3, 1, 1, 1, 3},
                        {32, 32, 14, 3, 1, 1, 1, 32},
                        {64, 64, 12, 3, 1, 2, 1, 2}})
    for (const MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast})
      for (const DType dtype : {kFloat32, kBFloat16}) {
        const Tensor x = randn({8, c.channels, c.size, c.size}).to(dtype).contiguous(format),
                     w = randn({c.filters, c.channels / c.groups, c.kernel, c.kernel}).to(dtype).contiguous(format);
        all.push_back(gradients("a convolution", {x, w, randn({c.filters}).to(dtype)}, [c](const auto& in) {
          return conv2d(in[0], in[1], in[2], c.stride, c.padding, c.dilation, c.groups);
        }));
      }
  if (!kernels::cpu::has_lapack()) return all;
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor a = (randn({150, 150}) + eye(150) * 20).to(dtype), s = a.mm(a.t());
    all.push_back({"inv", [a] { return digest_of({linalg_inv(a)}); }});
    all.push_back({"solve", [a, s] { return digest_of({linalg_solve(a, s)}); }});
    all.push_back({"cholesky", [s] { return digest_of({linalg_cholesky(s)}); }});
    all.push_back({"svdvals", [a] { return digest_of({linalg_svdvals(a)}); }});
    all.push_back({"eigh", [s] { return digest_of({std::get<0>(linalg_eigh(s))}); }});
    all.push_back({"qr", [a] { return digest_of({std::get<1>(linalg_qr(a))}); }});
  }
  return all;
}

/// Returns a training step that hashes the loss and the gradients of all parameters. Each run uses the same seed.
template <class Module>
Work training(const std::string& name, Module net, const Tensor& x,
              const std::function<Tensor(const Tensor& output)>& loss) {
  return {name, [=]() mutable {
            manual_seed(5);
            net->zero_grad();
            const Tensor value = loss(net(x));
            value.backward();
            std::vector<Tensor> all{value.detach()};
            for (const Tensor& p : net->parameters()) all.push_back(p.grad());
            return digest_of(all);
          }};
}
std::vector<Work> training_steps() {
  manual_seed(2);
  const Tensor images = randn({32, 1, 28, 28}), classes = randint(10, {32}, kInt64),
               words = randint(500, {2, 33}, kInt64);
  const auto entropy = [classes](const Tensor& y) { return cross_entropy(y, classes); };
  models::FashionCnn last;
  last->to(MemoryFormat::ChannelsLast);
  models::GptModel gpt(models::GptConfig().vocab_size(500).n_positions(32).n_embd(64).n_layer(2).n_head(4));
  return {training("mlp", models::Mlp(), images, entropy),
          training("lenet", models::Lenet(), images, [classes](const Tensor& y) { return nll_loss(y, classes); }),
          training("fashion_cnn", models::FashionCnn(), images, entropy),
          training("fashion_cnn, channels-last", last, images.contiguous(MemoryFormat::ChannelsLast), entropy),
          training("gpt", gpt, words.narrow(1, 0, 32), [words](const Tensor& y) {
            return cross_entropy(y.flatten(0, 1), words.narrow(1, 1, 32).flatten());
          })};
}

/// Returns the mask of blocked signals of each thread of this process other than the caller, one bit per signal.
std::vector<uint64_t> blocked_by_threads() {
  std::vector<uint64_t> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name == std::to_string(::gettid())) continue;
    std::ifstream status("/proc/self/task/" + name + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) all.push_back(std::stoull(line.substr(7), nullptr, 16));
  }
  return all;
}
bool blocks(uint64_t set, int signal) { return set >> (signal - 1) & 1; }

}  // namespace

TEST_CASE("operations of the table give the same bits while signals arrive", "[signals]") { check(rows(4), 0.3); }
TEST_CASE("large operations give the same bits while signals arrive", "[signals]") { check(large(), 0.3); }
TEST_CASE("training steps give the same bits while signals arrive", "[signals]") { check(training_steps(), 0.3); }
TEST_CASE("20 s of all operations and training steps while signals arrive", "[signals][.][long]") {
  check(rows(1), 7);
  check(large(), 7);
  check(training_steps(), 6);
}

TEST_CASE("threads of the library leave a program's signals to its own threads", "[signals]") {
  sigset_t mine, after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  const int before = get_num_threads();
  set_num_threads(3);
  set_cpu_device_count(2);
  // threads of other libraries: OpenBLAS starts some when it is loaded
  const size_t others = blocked_by_threads().size();
  std::vector<uint64_t> all;
  distributed::run_ranks(2, [&](int rank) {
    distributed::init_process_group("local");
    const Tensor a = ones({50000}).requires_grad_(), b = ones({50}, Device("cpu:1")).requires_grad_();
    (a.exp().sum() + (b * 2).to("cpu:0").sum()).backward();  // uses the thread pool and two backward threads
    Tensor x = ones({10});
    distributed::all_reduce(x)->wait();
    distributed::barrier();
    if (rank == 0) all = blocked_by_threads();
    distributed::barrier();
  });
  set_num_threads(before);
  int many = 0;
  for (const uint64_t set : all) {
    if (!blocks(set, SIGALRM)) continue;  // a thread of the test itself: the one that started the ranks
    ++many;
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGVTALRM, SIGHUP}) CHECK(blocks(set, signal));
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      CHECK(!blocks(set, signal));
  }
  CHECK(all.size() - static_cast<size_t>(many) <= others + 1);
  CHECK(many >= 5);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  CHECK(sigismember(&after, SIGALRM) == sigismember(&mine, SIGALRM));
  CHECK(sigismember(&after, SIGTERM) == sigismember(&mine, SIGTERM));
}
