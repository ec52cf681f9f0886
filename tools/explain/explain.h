// `tandem explain`: shows by how much a script on one device and its parallel form differ, and why. It turns off one
// cause after the other until the two agree to the last bit.
#pragma once
#include "tandem/tools/explain/train.h"

namespace tandem::tools::explain {

struct Settings {
  // Of both scripts:
  std::string model = "fashion_cnn", optimizer = "sgd", data;  // data: FashionMNIST's folder; empty: random images
  int64_t batch = 16, examples = 0;                            // examples: 0: twice the largest batch
  int epochs = 2;
  double lr = 0.001;
  uint64_t seed = 1;
  bool no_dropout = false, frozen_norm = false;
  // Of the parallel script only:
  std::vector<std::string> modes = {"dp", "ddp"};
  std::string backend = "local", sampler = "shard", tail = "pad", loss = "mean";
  int ranks = 2, accumulate = 1;
  int64_t global_batch =
      0;  // 0: as in a script that was only wrapped: `batch` per rank of DDP, or in total under DataParallel
  int64_t steps = 0;                     // 0: the steps of `epochs` epochs
  std::optional<uint64_t> sampler_seed;  // nullopt: `seed`
  double lr_scale = 1;
  bool no_set_epoch = false, uneven = false, divide_loss = false, mean_in_replicas = false, rank_seeds = false;
  std::string json;
};

/// One possible reason why the two scripts' results differ.
struct Cause {
  std::string name;        // "learning rate"
  bool of_mode = false;    // inherent in the parallel mode, not chosen by the script
  bool present = false;    // this cause alone changes the result
  std::string yours = {};  // "0.02, not 0.01"; empty if the two scripts do the same
  Comparison alone = {};   // a run with only this cause on, compared with all causes off
  double left = 0;         // largest parameter difference with this cause and all before it off
  std::string remedy;      // a line of code that removes the cause
};
/// The findings about one parallel mode.
struct Explanation {
  std::string mode;  // "DDP over local, 2 ranks"
  Script one_device, yours;
  double loss_on_one_device = 0, your_loss = 0;
  Comparison difference;  // difference between the scripts with all causes on
  std::vector<Cause> causes;
  bool equal = false;       // with all causes off, the results are equal to the last bit
  std::string unexplained;  // if not equal: the first operation that differs
};

/// Explains each of settings.modes. @throws UsageError if the settings are impossible
std::vector<Explanation> explain_all(const Settings& settings);
/// Returns the table of causes and the remedies as text.
std::string text_of(const Settings& settings, const std::vector<Explanation>& all);
std::string json_of(const Settings& settings, const std::vector<Explanation>& all);
/// Explains, prints, and writes the JSON file. @return the exit status: 1 if a difference stays unexplained, else 0
int explain(const Settings& settings);

}  // namespace tandem::tools::explain
