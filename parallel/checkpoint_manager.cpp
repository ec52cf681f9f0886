// Implements CheckpointManager. The dictionary in a checkpoint file:
// {"tandem_checkpoint": 1, "step": 100, "shared": {name: ...}, "ranks": [{"random": [...], name: ...}, ...]}
#include "tandem/parallel/checkpoint_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tandem/parallel/folder_lock.h"
#include "tandem/serialize/file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using serialize::InputArchive;
using serialize::OutputArchive;

constexpr int64_t kFormatVersion = 1;
constexpr char kNamePrefix[] = "step_", kNameSuffix[] = ".pt", kTempSuffix[] = ".pt.tmp.";

/// Lists, as (device, stream) pairs, the random-number streams from which the operations of a rank draw: the default
/// stream of each device, and the streams that DataParallel assigns to shards and DDP to ranks.
std::vector<std::pair<Device, uint64_t>> list_rng_streams(int rank) {
  std::vector<std::pair<Device, uint64_t>> out;
  for (const DeviceType type : {kCPU, kCUDA}) {
    const int devices = device_count(type);
    std::set<uint64_t> streams{0, static_cast<uint64_t>(rank)};
    for (int i = 0; i < devices; ++i) streams.insert(static_cast<uint64_t>(i));
    for (int i = 0; i < devices; ++i)
      for (const uint64_t stream : streams) out.emplace_back(Device(type, i), stream);
  }
  return out;
}
IValue pack_state(const Generator& generator) {
  const detail::PhiloxState state = generator.get_state();
  return IValue(std::vector<int64_t>{static_cast<int64_t>(state.seed), static_cast<int64_t>(state.stream),
                                     static_cast<int64_t>(state.offset)});
}
detail::PhiloxState unpack_generator_state(const IValue& value) {
  const std::vector<int64_t> numbers = value.toIntVector();
  TANDEM_CHECK(numbers.size() == 3, "CheckpointManager: the state of a generator has ", numbers.size(),
               " numbers; expected 3 (seed, stream and offset)");
  return {static_cast<uint64_t>(numbers[0]), static_cast<uint64_t>(numbers[1]), static_cast<uint64_t>(numbers[2])};
}
std::string rng_stream_key(Device device, uint64_t stream) { return device.str() + " " + std::to_string(stream); }

IValue pack_random_state(int rank) {
  IValue out = IValue::dict();
  for (const auto& [device, stream] : list_rng_streams(rank))
    out.insert(rng_stream_key(device, stream), pack_state(default_generator(device, stream)));
  return out;
}
/// Restores the default generators. A random-number stream that the checkpoint lacks continues at the offset of the
/// device's stream 0, because all streams are at about the same offset.
void restore_random_state(const IValue& value, int rank) {
  for (const auto& [device, stream] : list_rng_streams(rank)) {
    const IValue* found = value.find(rng_stream_key(device, stream));
    if (!found) found = value.find(rng_stream_key(device, 0));
    if (!found) continue;  // the checkpoint was saved on a machine without this device
    detail::PhiloxState state = unpack_generator_state(*found);
    state.stream = stream;
    default_generator(device, stream).set_state(state);
  }
}

std::optional<int64_t> parse_step(const std::string& name) {
  if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) return {};
  const std::string digits = name.substr(std::size(kNamePrefix) - 1,
                                         name.size() - (std::size(kNamePrefix) - 1) - (std::size(kNameSuffix) - 1));
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(digits);
}
int64_t read_int(const InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  TANDEM_CHECK(value.isInt(), archive.name(), ": '", key, "' is ", value.tagKind(), "; accepted: an int");
  return value.toInt();
}
std::string join_quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "nothing" : text;
}

/// Calls f on rank 0 and returns its result on all ranks. Without a group, calls f on this process.
/// @throws Error on all ranks, with the message of the exception, if f throws
std::string run_on_rank_0(const distributed::ProcessGroupPtr& group, const std::function<std::string()>& f) {
  if (!group || group->size() == 1) return f();
  std::string message;
  if (group->rank() == 0) try {
      message = "value" + f();
    } catch (const std::exception& error) {
      message = std::string("error") + error.what();
    }
  distributed::broadcast_bytes(message, group->ranks()[0], group);
  const std::string kind = message.substr(0, 5);
  message.erase(0, 5);
  if (kind == "error") throw Error(message);
  return message;
}

}  // namespace

CheckpointManager::CheckpointManager(std::string folder, CheckpointOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  TANDEM_CHECK(options_.keep >= 1, "CheckpointManager: keep is ", options_.keep, "; accepted: 1 or more");
  if (group() && group()->rank() != 0) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  TANDEM_CHECK(fs::is_directory(folder_), "CheckpointManager: the folder ", folder_,
               " cannot be created: ", error.message());
  const auto lock = FolderLock::try_lock(folder_);
  if (!lock) return;  // If another job is saving into this folder, the unfinished files belong to that job.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kNamePrefix) && name.find(kTempSuffix) != std::string::npos) fs::remove(entry.path(), error);
  }
}

void CheckpointManager::add_part(CheckpointPart part) {
  for (const CheckpointPart& other : parts_)
    TANDEM_CHECK(other.name != part.name, "CheckpointManager: a part named '", part.name,
                 "' was already added; use another name");
  TANDEM_CHECK(part.name != "random", "CheckpointManager: the name 'random' is reserved for the default generators");
  parts_.push_back(std::move(part));
}
void CheckpointManager::add(const std::string& name, int64_t& number) {
  add_part({name, false, [&number](OutputArchive& a) { a.write("value", IValue(number)); },
            [&number](InputArchive& a) { number = read_int(a, "value"); }});
}
void CheckpointManager::add(const std::string& name, double& number) {
  add_part({name, false, [&number](OutputArchive& a) { a.write("value", IValue(number)); },
            [&number](InputArchive& a) {
              IValue value;
              a.read("value", value);
              number = value.toDouble();
            }});
}
void CheckpointManager::add(const std::string& name, Generator& generator) {
  add_part({name, true, [&generator](OutputArchive& a) { a.write("state", tandem::pack_state(generator)); },
            [&generator](InputArchive& a) {
              IValue value;
              a.read("state", value);
              generator.set_state(unpack_generator_state(value));
            }});
}

distributed::ProcessGroupPtr CheckpointManager::group() const {
  if (options_.group) return options_.group;
  return distributed::is_initialized() ? distributed::default_group() : nullptr;
}
std::string CheckpointManager::path_of(int64_t step) const {
  return folder_ + "/" + kNamePrefix + std::to_string(step) + kNameSuffix;
}
std::vector<int64_t> CheckpointManager::steps() const {
  std::vector<int64_t> out;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none))
    if (const auto step = parse_step(entry.path().filename())) out.push_back(*step);
  std::sort(out.begin(), out.end());
  return out;
}

IValue CheckpointManager::pack_state(bool is_per_rank) const {
  IValue out = IValue::dict();
  for (const CheckpointPart& part : parts_) {
    if (part.is_per_rank != is_per_rank) continue;
    OutputArchive archive;
    part.save(archive);
    out.insert(part.name, archive.value());
  }
  return out;
}
void CheckpointManager::write_checkpoint(int64_t step, const IValue& shared,
                                         const std::vector<std::string>& rank_states) const {
  const std::vector<int64_t> there = steps();
  TANDEM_CHECK(there.empty() || there.back() <= step, "CheckpointManager: step ", step, " is older than ",
               path_of(there.back()),
               ", which another run has written; move newer checkpoints out of the folder first");
  OutputArchive file;
  file.write("tandem_checkpoint", IValue(kFormatVersion));
  file.write("step", IValue(step));
  file.write("shared", shared);
  IValue ranks = IValue::list({});
  for (const std::string& bytes : rank_states) ranks.push_back(pickle_load({bytes.begin(), bytes.end()}));
  file.write("ranks", ranks);
  file.save_to(path_of(step));
  std::error_code gone;
  for (std::vector<int64_t> old = steps(); old.size() > static_cast<size_t>(options_.keep); old.erase(old.begin()))
    fs::remove(path_of(old.front()), gone);
}
void CheckpointManager::lock_folder() {
  if (!folder_lock_) folder_lock_ = FolderLock::try_lock(folder_);
  TANDEM_CHECK(folder_lock_, "CheckpointManager: ", FolderLock::owner(folder_), " already saves checkpoints in ",
               folder_, "; use a separate folder for each job");
}
void CheckpointManager::save(int64_t step) {
  TANDEM_CHECK(step >= 0, "CheckpointManager: the step is ", step, "; accepted: 0 or more");
  const distributed::ProcessGroupPtr group = this->group();
  IValue mine = pack_state(/*is_per_rank=*/true);
  mine.insert("random", pack_random_state(group ? group->rank() : 0));
  const std::vector<char> bytes = pickle_save(mine);
  std::vector<std::string> rank_states{{bytes.begin(), bytes.end()}};
  if (group) rank_states = distributed::all_gather_bytes(rank_states[0], group);
  run_on_rank_0(group, [&] {
    lock_folder();
    write_checkpoint(step, pack_state(/*is_per_rank=*/false), rank_states);
    return std::string();
  });
}

void CheckpointManager::check_archive(const InputArchive& archive, int64_t step) const {
  const std::string path = path_of(step);
  IValue version;
  TANDEM_CHECK(archive.try_read("tandem_checkpoint", version) && version.isInt(), path,
               " is not a checkpoint of Tandem; accepted: a file that a CheckpointManager wrote");
  TANDEM_CHECK(version.toInt() == kFormatVersion, path, " has checkpoint version ", version.toInt(),
               "; accepted: ", kFormatVersion);
  const int64_t stored_step = read_int(archive, "step");
  TANDEM_CHECK(stored_step == step, path, " holds step ", stored_step,
               ", which does not match its name; it may have been renamed, so rename it back");
  InputArchive shared, ranks, one;
  archive.read("shared", shared);
  archive.read("ranks", ranks);
  ranks.read("0", one);
  for (const bool is_per_rank : {false, true}) {
    std::vector<std::string> mine, there;
    for (const CheckpointPart& part : parts_)
      if (part.is_per_rank == is_per_rank) mine.push_back(part.name);
    for (const std::string& name : (is_per_rank ? one : shared).keys())
      if (name != "random") there.push_back(name);
    TANDEM_CHECK(std::set(mine.begin(), mine.end()) == std::set(there.begin(), there.end()), path, " holds ",
                 join_quoted(there), is_per_rank ? " of each rank" : "", ", but this program has added ",
                 join_quoted(mine), "; accepted: the same names in both");
  }
}
std::string CheckpointManager::read_and_check(int64_t step) const {
  const std::string path = path_of(step);
  std::ifstream file(path, std::ios::binary);
  TANDEM_CHECK(file, "CheckpointManager: cannot read the file ", path, ": ", std::strerror(errno));
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  InputArchive archive;
  detail::with_error_context(path, [&] { archive.load_from(bytes.data(), bytes.size()); });
  check_archive(archive, step);
  return bytes;
}
int64_t CheckpointManager::load_checkpoint(const std::string& bytes) {
  InputArchive archive, shared, ranks, mine;
  archive.load_from(bytes.data(), bytes.size());
  archive.read("shared", shared);
  archive.read("ranks", ranks);
  const int64_t step = read_int(archive, "step");
  const distributed::ProcessGroupPtr group = this->group();
  const int rank = group ? group->rank() : 0;
  detail::with_error_context(path_of(step), [&] {
    ranks.read(std::to_string(rank < static_cast<int>(ranks.keys().size()) ? rank : 0), mine);
    for (const CheckpointPart& part : parts_) {
      InputArchive one;
      (part.is_per_rank ? mine : shared).read(part.name, one);
      part.load(one);
    }
    IValue random;
    mine.read("random", random);
    restore_random_state(random, rank);
  });
  return step;
}

std::optional<int64_t> CheckpointManager::restore(bool or_before) {
  const std::string bytes = run_on_rank_0(group(), [&] {
    for (std::vector<int64_t> there = steps(); !there.empty(); there.pop_back()) try {
        return read_and_check(there.back());
      } catch (const Error& error) {
        if (!or_before && there.size() > 1)
          throw Error(std::string(error.what()) +
                      "; call restore(/*or_before=*/true) to restore the previous checkpoint, step " +
                      std::to_string(there[there.size() - 2]));
        if (!or_before || there.size() == 1)
          throw;  // there is no older file, and only the caller may decide to start from scratch
        std::fprintf(stderr, "tandem: warning: %s; restoring the previous checkpoint instead\n", error.what());
        fs::rename(path_of(there.back()), path_of(there.back()) + ".damaged");
      }
    return std::string();
  });
  if (bytes.empty()) return {};
  return load_checkpoint(bytes);
}
void CheckpointManager::restore_step(int64_t step) {
  load_checkpoint(run_on_rank_0(group(), [&] { return read_and_check(step); }));
}

}  // namespace tandem
