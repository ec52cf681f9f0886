// Saves the checkpoints of a fit(), and restores them.
#include <filesystem>
#include <limits>

#include "tandem/core/internal.h"
#include "tandem/serialize/archive.h"
#include "tandem/train/fit_state.h"

namespace tandem::train {
namespace {

namespace fs = std::filesystem;
using serialize::InputArchive;
using serialize::OutputArchive;

int64_t read_int(const InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  return value.toInt();
}
/// Writes each element of a list as an archive of its own.
template <class List, class F> void write_list(OutputArchive& archive, const std::string& key, List& list, const F& f) {
  OutputArchive all;
  size_t i = 0;
  for (auto& each : list) {
    OutputArchive one;
    f(each, one);
    all.write(std::to_string(i++), one);
  }
  archive.write(key, all);
}
template <class List, class F> void read_list(InputArchive& archive, const std::string& key, List& list, const F& f) {
  InputArchive all;
  archive.read(key, all);
  TANDEM_CHECK(all.keys().size() == list.size(), "Trainer: the checkpoint holds ", all.keys().size(), " ", key,
               ", but this program has ", list.size(), "; accepted: the same in both");
  size_t i = 0;
  for (auto& each : list) {
    InputArchive one;
    all.read(std::to_string(i++), one);
    f(each, one);
  }
}

}  // namespace

void detail::SharedPart::save(OutputArchive& archive) {
  archive.write("epoch", IValue(state.epoch));
  archive.write("batches_done", IValue(state.batches_done));
  archive.write("global_step", IValue(state.global_step));
  archive.write("num_validations", IValue(state.num_validations));
  IValue metrics = IValue::dict();
  for (const auto& [name, value] : state.metrics) metrics.insert(name, IValue(value));
  archive.write("metrics", metrics);
  write_list(archive, "schedules", state.optimizers->schedules(), [](const Schedule& each, OutputArchive& to) {
    each.scheduler ? each.scheduler->save(to) : each.plateau->save(to);
  });
  const std::vector<std::shared_ptr<Callback>> callbacks = state.saved_callbacks();
  write_list(archive, "callbacks", callbacks,
             [](const std::shared_ptr<Callback>& each, OutputArchive& to) { each->save(to); });
}
void detail::SharedPart::load(InputArchive& archive) {
  state.epoch = read_int(archive, "epoch");
  state.batches_done = read_int(archive, "batches_done");
  state.global_step = read_int(archive, "global_step");
  state.num_validations = read_int(archive, "num_validations");
  IValue metrics;
  archive.read("metrics", metrics);
  state.metrics.clear();
  for (const IValue::Entry& each : metrics.entries()) state.metrics[each.key().toStringRef()] = each.value().toDouble();
  read_list(archive, "schedules", state.optimizers->schedules(), [](const Schedule& each, InputArchive& from) {
    each.scheduler ? each.scheduler->load(from) : each.plateau->load(from);
  });
  const std::vector<std::shared_ptr<Callback>> callbacks = state.saved_callbacks();
  read_list(archive, "callbacks", callbacks,
            [](const std::shared_ptr<Callback>& each, InputArchive& from) { each->load(from); });
}

void detail::RankPart::save(OutputArchive& archive) {
  OutputArchive loader, means;
  state.training->save(loader);
  state.epoch_means.save(means);
  archive.write("loader", loader);
  archive.write("means", means);
  archive.write("rank", IValue(int64_t{state.strategy->rank()}));
}
void detail::RankPart::load(InputArchive& archive) {
  InputArchive loader, means;
  archive.read("loader", loader);
  archive.read("means", means);
  state.training->load(loader);
  state.epoch_means.load(means);
  // A rank that the saved job did not have gets the state of rank 0, whose means must count once.
  if (read_int(archive, "rank") != state.strategy->rank()) state.epoch_means.clear();
}

CheckpointManager& detail::FitState::checkpoints_in(const std::string& folder) {
  std::unique_ptr<CheckpointManager>& manager = checkpoints[folder];
  if (manager) return *manager;
  CheckpointOptions keep_all;  // callbacks decide which files to delete
  keep_all.keep = std::numeric_limits<int64_t>::max();
  manager = std::make_unique<CheckpointManager>(folder, keep_all);
  manager->add("model", *strategy->module().module);
  manager->add("optimizer", *optimizers->optimizer());
  if (scaler) manager->add("scaler", *scaler);
  manager->add("trainer", shared_part);
  manager->add("rank", rank_part);
  return *manager;
}

void Fit::request_checkpoint(const std::string& folder) { state_->requested_checkpoints.insert(folder); }

std::string Fit::checkpoint_path(const std::string& folder, int64_t step) {
  return folder + "/step_" + std::to_string(step) + ".pt";
}

void Fit::save_if_requested() {
  detail::FitState& s = *state_;
  if (s.requested_checkpoints.empty()) return;
  for (const std::string& folder : s.requested_checkpoints) s.checkpoints_in(folder).save(s.global_step);
  s.requested_checkpoints.clear();
  s.call("on_checkpoint_saved", &Callback::on_checkpoint_saved, *this);
}

/// Restores the checkpoint that the options name.
void Fit::restore() {
  detail::FitState& s = *state_;
  const std::string& asked = s.options.ckpt_path();
  const bool may_be_missing = asked == "last";
  const std::string path = may_be_missing ? s.options.default_root_dir() + "/checkpoints" : asked;
  // Rank 0 reads the file, so only its file system counts.
  const bool exists = s.strategy->sum_over_ranks(rank() == 0 && fs::exists(path) ? 1 : 0) > 0;
  TANDEM_CHECK(exists || may_be_missing, "Trainer: ckpt_path is ", path,
               ", which does not exist; accepted: a checkpoint file, a folder of checkpoints, or \"last\"");
  if (!exists) return;
  const bool is_folder = s.strategy->sum_over_ranks(rank() == 0 && fs::is_directory(path) ? 1 : 0) > 0;
  const std::string folder = is_folder ? path : fs::path(path).parent_path().string();
  CheckpointManager& manager = s.checkpoints_in(folder.empty() ? "." : folder);
  if (is_folder) {
    const std::optional<int64_t> step = manager.restore();
    TANDEM_CHECK(step || may_be_missing, "Trainer: ckpt_path is ", path,
                 ", a folder without checkpoints; accepted: a checkpoint file, or a folder of checkpoints");
    return;
  }
  const std::string name = fs::path(path).filename();
  int64_t step = -1;
  TANDEM_CHECK(std::sscanf(name.c_str(), "step_%ld.pt", &step) == 1 && step >= 0, "Trainer: ckpt_path is ", path,
               "; accepted: a file that the Trainer saved, whose name is step_NUMBER.pt");
  manager.restore_step(step);
}

}  // namespace tandem::train
