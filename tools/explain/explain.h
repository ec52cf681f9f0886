// `tandem explain`: shows by how much the results of a script on one device and of its parallel version differ, and
// why. Removes one cause after the other until the results agree to the last bit.
#pragma once
#include "tandem/tools/explain/train.h"

namespace tandem::tools::explain {

struct Settings {
  // Settings of both scripts, the one on one device and the parallel one:
  std::string model = "fashion_cnn", optimizer = "sgd", data;  // data: FashionMNIST's folder; empty: random images
  /// `examples` is the size of the data set; 0 means twice the largest batch.
  int64_t batch = 16, examples = 0;
  int epochs = 2;
  double lr = 0.001;
  uint64_t seed = 1;
  bool no_dropout = false, frozen_norm = false;
  // Settings of the parallel script only:
  std::vector<std::string> modes = {"dp", "ddp"};
  std::string backend = "local", sampler = "shard", tail = "pad", loss = "mean";
  int ranks = 2, accumulate = 1;
  /// Examples per step over all ranks. 0 means the batch of a script whose network was wrapped and nothing else
  /// changed: `batch` on each rank under DDP, `batch` in total under DataParallel.
  int64_t global_batch = 0;
  int64_t steps = 0;                     // number of steps; 0: as many as `epochs` epochs have
  std::optional<uint64_t> sampler_seed;  // nullopt: `seed`
  double lr_scale = 1;
  bool no_set_epoch = false, uneven = false, divide_loss = false, mean_in_replicas = false, rank_seeds = false;
  std::string json;
};

/// One possible reason why the results of the two scripts differ.
struct Cause {
  std::string name;          // name shown to the user, such as "learning rate"
  bool is_inherent = false;  // whether the cause is inherent in the parallel mode, so that the script cannot avoid it
  bool is_present = false;   // whether this cause alone changes the result
  /// How the scripts differ, such as "0.02, not 0.01". Empty if they do not differ in this respect.
  std::string yours = {};
  Comparison isolated_difference = {};  // compares a run with only this cause to a run without any cause
  /// Largest difference between the final parameters of both scripts, after this cause and all causes before it are
  /// removed.
  double remaining_difference = 0;
  std::string remedy;  // line of code that removes the cause
};
/// Results of `tandem explain` for one parallel mode.
struct Explanation {
  std::string mode;  // such as "DDP over local, 2 ranks"
  Script one_device, yours;
  double loss_on_one_device = 0, your_loss = 0;
  Comparison difference;  // difference between the two scripts as the user gave them
  std::vector<Cause> causes;
  bool equal = false;          // whether the results are equal to the last bit once all causes are removed
  std::string unexplained_op;  // first operation whose result differs, if `equal` is false
};

/// Compares the scripts under each parallel mode in settings.modes (dp, ddp), and explains the differences. @throws
/// UsageError if a script with these settings cannot run
std::vector<Explanation> explain_all(const Settings& settings);
/// Format the table of causes of the difference and their remedies, as text and as JSON.
std::string format_text(const Settings& settings, const std::vector<Explanation>& all);
std::string format_json(const Settings& settings, const std::vector<Explanation>& all);
/// Explains the differences, prints the table, and writes the JSON file.
/// @return the exit status: 1 if a difference remains unexplained, else 0
int explain(const Settings& settings);

}  // namespace tandem::tools::explain
