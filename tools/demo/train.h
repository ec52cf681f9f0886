// The demo's ways to train one network: on one device, under DataParallel, and under DistributedDataParallel.
#pragma once
#include "tandem/data/data.h"
#include "tandem/tools/demo/net.h"
#include "tandem/tools/demo/settings.h"

namespace tandem::tools {

inline constexpr int kClassCount = 10;
/// FashionMNIST's classes, by their numbers.
extern const char* const kClasses[kClassCount];

/// The part of a run that only `tandem demo --report` shows.
struct History {
  struct Point {
    int64_t step;
    double value;
  };
  /// A test image that the trained network takes for something else.
  struct Mistake {
    int64_t image;  // its number
    int truth, predicted;
    double probability;  // of what it is taken for, by the network
  };
  std::vector<Point> losses;       // of the batch, or of rank 0's part of it
  std::vector<Point> accuracies;   // on the first test images: kLookedAt, or as many as there are
  std::vector<int64_t> confusion;  // [truth * kClassCount + predicted]: how many test images
  std::vector<Mistake> mistakes;   // the surest first
  int64_t steps = 0;               // in all
  static constexpr int64_t kLookedAt = 2000, kLooks = 12, kMistakes = 24;
};

/// What came of one way.
struct DemoRun {
  std::string mode;
  double seconds = 0, samples_per_second = 0, test_accuracy = 0, final_loss = 0;
  std::vector<double> peak_mib_per_device;
  double mib_moved_per_step = 0;                   // between devices or ranks, all together
  std::optional<double> max_parameter_difference;  // from the mode's reference (agreement.h)
  std::string not_saved;                           // why --save could not be followed; "": it was, or was not given
  History history;                                 // empty unless settings.history
};

using FashionMNIST = data::datasets::FashionMNIST;
struct DemoData {
  explicit DemoData(const std::string& folder)
      : train(folder, FashionMNIST::Mode::kTrain), test(folder, FashionMNIST::Mode::kTest) {}
  FashionMNIST train, test;
};

/// What a way does with a batch; made by make_way.
struct Way {
  Net net;
  /// Sets the gradients of the batch's mean loss, and returns that loss. Of DDP's ranks each has its part of the batch.
  std::function<Tensor(const Tensor& images, const Tensor& labels)> backward;
  /// The network's outputs, in evaluation mode.
  std::function<Tensor(const Tensor& images)> predict;
  std::function<void(bool)> set_training;
  std::vector<Device> devices;  // that this process or thread computes on
  int rank = 0, ranks = 1;
};
/// Trains by one way, all of it in this process: single, dp, or one rank of ddp_*, whose process group
/// there is by now. On rank 0 the result counts.
DemoRun train(const DemoSettings& settings, const DemoData& data, const std::string& mode);
/// Of single, dp, and, in an initialised group, ddp_*: a way to train a network that exists.
Way make_way(const std::string& mode, const Net& net, const DemoSettings& settings);
/// Where the network of this process or rank belongs.
Device home(const std::string& mode, const DemoSettings& settings);

}  // namespace tandem::tools
