// The demo's ways to train one network: on one device, under DataParallel, and under DistributedDataParallel.
#pragma once
#include "tandem/data/data.h"
#include "tandem/tools/demo/net.h"
#include "tandem/tools/demo/settings.h"

namespace tandem::tools {

inline constexpr int kClassCount = 10;
/// Names of FashionMNIST's classes, by class index.
extern const char* const kClasses[kClassCount];

/// Data of a run that only `tandem demo --report` shows.
struct History {
  struct Point {
    int64_t step;
    double value;
  };
  /// A test image that the trained network classifies wrongly.
  struct Mistake {
    int64_t image;  // index in the test set
    int truth, predicted;
    double probability;  // probability that the network gives to `predicted`
  };
  std::vector<Point> losses;       // loss of each batch, or of rank 0's part of it
  std::vector<Point> accuracies;   // accuracy on the first kLookedAt test images, or on all if there are fewer
  std::vector<int64_t> confusion;  // number of test images at [truth * kClassCount + predicted]
  std::vector<Mistake> mistakes;   // at most kMistakes mistakes, by falling probability
  int64_t steps = 0;               // steps of all epochs together
  static constexpr int64_t kLookedAt = 2000, kLooks = 12, kMistakes = 24;
};

/// Results of training under one mode.
struct DemoRun {
  std::string mode;
  double seconds = 0, samples_per_second = 0, test_accuracy = 0, final_loss = 0;
  std::vector<double> peak_mib_per_device;
  double mib_moved_per_step = 0;                   // MiB moved between devices or ranks, summed over all of them
  std::optional<double> max_parameter_difference;  // see largest_difference() in agreement.h
  std::string not_saved;                           // error of --save; "" if it succeeded or was not given
  History history;                                 // empty unless settings.history
};

using FashionMNIST = data::datasets::FashionMNIST;
struct DemoData {
  explicit DemoData(const std::string& folder)
      : train(folder, FashionMNIST::Mode::kTrain), test(folder, FashionMNIST::Mode::kTest) {}
  FashionMNIST train, test;
};

/// A network under one training mode, with the mode's functions for a batch; made by make_way.
struct Way {
  Net net;
  /// Computes the batch's mean loss and its gradients; returns the loss. Under DDP each rank passes its part of the
  /// batch.
  std::function<Tensor(const Tensor& images, const Tensor& labels)> backward;
  /// Returns the network's outputs. Call set_training(false) first.
  std::function<Tensor(const Tensor& images)> predict;
  std::function<void(bool)> set_training;
  std::vector<Device> devices;  // devices of this process or, under ddp_local, of this thread
  int rank = 0, ranks = 1;
};
/// Trains under one mode in this process: single, dp, or one rank of ddp_*, whose process group must be initialised.
/// The result is complete on rank 0 only.
DemoRun train(const DemoSettings& settings, const DemoData& data, const std::string& mode);
/// Makes the Way that trains `net` under `mode`: single, dp or ddp_*. For ddp_* the process group must be initialised.
Way make_way(const std::string& mode, const Net& net, const DemoSettings& settings);
/// Returns the device on which this process or rank keeps its network.
Device home(const std::string& mode, const DemoSettings& settings);

}  // namespace tandem::tools
