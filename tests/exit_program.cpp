// exit_program WHEN [CALL]: calls the library while the process, or one of its threads, is ending. WHEN:
//   unused        in the destructor of a static object constructed before the library is first used; this is the first
// use
//   first         in the same destructor, after the same call in main
//   last          in the destructor of a static object constructed after the library's first use
//   thread_local  in the destructors of the thread_local objects of a thread and of main
//   computing     in two threads, while main calls exit()
//   elsewhere     in two threads, while a third thread calls exit()
//   joined        in a thread that the destructor of a static object stops and joins
// Without CALL, all calls of the table run one after another. The exit status is 0. `exit_program list` prints the
// table.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tandem/kernels/lapack.h"
#include "tandem/models/models.h"
#include "tandem/tandem.h"

using namespace tandem;
namespace {

struct Numbers : data::datasets::Dataset<Numbers> {
  data::Example<> get(size_t i) override { return {full({4}, static_cast<double>(i)), tensor(int64_t(i))}; }
  std::optional<size_t> size() const override { return 8; }
};
std::string own_file() {  // one file per thread
  std::ostringstream name;
  name << "tandem_exit_" << ::getpid() << "_" << std::this_thread::get_id();
  return (std::filesystem::temp_directory_path() / name.str()).string();
}
/// Returns a new size at each call (up to 40 sizes, then repeated), so that a backend library sets up its kernels anew.
int64_t new_size(int64_t least) {
  static std::atomic<int64_t> calls{0};
  return least + calls++ % 40;
}
void step(const Tensor& loss, optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

struct Call {
  const char* name;
  void (*run)();
};
constexpr std::array kCalls{
    Call{"rand", [] { rand({100000}); }},
    Call{"manual_seed", [] { manual_seed(3); }},
    Call{"dropout", [] { dropout(ones({100000}), 0.5, true); }},
    Call{"backward", [] { ones({50000}).requires_grad_().exp().sum().backward(); }},
    Call{"two devices' backward",
         [] {
           const Tensor a = ones({50}).requires_grad_(), b = ones({50}, Device("cpu:1")).requires_grad_();
           (a.sum() + (b * 2).to("cpu:0").sum()).backward();
         }},
    Call{"mm",
         [] {
           ones({64, 64}).mm(ones({64, 64})), ones({300, 300}).mm(ones({300, 300}));
         }},
    Call{"mm of doubles",
         [] {
           ones({200, 200}, kFloat64).mm(ones({200, 200}, kFloat64));
         }},
    Call{"mm of bfloat16",
         [] {
           const int64_t n = new_size(200);
           ones({n, 200}, kBFloat16).mm(ones({200, n}, kBFloat16));
         }},
    Call{"linear",
         [] {
           nn::Linear(200, 300)(ones({64, 200})).sum().backward();
         }},
    Call{"conv2d",
         [] {
           const int64_t n = new_size(8);
           const Tensor x = ones({8, 16, n, n}).requires_grad_(), w = ones({16, 16, 3, 3}).requires_grad_();
           conv2d(x, w, {}, 1, 1).sum().backward();
         }},
    Call{"conv2d of bfloat16",
         [] {
           const int64_t n = new_size(8);
           const auto gradient = [&](DType dtype) {
             const Tensor x = ones({8, 16, n, n}, dtype).contiguous(kChannelsLast).requires_grad_();
             const Tensor w = ones({16, 16, 3, 3}, dtype).requires_grad_();
             conv2d(x, w, {}, 1, 1).sum().backward();
             return w.grad().to(kBFloat16);
           };
           // The gradients are sums of ones: exact in float32, then rounded once to bfloat16.
           if (!gradient(kBFloat16).equal(gradient(kFloat32))) throw std::runtime_error("another gradient");
         }},
    Call{"linalg",
         [] {
           if (!kernels::cpu::has_lapack()) return;
           const Tensor a = eye(60) * 3 + ones({60, 60});
           linalg_svd(a), linalg_inv(a), linalg_eigh(a);
         }},
    Call{"sort", [] { rand({20000}).sort(); }},
    Call{"loader without workers",
         [] {
           auto loader = data::make_data_loader(Numbers().map(data::transforms::Stack<>()), 4);
           for (auto& batch : *loader) batch.data.sum();
         }},
    Call{"loader of two workers",
         [] {
           auto loader = data::make_data_loader(Numbers().map(data::transforms::Stack<>()),
                                                data::DataLoaderOptions(4).workers(2));
           for (auto& batch : *loader) batch.data.sum();
         }},
    Call{"save and load",
         [] {
           const std::string path = own_file();
           Tensor x;
           save(ones({1000}), path), load(x, path);
           std::filesystem::remove(path);
         }},
    Call{"optimizer",
         [] {
           models::Mlp net;
           optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-3));
           step(net(rand({16, 784})).square().mean(), optimizer);
         }},
    Call{"graph",
         [] {
           const Tensor x = ones({1000});
           Tensor y;
           Graph graph;
           graph.capture([&] { y = (x * 2 + 1).exp().sum(); });
           graph.replay();
         }},
    Call{"data_parallel",
         [] {
           models::Mlp net;
           nn::DataParallel parallel(net, {"cpu:0", "cpu:1"});
           optim::SGD optimizer(net->parameters(), 0.1);
           step(parallel.forward(rand({16, 784})).square().mean(), optimizer);
         }},
    Call{"ranks",
         [] {
           distributed::run_ranks(2, [](int) {
             distributed::init_process_group("local");
             Tensor x = ones({100});
             distributed::all_reduce(x)->wait();
           });
         }},
    Call{"printing",
         [] {
           std::ostringstream out;
           out << rand({3, 3}) << models::Lenet();
         }},
    Call{"trace",
         [] {
           start_trace();
           rand({100}).exp();
           take_trace();
         }},
    Call{"threads", [] { set_num_threads(3), ones({100000}).exp(), set_num_threads(2), ones({100000}).exp(); }},
};

}  // namespace
/// Options for ThreadSanitizer: nobody joins a thread that still computes while the process exits.
extern "C" const char* __tsan_default_options() { return "report_thread_leaks=0"; }
namespace {
std::string& wanted = *new std::string;  // never destroyed: threads and destructors read it
void run_calls() {
  for (const Call& call : kCalls) {
    if (!wanted.empty() && wanted != call.name) continue;
    std::fprintf(stderr, "%s\n", call.name);
    call.run();
  }
}
struct AtEnd {
  bool armed = false;
  ~AtEnd() {
    if (armed) run_calls();
  }
};
AtEnd first;
thread_local AtEnd of_thread;

}  // namespace

int main(int argc, char** argv) {
  const std::string when = argc > 1 ? argv[1] : "";
  if (argc > 2) wanted = argv[2];
  if (when == "list") {
    for (const Call& call : kCalls) std::puts(call.name);
  } else if (when == "unused") {
    first.armed = true;
  } else if (when == "first") {
    run_calls();
    first.armed = true;
  } else if (when == "last") {
    run_calls();
    static AtEnd last;
    last.armed = true;
  } else if (when == "thread_local") {
    std::thread([] {
      of_thread.armed = true;
      run_calls();
    }).join();
    of_thread.armed = true;
    run_calls();
  } else if (when == "joined") {
    static struct {
      std::atomic<bool> stops{false};
      std::thread thread;
    } computing;
    static struct Stop {
      ~Stop() { computing.stops = true, computing.thread.join(); }
    } stop;
    computing.thread = std::thread([] {
      while (!computing.stops) run_calls();
    });
  } else if (when == "computing" || when == "elsewhere") {
    run_calls();  // the first calls create the libraries' state; core/threads/delay_exit_guard.cpp explains why
    for (int i = 0; i < 2; ++i)
      std::thread([] {
        for (;;) run_calls();
      }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + ::getpid() % (wanted.empty() ? 300 : 20)));
    if (when == "elsewhere") std::thread([] { std::exit(0); }).join();
    std::exit(0);
  } else {
    std::fprintf(stderr, "exit_program: see its first lines\n");
    return 2;
  }
}
