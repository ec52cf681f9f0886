// Prints the demo's progress and table, and writes and reads its runs as JSON.
#include "tandem/tools/demo/show.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/tandem.h"
#include "tandem/tools/atomic_file.h"

namespace tandem::tools {
const char* const kClassNames[kNumClasses] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                              "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};

void print_images(const Net& net, const FashionMNIST& test) {
  constexpr int64_t kCount = 4;
  const int64_t count = std::min<int64_t>(kCount, test.targets().size(0));
  const NoGradGuard guard;
  net->eval();
  const Tensor images = test.images().narrow(0, 0, count);
  const Tensor predicted = net(images.to(net->parameters()[0].device())).argmax(1).to(kCPU);
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
    std::printf(
        "%-31s",
        (std::string(kClassNames[p]) + (p == t ? " (right)" : std::string(" (is: ") + kClassNames[t] + ")")).c_str());
  }
  std::printf("\n");
  net->train();
}

void Progress::show(int64_t done, double loss) {
  const double part = static_cast<double>(done) / static_cast<double>(samples_),
               spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
  const double rate = static_cast<double>(done) / spent, left = spent / part - spent;
  if (isatty(STDOUT_FILENO)) {
    std::string bar(30, '.');
    std::fill_n(bar.begin(), static_cast<int>(30 * part), '#');
    std::printf("\repoch %d [%s] %6.0f samples/s  %4.0f s left  loss %.4f ", epoch_, bar.c_str(), rate, left, loss);
    if (done == samples_) std::printf("\n");
    std::fflush(stdout);
  } else if (static_cast<int>(10 * part) > last_printed_tenth_) {
    last_printed_tenth_ = static_cast<int>(10 * part);
    std::printf("epoch %d  %3d %%  %6.0f samples/s  %4.0f s left  loss %.4f\n", epoch_, last_printed_tenth_ * 10, rate,
                left, loss);
    std::fflush(stdout);
  }
}

void print_table(const std::vector<DemoRun>& runs) {
  std::printf(
      "\nmode        seconds   samples/s   test accuracy   peak MiB           MiB moved   largest difference\n");
  std::printf("                                                  of each device     per step    from reference\n");
  for (const DemoRun& run : runs) {
    std::string peaks;
    for (const double mib : run.peak_mib_per_device) {
      char text[32];
      std::snprintf(text, sizeof text, "%s%.1f", peaks.empty() ? "" : " ", mib);
      peaks += text;
    }
    std::printf("%-9s %9.1f   %9.0f   %11.2f %%   %-16s   %9.2f   ", run.mode.c_str(), run.seconds,
                run.samples_per_second, 100 * run.test_accuracy, peaks.c_str(), run.mib_moved_per_step);
    if (run.max_parameter_difference)
      std::printf("%g\n", *run.max_parameter_difference);
    else
      std::printf("-\n");
  }
}

// Convert a rank's results to and from JSON. JSON has no NaN, so NaN is written as null.
void to_json(nlohmann::json& json, const History::Point& point) { json = {point.step, point.value}; }
void from_json(const nlohmann::json& json, History::Point& point) {
  point = {json.at(0), json.at(1).is_null() ? NAN : json.at(1).get<double>()};
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(History::Mistake, image, truth, predicted, probability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(History, losses, accuracies, confusion, mistakes, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DemoRun, mode, seconds, samples_per_second, test_accuracy, final_loss,
                                   peak_mib_per_device, mib_moved_per_step, not_saved, history)

namespace {
nlohmann::json as_json(const DemoRun& run) {
  nlohmann::json json = run;
  if (run.max_parameter_difference) json["max_parameter_difference"] = *run.max_parameter_difference;
  return json;
}
void write_json_file(const std::string& path, const nlohmann::json& json) {
  write_file_atomically("demo", path, json.dump(2) + "\n");
}
}  // namespace

void write_json(const std::string& path, const DemoSettings& s, const std::vector<DemoRun>& runs) {
  nlohmann::json list = nlohmann::json::array();
  double largest = 0;
  for (const DemoRun& run : runs) {
    list.push_back(as_json(run));
    for (const char* of_the_rank : {"history", "not_saved"}) list.back().erase(of_the_rank);
    largest = std::max(largest, run.max_parameter_difference.value_or(0));
  }
  write_json_file(path, {{"runs", list},
                         {"max_parameter_difference", largest},
                         {"settings",
                          {{"model", s.model},
                           {"epochs", s.epochs},
                           {"batch_size", s.batch_size},
                           {"seed", s.seed},
                           {"devices", s.devices},
                           {"ranks", s.ranks},
                           {"device", s.device},
                           {"threads", get_num_threads()},
                           {"data", s.data}}}});
}
void write_run(const std::string& path, const DemoRun& run) { write_json_file(path, as_json(run)); }
DemoRun read_run(const std::string& path) {
  std::ifstream in(path);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  TANDEM_CHECK(json.is_object(), "demo: rank 0 wrote no result to ", path, "; its own messages may say why");
  auto run = json.get<DemoRun>();
  if (json.contains("max_parameter_difference")) run.max_parameter_difference = json.at("max_parameter_difference");
  return run;
}

}  // namespace tandem::tools
