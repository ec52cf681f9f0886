// Implements save and load of learning rate schedulers, with the keys of PyTorch's state_dict().
#include "tandem/core/internal.h"
#include "tandem/optim/lr_scheduler.h"
#include "tandem/optim/reduce_lr_on_plateau.h"
#include "tandem/serialize/archive.h"

namespace tandem::optim {
namespace {

using serialize::InputArchive;
using serialize::OutputArchive;

int64_t read_count(const InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  TANDEM_CHECK(value.isInt() && value.toInt() >= 0, archive.name(), ": '", key, "' of a schedule is ",
               value.isInt() ? std::to_string(value.toInt()) : value.tagKind(), "; accepted: a non-negative int");
  return value.toInt();
}

}  // namespace

void LRScheduler::save(OutputArchive& archive) const {
  archive.write("last_epoch", IValue(int64_t{step_count_}));
  archive.write("_last_lr", IValue(last_lr_));
  archive.write("continues", IValue(schedule_.is_recursive));
}
void LRScheduler::load(InputArchive& archive) {
  const int64_t steps = read_count(archive, "last_epoch");
  IValue rates, is_recursive = schedule_.is_recursive;
  archive.read("_last_lr", rates);
  archive.try_read("continues", is_recursive);  // missing if PyTorch wrote the file
  std::vector<double> set = rates.toDoubleVector();
  const size_t groups = optimizer_.param_groups().size();
  TANDEM_CHECK(set.size() == groups || set.empty(), archive.name(),
               ": Number of learning rates not equal to the number of param groups: ", "the schedule has ", set.size(),
               " rates, the optimizer ", groups, " groups");
  schedule_.is_recursive = is_recursive.toBool();
  step_count_ = static_cast<unsigned>(steps);
  last_lr_ = std::move(set);
}

void ReduceLROnPlateauScheduler::save(OutputArchive& archive) const {
  archive.write("best", IValue(best_));
  archive.write("num_bad_epochs", IValue(num_bad_epochs_));
  archive.write("cooldown_counter", IValue(cooldown_counter_));
  archive.write("last_epoch", IValue(epoch_));
}
void ReduceLROnPlateauScheduler::load(InputArchive& archive) {
  IValue best;
  archive.read("best", best);
  const double metric = best.toDouble();
  const int64_t bad = read_count(archive, "num_bad_epochs"), cooling = read_count(archive, "cooldown_counter");
  epoch_ = read_count(archive, "last_epoch");
  best_ = metric;
  num_bad_epochs_ = bad;
  cooldown_counter_ = cooling;
}

}  // namespace tandem::optim
