// Tests SummaryWriter: its files equal TensorBoard's byte for byte, and TensorBoard reads them.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <thread>

#include "tandem/logs/crc32c.h"
#include "tandem/logs/event_file.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;
using tandem::logs::SummaryWriter;
using tandem::logs::SummaryWriterOptions;
namespace fs = std::filesystem;

namespace {

uint64_t little_endian(const std::string& bytes, size_t at, size_t count) {
  REQUIRE(at + count <= bytes.size());
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Returns the records of an event file, and checks their checksums.
std::vector<std::string> records(const std::string& file) {
  using tandem::logs::masked_crc32c;
  std::vector<std::string> all;
  for (size_t at = 0; at < file.size();) {
    const uint64_t length = little_endian(file, at, 8);
    REQUIRE(little_endian(file, at + 8, 4) == masked_crc32c(std::string_view(file).substr(at, 8)));
    REQUIRE(at + 16 + length <= file.size());
    all.push_back(file.substr(at + 12, length));
    REQUIRE(little_endian(file, at + 12 + length, 4) == masked_crc32c(all.back()));
    at += 16 + length;
  }
  return all;
}

/// Returns the path of the only file in a folder; ignores subfolders.
std::string only_file(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  REQUIRE(files.size() == 1);
  return files[0];
}

/// Makes the calls of tests/fixtures/make_event_fixtures.py.
void write_as_the_fixture(SummaryWriter& writer) {
  constexpr double kTime = 1700000000.25;
  writer.add_scalar("loss", 0.5, 1, kTime);
  writer.add_scalar("loss", std::numeric_limits<double>::quiet_NaN(), 2, kTime);
  writer.add_scalar("loss", tensor(-INFINITY), int64_t{1} << 40, kTime);
  writer.add_scalar("train/zero", 0, 0, kTime);
  writer.add_scalar("no step", 1e-40, {}, kTime);
  writer.add_scalar("as a tensor", 0.1, 3, kTime, /*new_style=*/true);
  writer.add_scalar("as a double", 0.1, 3, kTime, /*new_style=*/true, /*double_precision=*/true);
  writer.add_text("note", "**bold**, and \u00e9\u4e2d", 4, kTime);
  writer.add_histogram("weights", arange(-40, 60, kFloat64) / 4, 5, kTime);
  writer.add_histogram("one value", tensor({3.f}), 5, kTime);
  writer.add_histogram("integers", tensor({{0, 0, 1}, {7, -7, 100}}), 6, kTime);
  writer.add_histogram("tiny and large", tensor({1e-13, -1e-12, 0.5, 1e19}), 7, kTime);
}

/// Returns a Python with TensorBoard, or "" if none is known.
std::string python_with_tensorboard() {
  const char* const named = std::getenv("TANDEM_PEERS_PYTHON");
  for (const std::string python : {named ? named : "", "python3"})
    if (!python.empty() && std::system((python + " -c 'import tensorboard' >/dev/null 2>&1").c_str()) == 0)
      return python;
  return {};
}

/// Returns whether this build can write PNG files. If not, checks that add_image says so.
bool can_write_images() {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  try {
    writer.add_image("a", zeros({3, 1, 1}));
    return true;
  } catch (const NotImplementedError& error) {
    REQUIRE_THAT(error.what(), Contains("add_image") && Contains("libpng-dev"));
    return false;
  }
}

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720, and is masked as TensorFlow does", "[logs]") {
  using namespace tandem::logs;
  std::string up;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i);
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c(up) == 0x46dd794e);
  CHECK(crc32c(std::string(up.rbegin(), up.rend())) == 0x113fdb5c);
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(masked_crc32c(std::string(32, '\0')) == ((0x8a9136aaU >> 15 | 0x8a9136aaU << 17) + 0xa282ead8U));
  // A record of three bytes, in the layout of TensorBoard's RecordWriter.
  CHECK(encode_tfrecord("abc").substr(0, 8) == std::string("\x03\0\0\0\0\0\0\0", 8));
  CHECK(encode_tfrecord("abc").size() == 19);
}

TEST_CASE("an event file is TensorBoard's own, byte for byte, but for the writer's name", "[logs]") {
  const TemporaryFolder folder;
  SummaryWriter writer(folder / "run");
  REQUIRE(writer.get_logdir() == folder / "run");
  write_as_the_fixture(writer);
  writer.close();
  const std::string path = only_file(folder / "run");
  CHECK_THAT(path, Contains("/events.out.tfevents.1"));
  const std::vector<std::string> ours = records(read_file(path));
  const std::vector<std::string> theirs = records(read_file(std::string(kFixtures) + "/events/pytorch.tfevents"));
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 1; i < ours.size(); ++i) {
    INFO("record " << i);
    CHECK(ours[i] == theirs[i]);
  }
  const std::string version =
      "\x1a\x0d"
      "brain.Event:2";
  CHECK(ours[0].substr(9, version.size()) == theirs[0].substr(9, version.size()));
  CHECK(ours[0].substr(9, version.size()) == version);
  CHECK_THAT(ours[0], Contains("tandem"));
}

TEST_CASE("events wait in memory until there are max_queue, or flush or close is called", "[logs]") {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), SummaryWriterOptions().max_queue(3).filename_suffix(".mine"));
  const std::string path = only_file(folder.path());
  CHECK(path.ends_with(".mine"));
  const auto written = [&] { return records(read_file(path)).size(); };
  CHECK(written() == 1);
  writer.add_scalar("a", 1, 1), writer.add_scalar("a", 1, 2);
  CHECK(written() == 1);
  writer.add_scalar("a", 1, 3);
  CHECK(written() == 4);
  writer.add_scalar("a", 1, 4);
  writer.flush();
  CHECK(written() == 5);
  writer.close();
  writer.close();
  writer.add_scalar("a", 1, 5);  // starts a new file
  CHECK(folder.count() == 2);
}

TEST_CASE("add_scalars gives each curve a run of its own, and threads may share a writer", "[logs]") {
  const TemporaryFolder folder;
  {
    SummaryWriter writer(folder.path());
    writer.add_scalars("loss/both", {{"train", 0.25}, {"test", 0.5}}, 1, 2.0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) writer.add_scalar("thread " + std::to_string(t), i, i);
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(records(read_file(only_file(folder.path()))).size() == 401);
  for (const char* name : {"train", "test"}) {
    const auto events = records(read_file(only_file(folder / (std::string("loss_both_") + name))));
    REQUIRE(events.size() == 2);
    CHECK_THAT(events[1], Contains("loss/both"));
  }
}

TEST_CASE("what SummaryWriter cannot do is refused by name", "[logs]") {
  const TemporaryFolder folder;
  write_file(folder / "file", "in the way");
  CHECK_THROWS_WITH(SummaryWriter(folder / "file/run"), Contains("cannot make the folder") && Contains("file/run"));
  CHECK_THROWS_WITH(SummaryWriter(folder.path(), SummaryWriterOptions().max_queue(0)), Contains("max_queue is 0"));
  SummaryWriter writer(folder / "run");
  CHECK_THROWS_WITH(writer.add_scalar("two", ones({2})), Contains("'two' is a tensor of 2 elements"));
  CHECK_THROWS_WITH(writer.add_scalar("none", Tensor()), Contains("'none' is a tensor of 0 elements"));
  CHECK_THROWS_WITH(writer.add_histogram("empty", zeros({0, 3})),
                    Contains("The input has no element.") && Contains("'empty'"));
  CHECK_THROWS_WITH(writer.add_histogram("odd", tensor({1.f, NAN, INFINITY})),
                    Contains("'odd' has 2 values of 3 that are NaN or infinite"));
  CHECK_THROWS_WITH(writer.add_histogram("far", tensor({1e30})), Contains("no value of 'far' is between"));
  CHECK_THROWS_WITH(writer.add_image("flat", zeros({5})), Contains("'flat' is (5") && Contains("CHW"));
  CHECK_THROWS_WITH(writer.add_image("five", zeros({5, 2, 2})), Contains("5 channels; accepted: 1, 3 or 4"));
  CHECK_THROWS_WITH(writer.add_image("batch", zeros({2, 3, 4, 4}), 0, {}, "NCHW"),
                    Contains("accepted: CHW, HWC and HW") && Contains("make_grid"));
  CHECK_THROWS_WITH(writer.add_image("odd", full({1, 2, 2}, NAN)), Contains("'odd' has 12 NaN"));
}

TEST_CASE("a file that cannot take more is an error of the call that notices", "[logs]") {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), SummaryWriterOptions().max_queue(1));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string message;
  try {
    writer.add_text("long", std::string(1000, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(message, Contains("SummaryWriter: cannot write " + folder.path()) && Contains("File too large"));
}

TEST_CASE("TensorBoard's own reader loads what was written", "[logs][python]") {
  const std::string python = python_with_tensorboard();
  if (python.empty()) {
    WARN("SKIPPED: neither TANDEM_PEERS_PYTHON nor python3 is a Python that has tensorboard");
    return;
  }
  const TemporaryFolder folder;
  const bool images = can_write_images();
  {
    SummaryWriter crashed(folder / "run");
    crashed.add_scalar("loss", 9, 1, 1.0), crashed.add_scalar("loss", 9, 5, 2.0);
  }
  // TensorBoard reads the files of a folder in order of their names, which begin with the time in seconds.
  fs::rename(only_file(folder / "run"), folder / "run/events.out.tfevents.0000000001.host.1.0");
  SummaryWriter writer(folder / "run", SummaryWriterOptions().purge_step(2));
  writer.add_scalar("later", 0.125, 3, 4.0);
  if (images) {
    const Tensor ramp = arange(12, kFloat32).view({3, 2, 2}) / 11;
    writer.add_image("picture", ramp, 7);
    writer.add_image("bytes", arange(8, kUInt8).view({2, 4, 1}), 7, {}, "HWC");
  }
  write_as_the_fixture(writer);
  writer.close();
  const Result result = run_program("/bin/sh", {"-c", python + " '" + kFixtures + "/../logs/read_events.py' '" +
                                                          folder.path() + "/run' 2>/dev/null"});
  REQUIRE(result.status == 0);
  const auto found = parse_json(result.output);
  const auto& loss = found.at("scalars").at("loss");
  REQUIRE(loss.size() == 4);  // step 5 of the crashed run is hidden
  CHECK(loss.at(0) == nlohmann::json({1, 1.0, "9.0"}));
  CHECK(loss.at(1) == nlohmann::json({1, 1700000000.25, "0.5"}));
  CHECK(loss.at(2).at(2) == "nan");
  CHECK(loss.at(3) == nlohmann::json({int64_t{1} << 40, 1700000000.25, "-inf"}));
  CHECK(found.at("scalars").at("later").at(0) == nlohmann::json({3, 4.0, "0.125"}));
  CHECK(found.at("tensors").at("as a double").at(0) ==
        nlohmann::json({{"step", 3}, {"plugin", "scalars"}, {"value", {0.1}}}));
  CHECK(found.at("tensors").at("note/text_summary").at(0).at("value").at(0) == "**bold**, and \u00e9\u4e2d");
  const auto& weights = found.at("histograms").at("weights").at(0);
  CHECK(weights.at("num") == 100);
  CHECK(weights.at("min") == -10);
  double counted = 0;
  for (const auto& count : weights.at("counts")) counted += count.get<double>();
  CHECK(counted == 100);
  if (!images) return;
  const auto& picture = found.at("images").at("picture").at(0);
  CHECK(picture.at("width") == 2);
  CHECK(picture.at("step") == 7);
  if (!picture.at("pixels").is_null()) {
    CHECK(picture.at("pixels").at("mode") == "RGB");
    CHECK(picture.at("pixels").at("values") == nlohmann::json({0, 92, 185, 23, 115, 208, 46, 139, 231, 69, 162, 255}));
    CHECK(found.at("images").at("bytes").at(0).at("pixels").at("size") == nlohmann::json({4, 2}));
    CHECK(found.at("images").at("bytes").at(0).at("pixels").at("values").at(23) == 7);
  }
}
