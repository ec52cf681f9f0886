// CheckpointManager: saves the whole state of a training run, over all ranks, in one file per step.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/serialize/archive.h"

namespace tandem {
namespace detail {
class FolderLock;
}  // namespace detail

struct CheckpointOptions {
  /// Number of checkpoints to keep. Older ones are deleted.
  int64_t keep = 3;
  /// Ranks that save and restore together: the default group, or this process alone if there is no default group.
  distributed::ProcessGroupPtr group = nullptr;
};

/// Saves model, optimizer, schedule, loader and random numbers as one file between two steps. A training that is
/// started again restores all of it and goes on; with the same number of ranks its results are equal bit for bit:
///
///     CheckpointManager checkpoints("checkpoints");
///     int64_t epoch = 0;
///     checkpoints.add("model", net);
///     checkpoints.add("optimizer", optimizer);
///     checkpoints.add("loader", *loader);
///     checkpoints.add("epoch", epoch);
///     int64_t step = checkpoints.restore().value_or(0);
///     for (; epoch < epochs; ++epoch)
///       for (auto& batch : *loader) {  // after a restore, the first epoch has only the batches that were left
///         ...
///         if (++step % 100 == 0) checkpoints.save(step);
///       }
///
/// Rank 0 writes FOLDER/step_100.pt under a temporary name, syncs it and renames it: if the program is killed
/// meanwhile, the last checkpoint is still complete. From the first save on, only this job may save into the folder;
/// other jobs may read it. Python's torch.load(weights_only=True) reads the file. In a restore rank 0 reads the file
/// and sends it to the other ranks, so all ranks go on from the same step, even if the folders on their machines
/// differ.
///
/// State that is equal on all ranks, such as the model and the optimizer, is saved from rank 0. Samplers, loaders and
/// default generators (seeded by `manual_seed`; dropout under DataParallel and DDP uses them too) are saved for each
/// rank. A training can go on with another number of ranks if its loader's sampler is a ShardSampler, or if no
/// epoch is under way. Each batch over all ranks then has the same examples, and results differ only by the order of
/// sums. Random numbers of additional ranks come from streams of their own.
class CheckpointManager {
 public:
  /// On rank 0, creates the folder if it does not exist, and removes temporary files left by an interrupted save,
  /// unless another job saves into this folder. @throws Error if options.keep is below 1, or if the folder cannot be
  /// made
  explicit CheckpointManager(std::string folder, CheckpointOptions options = {});

  /// Adds a part: an object to save and restore under `name`. It can be anything with save(OutputArchive&) and
  /// load(InputArchive&), such as modules, module handles, optimizers, schedules, samplers and loaders; or a number; or
  /// a generator. The part must outlive this CheckpointManager. Parts are restored in the order in which they were
  /// added: add a schedule after its optimizer.
  /// @throws Error if a part of this name was added before, and for the name "random", under which the default
  /// generators are saved
  template <class T> void add(const std::string& name, T& part) {
    // true for samplers and loaders, whose state differs by rank
    constexpr bool kPerRank = requires { typename T::BatchRequestType; };
    if constexpr (requires(serialize::OutputArchive & a) { part.save(a); })
      add_part({name, kPerRank, [&part](serialize::OutputArchive& a) { part.save(a); },
                [&part](serialize::InputArchive& a) { part.load(a); }});
    else  // part is a module handle or a pointer
      add_part({name, kPerRank, [&part](serialize::OutputArchive& a) { part->save(a); },
                [&part](serialize::InputArchive& a) { part->load(a); }});
  }
  void add(const std::string& name, int64_t& number);
  void add(const std::string& name, double& number);
  /// Adds a generator that the program created. Its state is saved for each rank.
  void add(const std::string& name, Generator& generator);

  /// Saves everything as the checkpoint of `step`, and deletes the oldest files until `keep` are left. All ranks must
  /// call this.
  /// @throws Error on all ranks if the file cannot be written, if the folder has a checkpoint of a later step (another
  /// training has gone further), or if another job saves into this folder, naming the job's process
  void save(int64_t step);
  /// Restores the latest checkpoint and returns its step; nullopt if there is no checkpoint. All ranks must call this.
  /// @param or_before  if true and the latest file is damaged or comes from another program, restores the checkpoint
  ///                   before it, if there is one, and warns on standard error. The damaged file is renamed to end in
  ///                   ".damaged"
  /// @throws Error on all ranks, naming the file and its fault. The parts then keep their state, except if a part
  /// rejects its value in the file: the parts added before it are already restored
  std::optional<int64_t> restore(bool or_before = false);
  /// Restores the checkpoint of `step`. @throws Error as restore(), and if there is no such file
  void restore_step(int64_t step);

  /// Returns the steps of all checkpoint files in the folder, in ascending order.
  std::vector<int64_t> steps() const;
  /// Returns the path of the checkpoint of `step`, whether the file exists or not.
  std::string path_of(int64_t step) const;

 private:
  struct CheckpointPart {
    std::string name;
    bool is_per_rank;
    std::function<void(serialize::OutputArchive&)> save;
    std::function<void(serialize::InputArchive&)> load;
  };
  void add_part(CheckpointPart part);
  distributed::ProcessGroupPtr group() const;
  IValue pack_state(bool is_per_rank) const;
  void lock_folder();
  void write_checkpoint(int64_t step, const IValue& shared, const std::vector<std::string>& rank_states) const;
  void check_archive(const serialize::InputArchive& archive, int64_t step) const;
  std::string read_and_check(int64_t step) const;
  int64_t load_checkpoint(const std::string& bytes);
  std::string folder_;
  CheckpointOptions options_;
  std::vector<CheckpointPart> parts_;
  std::shared_ptr<detail::FolderLock> folder_lock_;  // lock on folder_, which rank 0 holds from its first save() on
};

}  // namespace tandem
