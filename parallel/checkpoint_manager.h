// CheckpointManager: all that a training needs to go on, in one file a step, of all ranks.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/serialize/archive.h"

namespace tandem {
namespace detail {
class FolderLock;
}  // namespace detail

struct CheckpointOptions {
  /// How many checkpoints stay: the last ones.
  int64_t keep = 3;
  /// The ranks that save and restore together: the default group, or this process alone where there is none.
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
///       for (auto& batch : *loader) {  // restored, the first epoch is the rest of the one that was under way
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
  /// Makes the folder if there is none. What an interrupted save has left beside the files is removed.
  explicit CheckpointManager(std::string folder, CheckpointOptions options = {});

  /// What is saved and restored under a name: anything with save(OutputArchive&) and load(InputArchive&), such as
  /// modules, their handles, optimizers, schedules, samplers and loaders; numbers; generators. It must live as long as
  /// this. Things are restored in the order in which they were added: a schedule after its optimizer.
  /// @throws Error for a name that there is already
  template <class T> void add(const std::string& name, T& part) {
    constexpr bool kOfRank = requires { typename T::BatchRequestType; };  // a sampler's or a loader's place
    if constexpr (requires(serialize::OutputArchive & a) { part.save(a); })
      add_part({name, kOfRank, [&part](serialize::OutputArchive& a) { part.save(a); },
                [&part](serialize::InputArchive& a) { part.load(a); }});
    else  // a handle or a pointer
      add_part({name, kOfRank, [&part](serialize::OutputArchive& a) { part->save(a); },
                [&part](serialize::InputArchive& a) { part->load(a); }});
  }
  void add(const std::string& name, int64_t& number);
  void add(const std::string& name, double& number);
  /// A generator of the program's own, for each rank.
  void add(const std::string& name, Generator& generator);

  /// Saves everything as the checkpoint of `step`, and removes the oldest files beyond the last `keep`. All ranks call
  /// it.
  /// @throws Error on all ranks if the file cannot be written, if the folder has a checkpoint of a later step (another
  /// training has gone further), or if another job saves into this folder, naming the job's process
  void save(int64_t step);
  /// Goes back to the last step that was saved, and returns it; nothing where none was. All ranks call it.
  /// @param or_before  where the last file is damaged, or of another program, the one before it is taken, if there is
  ///                   one, with a word on the standard error; the damaged one gets ".damaged" behind its name
  /// @throws Error on all ranks, naming the file and what is wrong with it; then what was added is as it was, or, where
  /// a part does not take what the file has, partly restored
  std::optional<int64_t> restore(bool or_before = false);
  /// The same of a step that was saved. @throws Error too when there is no such file
  void restore_step(int64_t step);

  /// The steps of the files that there are, in order.
  std::vector<int64_t> steps() const;
  /// The file of a step, whether it is there or not.
  std::string path_of(int64_t step) const;

 private:
  struct Part {
    std::string name;
    bool of_rank;
    std::function<void(serialize::OutputArchive&)> save;
    std::function<void(serialize::InputArchive&)> load;
  };
  void add_part(Part part);
  distributed::ProcessGroupPtr group() const;
  IValue value_of(bool of_rank) const;
  void lock_folder();
  void write(int64_t step, const IValue& shared, const std::vector<std::string>& of_ranks) const;
  void check(const serialize::InputArchive& archive, int64_t step) const;
  std::string checked_bytes(int64_t step) const;
  int64_t load(const std::string& bytes);
  std::string folder_;
  CheckpointOptions options_;
  std::vector<Part> parts_;
  std::shared_ptr<detail::FolderLock> lock_;  // of rank 0, from its first save on
};

}  // namespace tandem
