// `tandem explain`: by how much the results of a script on one device and of its parallel form differ, and why. It
// turns one cause off after the other, until the two agree to the last bit.
#pragma once
#include "tandem/tools/explain/train.h"

namespace tandem::tools::explain {

struct Settings {
  // Both scripts.
  std::string model = "fashion_cnn", optimizer = "sgd", data;  // data: FashionMNIST's folder; empty: made-up images
  int64_t batch = 16, examples = 0;                            // examples: 0: twice the largest batch there is
  int epochs = 2;
  double lr = 0.001;
  uint64_t seed = 1;
  bool no_dropout = false, frozen_norm = false;
  // The parallel one.
  std::vector<std::string> modes = {"dp", "ddp"};
  std::string backend = "local", sampler = "shard", tail = "pad", loss = "mean";
  int ranks = 2, accumulate = 1;
  int64_t global_batch =
      0;              // 0: that of a script that was only wrapped: `batch` for each rank, under DataParallel in all
  int64_t steps = 0;  // 0: as many as `epochs` have
  std::optional<uint64_t> sampler_seed;  // that of the other script unless given
  double lr_scale = 1;
  bool no_set_epoch = false, uneven = false, divide_loss = false, mean_in_replicas = false, rank_seeds = false;
  std::string json;
};

/// One reason why the scripts may part.
struct Cause {
  std::string name;        // "learning rate"
  bool of_mode = false;    // it lies in the mode, not in the script
  bool present = false;    // alone, it makes another result
  std::string yours = {};  // "0.02, not 0.01"; empty where the scripts do the same
  Comparison alone = {};   // what it changes by itself: the run with all causes off, and that with this one on
  double left = 0;         // the largest difference of a parameter when it is off, with all above it
  std::string remedy;      // a line of code
};
/// What is to be said about one mode.
struct Explanation {
  std::string mode;  // "DDP over local, 2 ranks"
  Script one_device, yours;
  double loss_on_one_device = 0, your_loss = 0;
  Comparison difference;  // of the scripts as they are
  std::vector<Cause> causes;
  bool equal = false;       // in the end, to the last bit
  std::string unexplained;  // if not: the first operation that differs
};

/// @throws UsageError for settings that cannot be
std::vector<Explanation> explain_all(const Settings& settings);
/// The table, and what to change.
std::string text_of(const Settings& settings, const std::vector<Explanation>& all);
std::string json_of(const Settings& settings, const std::vector<Explanation>& all);
/// Explains, prints, and writes the JSON file. @return the exit status: 1 where something stays unexplained
int explain(const Settings& settings);

}  // namespace tandem::tools::explain
