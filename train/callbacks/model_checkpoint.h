// ModelCheckpoint: saves checkpoints during a fit(), and keeps the last and the best.
#pragma once
#include <optional>

#include "tandem/core/option.h"
#include "tandem/train/callback.h"

namespace tandem::train {

struct ModelCheckpointOptions {
  /// Folder; by default the folder "checkpoints" in the Trainer's default_root_dir.
  TANDEM_ARG(std::string, dirpath) = "";
  /// Steps of the optimizer from one checkpoint to the next; 0: checkpoints follow epochs.
  TANDEM_ARG(int64_t, every_n_train_steps) = 0;
  /// Epochs from one checkpoint to the next, if checkpoints follow epochs.
  TANDEM_ARG(int64_t, every_n_epochs) = 1;
  /// Metric by which checkpoints are compared, such as "val_loss"; "": only the latest are kept. A checkpoint's value
  /// is the latest one when it is saved; NaN, the worst, if a step is saved before the metric has a value.
  TANDEM_ARG(std::string, monitor) = "";
  /// "min" or "max": which values of the metric are better.
  TANDEM_ARG(std::string, mode) = "min";
  /// Number of checkpoints to keep: the best by the metric or, without one, the latest; -1: all.
  TANDEM_ARG(int64_t, save_top_k) = 1;
  /// If true, the latest checkpoint is kept too, so that training can continue from it.
  TANDEM_ARG(bool, save_last) = true;
};

/// Saves the whole state of the training, which ckpt_path continues, under the names of CheckpointManager:
/// FOLDER/step_100.pt. All ranks decide alike, because metrics are the same on all ranks.
class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(ModelCheckpointOptions options = {});
  /// Path of the best checkpoint (without a metric, the latest); "" before the first.
  std::string best_model_path() const;
  /// Path of the latest checkpoint; "" before the first.
  std::string last_model_path() const;
  /// Value of the metric at the best checkpoint; nullopt before the first, and without a metric.
  std::optional<double> best_model_score() const;

  void on_train_start(Fit& fit) override;
  void on_train_batch_end(Fit& fit, int64_t batch_index) override;
  void on_validation_end(Fit& fit) override;
  void on_train_epoch_end(Fit& fit) override;
  void on_checkpoint_saved(Fit& fit) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  struct Saved {
    int64_t step;
    double score;
  };
  void request(Fit& fit, bool metric_may_be_missing = false);
  ModelCheckpointOptions options_;
  std::string folder_;
  std::vector<Saved> kept_;     // best first; without a metric, latest first
  std::vector<int64_t> files_;  // steps of all files that this object has saved and not deleted
  int64_t last_ = -1, requested_ = -1;
};

}  // namespace tandem::train
