// Declares train(), which trains the demo's network on one device, under DataParallel, or under
// DistributedDataParallel.
#pragma once
#include "tandem/data/data.h"
#include "tandem/tools/demo/net.h"
#include "tandem/tools/demo/settings.h"
#include "tandem/train/trainer_options.h"

namespace tandem::tools {

/// Names of FashionMNIST's classes; the index is the label.
extern const char* const kClassNames[kNumClasses];

/// Data recorded during a run that only `tandem demo --report` shows.
struct History {
  struct Point {
    int64_t step;
    double value;
  };
  /// A test image that the trained network classified wrongly.
  struct Mistake {
    int64_t image;  // index of the image in the test set
    int truth, predicted;
    double probability;  // the network's probability for class `predicted`
  };
  /// Loss of each batch or, on a GPU, of every 20th batch and the last batch of an epoch. Under DDP, loss of rank 0's
  /// part of the batch.
  std::vector<Point> losses;
  /// Accuracy on the first kEvaluationImages test images (on all, if there are fewer), measured about kNumEvaluations
  /// times.
  std::vector<Point> accuracies;
  std::vector<int64_t> confusion;  // confusion matrix: number of images at [truth * kNumClasses + predicted]
  std::vector<Mistake> mistakes;   // at most kMaxMistakes mistakes, highest probability first
  int64_t steps = 0;               // total number of steps, over all epochs
  static constexpr int64_t kEvaluationImages = 2000, kNumEvaluations = 12, kMaxMistakes = 24;
};

/// Results of training under one mode.
struct DemoRun {
  std::string mode;
  double seconds = 0, samples_per_second = 0, test_accuracy = 0, final_loss = 0;
  std::vector<double> peak_mib_per_device;
  double mib_moved_per_step = 0;                   // MiB sent between devices or ranks, summed over all senders
  std::optional<double> max_parameter_difference;  // result of largest_difference() in agreement.h
  std::string not_saved;                           // error message if --save failed, else ""
  History history;                                 // empty unless settings.history is true
};

using FashionMNIST = data::datasets::FashionMNIST;
struct DemoData {
  explicit DemoData(const std::string& folder)
      : train(folder, FashionMNIST::Mode::kTrain), test(folder, FashionMNIST::Mode::kTest) {}
  FashionMNIST train, test;
};

/// Trains under one mode in this process: single, dp, or one rank of ddp_*. For ddp_*, the process group must be
/// initialised. Only the result on rank 0 is complete.
DemoRun train(const DemoSettings& settings, const DemoData& data, const std::string& mode);
/// Returns a new network for training under `mode`, the same for all modes.
Net make_net(const DemoSettings& settings, const std::string& mode);
/// Returns the Trainer's options for `mode`. For ddp_*, the process group must be initialised.
train::TrainerOptions trainer_options(const DemoSettings& settings, const std::string& mode);

}  // namespace tandem::tools
