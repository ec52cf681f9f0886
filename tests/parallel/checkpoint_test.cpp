// Tests CheckpointManager: a training run that is interrupted and resumed must end exactly like an uninterrupted one.
// Also tests damaged and foreign files.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/resumable.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using test::Points;
using test::ResumableTraining;
using test::train;
using State = std::vector<Tensor>;
namespace samplers = data::samplers;
namespace fs = std::filesystem;

namespace {

State train_ranks(const ResumableTraining& t, int ranks, const std::string& backend) {
  State out;
  distributed::run_ranks(ranks, [&](int rank) {
    distributed::init_process_group(backend);
    State mine = train(t, samplers::ShardSampler(50, static_cast<size_t>(ranks), static_cast<size_t>(rank)), ranks);
    if (rank == 0) out = std::move(mine);
  });
  return out;
}
bool same(const State& a, const State& b) {
  bool all = a.size() == b.size() && !a.empty();
  for (size_t i = 0; all && i < a.size(); ++i) all = a[i].equal(b[i]);
  return all;
}
template <class T> std::vector<char> saved(const T& part) {
  serialize::OutputArchive archive;
  part.save(archive);
  return pickle_save(archive.value());
}
template <class T> void load_into(T& part, const std::vector<char>& bytes) {
  serialize::InputArchive archive;
  archive.load_from(bytes.data(), bytes.size());
  part.load(archive);
}
std::vector<int64_t> numbers(std::initializer_list<int64_t> list) { return list; }

}  // namespace

TEST_CASE("a training that goes on ends as one that was never cut short, bit for bit", "[checkpoint]") {
  const size_t workers = GENERATE(0, 2);
  const test::TemporaryFolder whole, parts;
  ResumableTraining t{.folder = whole.path(), .workers = workers};
  const State expected = train(t, samplers::RandomSampler(50));
  t.folder = parts.path();
  // Each cut lies within an epoch of 6 steps; training resumes from step 4, 8 or 12.
  for (const int64_t cut : {5, 10, 13}) {
    t.steps = cut;
    train(t, samplers::RandomSampler(50));
  }
  t.steps = 18;
  CHECK(same(train(t, samplers::RandomSampler(50)), expected));
  CHECK(CheckpointManager(parts.path()).steps() == numbers({8, 12, 16}));
}

TEST_CASE("runs and resumed runs are equal by any number of workers, with random transforms and dropout",
          "[checkpoint][streams]") {
  const test::TemporaryFolder whole;
  const State expected = train(ResumableTraining{.folder = whole.path(), .workers = 0}, samplers::RandomSampler(50));
  const test::TemporaryFolder plain;
  CHECK(
      !same(train(ResumableTraining{.folder = plain.path(), .jitter = false}, samplers::RandomSampler(50)), expected));
  for (const size_t workers : {0, 1, 2, 3}) {
    const test::TemporaryFolder reconnect, parts;
    INFO(workers << " workers");
    ResumableTraining t{.folder = reconnect.path(), .workers = workers};
    CHECK(same(train(t, samplers::RandomSampler(50)), expected));
    t.folder = parts.path();
    for (const int64_t cut : {7, 13}) {
      t.steps = cut;
      train(t, samplers::RandomSampler(50));
      t.workers = (t.workers + 1) % 4;
    }
    t.steps = 18;
    CHECK(same(train(t, samplers::RandomSampler(50)), expected));
  }
}

TEST_CASE("so do the ranks of a DistributedDataParallel", "[checkpoint][ddp]") {
  for (const std::string& backend : test::backends()) {
    INFO(backend);
    const test::TemporaryFolder whole, parts;
    ResumableTraining t{.folder = whole.path()};
    const State expected = train_ranks(t, 2, backend);
    t.folder = parts.path(), t.steps = 10;
    train_ranks(t, 2, backend);
    t.steps = 18;
    CHECK(same(train_ranks(t, 2, backend), expected));
  }
}

TEST_CASE("another number of ranks goes on with the same batches", "[checkpoint][ddp]") {
  // float64, so that a different summation order over 18 steps changes only the last digits. A wrong example would
  // change the second digit.
  const test::TemporaryFolder whole;
  ResumableTraining t{.folder = whole.path(), .dropout = false, .dtype = kFloat64};
  const State expected = train_ranks(t, 2, "local");
  for (const int ranks : {1, 4}) {
    const test::TemporaryFolder parts;
    ResumableTraining cut = t;
    cut.folder = parts.path(), cut.steps = 10;
    train_ranks(cut, 2, "local");
    cut.steps = t.steps;
    const State got = train_ranks(cut, ranks, "local");
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i].allclose(expected[i], 1e-10, 1e-10));
  }
}

TEST_CASE("a damaged checkpoint is named, and the one before it taken only when asked", "[checkpoint][errors]") {
  const std::string how = GENERATE("cut", "bit", "other step", "empty", "text");
  const test::TemporaryFolder folder;
  int64_t number = 0;
  CheckpointManager checkpoints(folder.path());
  checkpoints.add("number", number);
  CHECK(!checkpoints.restore());
  for (number = 1; number <= 3; ++number) checkpoints.save(10 * number);
  const std::string path = checkpoints.path_of(30), whole = test::read_file(path);
  std::string bytes = whole;
  if (how == "cut") bytes.resize(bytes.size() * 2 / 3);
  if (how == "bit") bytes[bytes.find("number") + 20] ^= 4;
  if (how == "other step") bytes = test::read_file(checkpoints.path_of(20));
  if (how == "empty") bytes.clear();
  if (how == "text") bytes = "no archive at all";
  test::write_file(path, bytes);
  INFO(how);
  number = 99;
  CHECK_THROWS_WITH(checkpoints.restore(),
                    Contains("step_30.pt") && Contains("to restore the previous checkpoint, step 20"));
  CHECK(number == 99);
  CHECK_THROWS_WITH(checkpoints.restore_step(30), Contains("step_30.pt"));
  CHECK(checkpoints.restore(/*or_before=*/true) == 20);
  CHECK(number == 2);
  CHECK(test::read_file(path + ".damaged") == bytes);
  CHECK(checkpoints.restore() == 20);
  checkpoints.restore_step(10);
  CHECK(number == 1);
  for (const int64_t step : {10, 20}) test::write_file(checkpoints.path_of(step), "nothing");
  // An unreadable checkpoint must not restart training from the beginning.
  CHECK_THROWS_WITH(checkpoints.restore(/*or_before=*/true), Contains("step_10.pt"));
}

TEST_CASE("a checkpoint of another program is refused before anything is loaded", "[checkpoint][errors]") {
  const test::TemporaryFolder folder;
  int64_t number = 5;
  double real = 0.1;
  nn::Linear net(2, 3), wider(2, 4);
  {
    CheckpointManager checkpoints(folder.path());
    checkpoints.add("number", number);
    checkpoints.add("real", real);
    checkpoints.add("net", net);
    CHECK_THROWS_WITH(checkpoints.add("net", wider), Contains("a part named 'net' was already added"));
    checkpoints.save(1);
  }
  number = 6, real = 0;
  CheckpointManager fewer(folder.path());
  fewer.add("number", number);
  CHECK_THROWS_WITH(fewer.restore(), Contains("holds 'number', 'real', 'net', but this program has added 'number'"));
  CHECK(number == 6);
  CheckpointManager other(folder.path());
  other.add("number", number);
  other.add("real", real);
  other.add("net", wider);
  CHECK_THROWS_WITH(other.restore(), Contains("step_1.pt") && Contains("weight"));
  CheckpointManager same(folder.path());
  same.add("net", net);
  same.add("real", real);
  same.add("number", number);
  CHECK(same.restore() == 1);
  CHECK((number == 5 && real == 0.1));
  CHECK_THROWS_WITH(same.restore_step(7), Contains("cannot read the file") && Contains("step_7.pt"));
}

TEST_CASE("the last checkpoints stay, what an interrupted save left goes, and no run overtakes another",
          "[checkpoint]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "step_5.pt.tmp.123.0", "half");
  test::write_file(folder / "notes.txt", "mine");
  int64_t number = 0;
  CheckpointManager checkpoints(folder.path(), {.keep = 2});
  checkpoints.add("number", number);
  CHECK(!fs::exists(folder / "step_5.pt.tmp.123.0"));
  for (const int64_t step : {1, 2, 30, 4000}) checkpoints.save(step);
  CHECK(checkpoints.steps() == numbers({30, 4000}));
  checkpoints.save(4000);
  CHECK(folder.count() == 4);  // two checkpoints, notes.txt and .owner
  CHECK_THROWS_WITH(checkpoints.save(31), Contains("step 31 is older than") && Contains("step_4000.pt"));
  CHECK_THROWS_WITH(CheckpointManager(folder.path(), {.keep = 0}), Contains("keep is 0"));
  CHECK_THROWS_WITH(CheckpointManager(folder / "notes.txt"), Contains("notes.txt cannot be created"));
}

TEST_CASE("a second job may read a folder of checkpoints, but not save there", "[checkpoint][errors]") {
  const test::TemporaryFolder folder;
  int64_t number = 1;
  {
    CheckpointManager first(folder.path()), second(folder.path());  // one job may have several managers
    first.add("number", number), second.add("number", number);
    first.save(1), second.save(2);
  }
  // A flock belongs to the open file, so a second open() acts like another process.
  const int other = ::open((folder / ".owner").c_str(), O_RDWR);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  test::write_file(folder / ".owner", "process 7 on elsewhere\n");
  test::write_file(folder / "step_3.pt.tmp.7.0", "half");
  std::atomic<int> failure_reported{0};
  distributed::run_ranks(2, [&](int) {
    distributed::init_process_group("local");
    CheckpointManager checkpoints(folder.path());
    int64_t read = 0;
    checkpoints.add("number", read);
    if (checkpoints.restore() == 2 && read == 1) ++failure_reported;
    try {
      checkpoints.save(3);
    } catch (const Error& error) {
      const std::string text = error.what();
      if (text.find("process 7 on elsewhere") != std::string::npos && text.find(folder.path()) != std::string::npos)
        ++failure_reported;
    }
  });
  CHECK(failure_reported == 4);
  CHECK(fs::exists(folder / "step_3.pt.tmp.7.0"));
  ::close(other);
  CheckpointManager after(folder.path());
  after.add("number", number);
  CHECK(!fs::exists(folder / "step_3.pt.tmp.7.0"));
  after.save(3);
  CHECK(test::read_file(folder / ".owner").starts_with("process " + std::to_string(::getpid()) + " on "));
}

TEST_CASE("what rank 0 cannot do is an error on every rank", "[checkpoint][errors]") {
  const test::TemporaryFolder folder;
  std::atomic<int> failure_reported{0};
  distributed::run_ranks(2, [&](int) {
    distributed::init_process_group("local");
    CheckpointManager checkpoints(folder / "inner");
    int64_t number = 1;
    checkpoints.add("number", number);
    distributed::barrier();
    if (distributed::get_rank() == 0) fs::remove_all(folder / "inner");
    try {
      checkpoints.save(1);
    } catch (const Error& error) {
      if (std::string(error.what()).find("step_1.pt") != std::string::npos) ++failure_reported;
    }
    if (distributed::get_rank() == 0) {
      fs::create_directory(folder / "inner");
      test::write_file(folder / "inner/step_1.pt", "nonsense");
    }
    try {
      checkpoints.restore();
    } catch (const Error& error) {
      if (std::string(error.what()).find("step_1.pt") != std::string::npos) ++failure_reported;
    }
  });
  CHECK(failure_reported == 4);
}

TEST_CASE("a loader is saved behind what it has handed out, whatever its workers make in advance", "[checkpoint]") {
  const size_t workers = GENERATE(0, 3);
  const auto make = [&] {
    manual_seed(3);
    return data::make_data_loader(Points(kFloat64), samplers::RandomSampler(50),
                                  data::DataLoaderOptions(4).workers(workers));
  };
  const auto first_of = [](const auto& batch) { return batch.front().target.template item<double>(); };
  auto loader = make();
  std::vector<double> expected, got;
  std::vector<char> place;
  for (auto& batch : *loader) {
    expected.push_back(first_of(batch));
    if (expected.size() == 5) place = saved(*loader);
  }
  auto reconnect = make();
  load_into(*reconnect, place);
  for (auto& batch : *reconnect) got.push_back(first_of(batch));
  CHECK(got == std::vector<double>(expected.begin() + 5, expected.end()));
  place = saved(*loader);  // the loop has reached the end of the epoch, so the next epoch starts
  reconnect = make();
  load_into(*reconnect, place);
  CHECK(std::distance(reconnect->begin(), reconnect->end()) == 13);
  auto unordered = data::make_data_loader(Points(kFloat64), samplers::RandomSampler(50),
                                          data::DataLoaderOptions(4).workers(2).enforce_ordering(false));
  CHECK_THROWS_WITH(saved(*unordered), Contains("enforce_ordering"));
}

TEST_CASE("a sampler's place is that of other ranks only where they take turns", "[checkpoint][samplers]") {
  const auto saved_by = [](auto sampler, size_t taken) {
    sampler.next(taken);
    return saved(sampler);
  };
  // Saved after two ranks together have taken 12 of 50 examples.
  const std::vector<char> turns = saved_by(samplers::ShardSampler(50, 2, 1), 6);
  for (const size_t ranks : {1, 3, 4}) {
    samplers::ShardSampler whole(50), mine(50, ranks, ranks - 1);
    load_into(mine, turns);
    CHECK(*mine.next(1) == std::vector<size_t>{whole.indices()[12 + ranks - 1]});
  }
  samplers::ShardSampler five(50, 5, 0), end(50, 4, 0);
  CHECK_THROWS_WITH(load_into(five, turns), Contains("2 ranks have taken 6 examples each, which 5 ranks cannot"));
  load_into(end, saved_by(samplers::ShardSampler(50, 3, 0), 17));
  CHECK(!end.next(1));
  samplers::DistributedRandomSampler blocks(50, 4, 0);
  CHECK_THROWS_WITH(load_into(blocks, saved_by(samplers::DistributedRandomSampler(50, 2, 0), 6)),
                    Contains("saved with num_replicas 2, and num_replicas is now 4") && Contains("ShardSampler"));
}

TEST_CASE("schedules go on from where they were saved", "[checkpoint][scheduler]") {
  using Make = std::function<std::unique_ptr<optim::LRScheduler>(optim::Optimizer&)>;
  const std::vector<std::pair<std::string, Make>> all = {
      {"StepLR", [](auto& o) { return std::make_unique<optim::StepLR>(o, 3, 0.5); }},
      {"cosine", [](auto& o) { return std::make_unique<optim::CosineAnnealingLR>(o, 7); }},
      {"one cycle", [](auto& o) { return std::make_unique<optim::OneCycleLR>(o, 0.3, 20); }},
      {"chained",
       [](auto& o) {
         return std::make_unique<optim::ChainedScheduler>(
             std::vector<optim::LRScheduler>{optim::LinearLR(o), optim::StepLR(o, 2, 0.9)});
       }},
      {"sequential", [](auto& o) {
         return std::make_unique<optim::SequentialLR>(
             o, std::vector<optim::LRScheduler>{optim::ConstantLR(o), optim::ExponentialLR(o, 0.8)},
             std::vector<int64_t>{4});
       }}};
  for (const auto& each : all) {
    INFO(each.first);
    optim::Adam optimizer({zeros({2}).requires_grad_()}, 0.1), later({zeros({2}).requires_grad_()}, 0.1);
    const auto schedule = each.second(optimizer), goes_on = each.second(later);
    for (int i = 0; i < 5; ++i) schedule->step();
    // Set by the user: a schedule that can start from any learning rate continues from this one.
    optimizer.set_lr(optimizer.lr() * 0.9);
    schedule->step();
    load_into(later, saved(optimizer));
    load_into(*goes_on, saved(*schedule));
    for (int i = 0; i < 8; ++i) {
      CHECK(later.lr() == optimizer.lr());
      schedule->step(), goes_on->step();
    }
  }
  using Plateau = optim::ReduceLROnPlateau;
  optim::SGD sgd({zeros({2}).requires_grad_()}, 0.1), other({zeros({2}).requires_grad_()}, 0.1);
  Plateau plateau(sgd, Plateau::min, 0.5, 1), goes_on(other, Plateau::min, 0.5, 1);
  for (const double loss : {3.0, 2.0, 2.5}) plateau.step(loss);
  load_into(goes_on, saved(plateau));
  for (const double loss : {2.6, 2.7, 1.0}) {
    plateau.step(loss), goes_on.step(loss);
    CHECK(sgd.lr() == other.lr());
  }
  CHECK(sgd.lr() == 0.05);
}
