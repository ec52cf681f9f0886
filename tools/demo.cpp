// `tandem demo`: trains a model on FashionMNIST and shows what came of it.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/data/data.h"
#include "tandem/models/models.h"
#include "tandem/serialize/module.h"
#include "tandem/tandem.h"
#include "tandem/tools/commands.h"

namespace tandem::tools {
namespace {

struct Settings {
  std::string model = "fashion_cnn", data, save, load, json;
  int epochs = 1, threads = 0;
  int64_t batch_size = 128;
  uint64_t seed = 1;
};
struct Model {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor(const Tensor&)> forward;  // (N, 1, 28, 28) -> (N, 10) logits or log probabilities
};
template <class M> Model made_of(M module) {
  return {module.ptr(), [module](const Tensor& x) { return module->forward(x); }};
}
Model make_model(const std::string& name) {
  if (name == "mlp") return made_of(models::Mlp());
  if (name == "lenet") return made_of(models::Lenet());
  return made_of(models::FashionCnn());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A bar that is redrawn on a terminal, a line every tenth of the way otherwise.
class Progress {
 public:
  Progress(int epoch, int64_t samples) : epoch_(epoch), samples_(samples) {}
  void show(int64_t done, double loss) {
    const double part = static_cast<double>(done) / static_cast<double>(samples_), spent = seconds_since(start_);
    const double rate = static_cast<double>(done) / spent, left = spent / part - spent;
    if (isatty(STDOUT_FILENO)) {
      std::string bar(30, '.');
      std::fill_n(bar.begin(), static_cast<int>(30 * part), '#');
      std::printf("\repoch %d [%s] %6.0f samples/s  %4.0f s left  loss %.4f ", epoch_, bar.c_str(), rate, left, loss);
      if (done == samples_) std::printf("\n");
      std::fflush(stdout);
    } else if (static_cast<int>(10 * part) > tenths_) {
      tenths_ = static_cast<int>(10 * part);
      std::printf("epoch %d  %3d %%  %6.0f samples/s  %4.0f s left  loss %.4f\n", epoch_, tenths_ * 10, rate, left,
                  loss);
      std::fflush(stdout);
    }
  }

 private:
  int epoch_, tenths_ = 0;
  int64_t samples_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double accuracy(const Model& model, data::datasets::FashionMNIST& test) {
  const NoGradGuard guard;
  model.module->eval();
  const Tensor images = test.images();
  const Tensor& labels = test.targets();
  int64_t right = 0;
  for (int64_t at = 0; at < labels.size(0); at += 500) {
    const int64_t n = std::min<int64_t>(500, labels.size(0) - at);
    right += (model.forward(images.narrow(0, at, n)).argmax(1) == labels.narrow(0, at, n)).sum().item<int64_t>();
  }
  model.module->train();
  return static_cast<double>(right) / static_cast<double>(labels.size(0));
}

const char* const kClasses[] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};

/// A few test images side by side, two pixel rows to a line of text, with prediction and truth.
void draw(const Model& model, data::datasets::FashionMNIST& test) {
  constexpr int64_t kCount = 4;
  const int64_t count = std::min<int64_t>(kCount, test.targets().size(0));
  const NoGradGuard guard;
  model.module->eval();
  const Tensor images = test.images().narrow(0, 0, count);
  const Tensor predicted = model.forward(images).argmax(1);
  for (int64_t row = 0; row < 28; row += 2) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t column = 0; column < 28; ++column) {
        const float* const pixel = images.data_ptr<float>() + (i * 28 + row) * 28 + column;
        std::putchar(" .:-=+*#%@"[static_cast<int>((pixel[0] + pixel[28]) / 2 * 9.99f)]);
      }
      std::printf("   ");
    }
    std::printf("\n");
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto p = predicted[i].item<int64_t>(), t = test.targets()[i].item<int64_t>();
    std::printf("%-31s",
                (std::string(kClasses[p]) + (p == t ? " (right)" : std::string(" (is: ") + kClasses[t] + ")")).c_str());
  }
  std::printf("\n");
}

void write_json(const std::string& path, const nlohmann::json& json) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::trunc);
  out << json.dump(2) << "\n";
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    TANDEM_FAIL("demo: cannot write ", path, ": ", reason);
  }
}
/// Told before the training rather than after it.
void check_place(const char* option, const std::string& path) {
  if (path.empty()) return;
  TANDEM_CHECK(!std::filesystem::is_directory(path), "demo: ", option, " ", path, " is a folder; accepted: a file");
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  TANDEM_CHECK(::access(folder.c_str(), W_OK) == 0, "demo: ", option, " ", path, " cannot be written: ", folder, ": ",
               std::strerror(errno));
}

void demo(const Settings& s) {
  const std::string folder = find_fashion_mnist(s.data);
  TANDEM_CHECK(!folder.empty(),
               "demo: FashionMNIST was not found; install the package dataset-fashion-mnist, or name a ",
               "folder that holds train-images-idx3-ubyte.gz and its three companions with --data");
  check_place("--save", s.save);
  check_place("--json", s.json);
  if (s.threads > 0) set_num_threads(s.threads);
  manual_seed(s.seed);
  using Mode = data::datasets::FashionMNIST::Mode;
  data::datasets::FashionMNIST train(folder, Mode::kTrain), test(folder, Mode::kTest);
  const Model model = make_model(s.model);
  if (!s.load.empty()) load_module(*model.module, s.load);
  optim::Adam optimizer(model.module->parameters(), optim::AdamOptions(1e-3));
  const auto samples = static_cast<int64_t>(*train.size());
  std::printf("%s on FashionMNIST: %lld images, batch %lld, %d thread(s)\n", s.model.c_str(),
              static_cast<long long>(samples), static_cast<long long>(s.batch_size), get_num_threads());
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(
      train.map(data::transforms::Stack<>()), data::DataLoaderOptions(static_cast<size_t>(s.batch_size)).workers(1));
  reset_peak_memory_stats();
  double spent = 0, loss_value = 0;
  for (int epoch = 1; epoch <= s.epochs; ++epoch) {
    Progress progress(epoch, samples);
    const auto start = std::chrono::steady_clock::now();
    int64_t done = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const Tensor y = model.forward(batch.data);
      const Tensor loss = s.model == "lenet" ? nll_loss(y, batch.target) : cross_entropy(y, batch.target);
      loss.backward();
      optimizer.step();
      done += batch.data.size(0);
      loss_value = loss.item<double>();
      progress.show(done, loss_value);
    }
    spent += seconds_since(start);
  }
  const double right = accuracy(model, test), rate = static_cast<double>(samples * s.epochs) / std::max(spent, 1e-9);
  const double peak = static_cast<double>(memory_stats().peak) / (1 << 20);
  draw(model, test);
  std::printf("\nmode     seconds   samples/s   test accuracy   peak MiB\n");
  std::printf("single   %7.1f   %9.0f   %11.2f %%   %8.1f\n", spent, rate, 100 * right, peak);
  if (!s.save.empty()) save_module(*model.module, s.save);
  if (!s.json.empty())
    write_json(s.json, {{"runs",
                         {{{"mode", "single"},
                           {"seconds", spent},
                           {"samples_per_second", rate},
                           {"test_accuracy", right},
                           {"final_loss", loss_value},
                           {"peak_mib_per_device", {peak}}}}},
                        {"settings",
                         {{"model", s.model},
                          {"epochs", s.epochs},
                          {"batch_size", s.batch_size},
                          {"seed", s.seed},
                          {"threads", get_num_threads()},
                          {"data", folder}}}});
}

}  // namespace

void add_demo(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* const c = app.add_subcommand("demo", "Train a model on FashionMNIST");
  c->add_option("--model", s->model, "mlp, lenet or fashion_cnn")
      ->check(CLI::IsMember({"mlp", "lenet", "fashion_cnn"}));
  c->add_option("--data", s->data, "Folder that holds FashionMNIST's four IDX files, plain or .gz");
  c->add_option("--epochs", s->epochs, "Passes over the training images")->check(CLI::Range(0, 100000));
  c->add_option("--batch-size", s->batch_size, "Images per step")->check(CLI::Range(1, 60000));
  c->add_option("--seed", s->seed, "Of initial values, order and dropout");
  c->add_option("--threads", s->threads, "Threads to compute with; all usable cores unless given")
      ->check(CLI::Range(1, 1024));
  c->add_option("--save", s->save, "Write the trained state as safetensors");
  c->add_option("--load", s->load, "Start from this state");
  c->add_option("--json", s->json, "Write the table and the settings");
  c->callback([s] { demo(*s); });
}

}  // namespace tandem::tools
