// CheckpointManager: all that a training needs to go on, in one file a step, of all ranks.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// Saves model, optimizer, schedule, loader and random numbers as one file, and has a training that is started again go
/// on from it: with as many ranks, bit for bit. Restored, everything is what it was between two steps:
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
/// The file, FOLDER/step_100.pt, is written beside its place by rank 0, synced, and renamed: whatever ends the program
/// leaves the last one whole. From its first save on the folder is this job's alone; others may read it. Python's
/// torch.load(weights_only=True) reads it. Rank 0 alone reads it too, and sends it to the others, so that no two ranks
/// go on from different steps, whatever files their machines have.
///
/// Of the model, the optimizer and whatever else is the same on all ranks, rank 0's is saved. Samplers and loaders, and
/// every rank's default generators (those of `manual_seed`, and of DataParallel's and DDP's dropout), are saved for
/// each rank. With another number of ranks than saved them, a training goes on where its loader's sampler is a
/// ShardSampler, or where no epoch is under way: the same examples then make up each batch over all ranks, and results
/// agree as sums in another order do. Random numbers of ranks that were not there go on in streams of their own.
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

  /// Saves everything as that of `step`, and removes the oldest files beyond the last `keep`. All ranks call it.
  /// @throws Error on all ranks when the file cannot be written, when there is one of a later step: of a training that
  /// has gone further; or when another job saves into this folder, naming its process
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
