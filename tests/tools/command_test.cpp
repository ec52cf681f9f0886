// Tests the `tandem` command with valid and invalid input: its exit status, its output, and the files it leaves.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"

using namespace tandem::test;

namespace {

/// Runs the command. Its files may have at most `file_limit` bytes: a write beyond that fails as on a full disk.
Result run(const std::vector<std::string>& arguments, rlim_t file_limit = RLIM_INFINITY,
           const char* standard_output = nullptr) {
  return run_program(kCommand, arguments, [=] {
    if (standard_output) ::dup2(::open(standard_output, O_WRONLY), STDOUT_FILENO);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{file_limit, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
}

/// A data set of 40 training images and 10 test images.
struct Data {
  Data() { write_digits(folder.path(), 40, 10); }
  std::string path(const std::string& prefix, bool images) const {
    return folder / (prefix + (images ? "-images-idx3-ubyte" : "-labels-idx1-ubyte"));
  }
  std::vector<std::string> demo(std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"demo", "--mode", "single", "--model", "mlp", "--batch-size", "16", "--data", folder.path()});
    return more;
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("the demo saves, writes JSON, and loads again", "[command]") {
  const Data data;
  const TemporaryFolder out;
  const Result first = run(data.demo({"--save", out / "state", "--json", out / "json"}));
  INFO(first.output);
  REQUIRE(first.status == 0);
  CHECK_THAT(read_file(out / "json"), Contains("\"mode\": \"single\"") && Contains("\"test_accuracy\""));
  CHECK(out.count() == 2);
  const Result second = run(data.demo({"--load", out / "state", "--epochs", "0"}));
  INFO(second.output);
  REQUIRE(second.status == 0);
}

TEST_CASE("the demo trains in every mode, and each agrees with its reference to the bit", "[command]") {
  const Data data;
  const TemporaryFolder out;
  const Result result = run({"demo", "--model", "mlp", "--batch-size", "16", "--ranks", "3", "--devices", "3", "--data",
                             data.folder.path(), "--json", out / "json"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  const std::string json = read_file(out / "json");
  CHECK_THAT(json, Contains("\"max_parameter_difference\": 0.0") && Contains("\"mib_moved_per_step\""));
  for (const char* mode : {"single", "dp", "ddp_local"}) CHECK_THAT(json, Contains("\"" + std::string(mode) + "\""));
  CHECK((json.find("\"ddp_gloo\"") != std::string::npos) ==
        (result.output.find("ddp_gloo is left out") == std::string::npos));
  const Result local = run({"demo", "--mode", "ddp", "--backend", "local", "--model", "mlp", "--batch-size", "16",
                            "--data", data.folder.path()});
  INFO(local.output);
  CHECK(local.status == 0);
  CHECK_THAT(local.output, Contains("ddp_local") && !Contains("ddp_gloo "));
  const Result small = run({"demo", "--batch-size", "2", "--ranks", "3", "--data", data.folder.path()});
  CHECK(small.status == 2);
  CHECK_THAT(small.output, Contains("a batch of 2 images for 3 devices or ranks"));
}

TEST_CASE("a mode that cannot be is left out of all, and refused by name", "[command]") {
  const Data data;
  const Result all = run(data.demo({"--mode", "single,ddp", "--backend", "nccl", "--device", "cpu"}));
  INFO(all.output);
  CHECK(all.status == 0);
  CHECK_THAT(all.output, Contains("single") && Contains("ddp_nccl is left out: NCCL needs GPUs"));
  const Result named = run(data.demo({"--mode", "ddp_nccl", "--device", "cpu"}));
  CHECK(named.status == 2);
  CHECK_THAT(named.output, Contains("demo: --mode ddp_nccl cannot run here: NCCL needs GPUs"));
}

TEST_CASE("data that cannot be is an error that names the file and the values", "[command]") {
  struct Case {
    const char* name;
    std::function<void(const Data&)> corrupt;
    std::string words;
  };
  const std::vector<Case> cases = {
      {"missing", [](const Data& d) { std::filesystem::remove(d.path("train", true)); }, "there is neither"},
      {"missing test labels", [](const Data& d) { std::filesystem::remove(d.path("t10k", false)); }, "t10k-labels"},
      {"empty", [](const Data& d) { write_file(d.path("train", true), ""); }, "no magic number"},
      {"truncated",
       [](const Data& d) { write_file(d.path("train", true), read_file(d.path("train", true)).substr(0, 10000)); },
       "31360 bytes; a file of this length holds at most 10000"},
      {"a little truncated",
       [](const Data& d) { write_file(d.path("train", true), read_file(d.path("train", true)).substr(0, 31000)); },
       "need 31360 bytes, but it has 30984"},
      {"truncated gzip",
       [](const Data& d) {
         const std::string bytes = gzip(read_file(d.path("train", true)));
         write_file(d.path("train", true), bytes.substr(0, bytes.size() / 2));
       },
       "its gzip stream does not end"},
      {"too long", [](const Data& d) { write_file(d.path("t10k", false), idx_bytes({10}, some_bytes(11))); },
       "has more data than the 10 bytes"},
      {"labels in the place of images",
       [](const Data& d) { write_file(d.path("train", true), read_file(d.path("train", false))); },
       "has 1 dimensions; accepted: 3"},
      {"no IDX file", [](const Data& d) { write_file(d.path("train", true), "<html>not found</html>"); },
       "not an IDX file"},
      {"of another type",
       [](const Data& d) { write_file(d.path("train", false), idx_bytes({40}, some_bytes(160), 13)); },
       "has elements of type 13; accepted: 8"},
      {"of other sizes",
       [](const Data& d) {
         write_file(d.path("train", true), idx_bytes({40, 14, 56}, some_bytes(31360)));
       },
       "14 x 56 pixels; accepted: 28 x 28"},
      {"more images than labels",
       [](const Data& d) {
         write_file(d.path("train", true), idx_bytes({41, 28, 28}, some_bytes(32144)));
       },
       "has 41 images"},
      {"a label out of range",
       [](const Data& d) { write_file(d.path("train", false), idx_bytes({40}, std::string(40, '\x0b'))); },
       "is 11; accepted: 0 to 9"},
      {"a header that asks for all memory",
       [](const Data& d) {
         write_file(d.path("train", true), idx_bytes({0xffffffff, 0xffff, 0xffff}, "x"));
       },
       "more than memory can address"},
  };
  for (const Case& c : cases) {
    const Data data;
    const TemporaryFolder out;
    c.corrupt(data);
    const Result result = run(data.demo({"--save", out / "state", "--json", out / "json"}));
    INFO(c.name << ": " << result.output);
    CHECK(result.status == (std::string(c.name).starts_with("missing") ? 2 : 1));
    CHECK_THAT(result.output, Contains(c.words) && Contains(data.folder.path()));
    CHECK(out.count() == 0);
  }
}

TEST_CASE("a state that does not fit is an error that names the file and what clashes", "[command]") {
  const Data data;
  const TemporaryFolder out;
  REQUIRE(run({"demo", "--mode", "single", "--model", "lenet", "--epochs", "0", "--data", data.folder.path(), "--save",
               out / "lenet"})
              .status == 0);
  write_file(out / "cut", read_file(out / "lenet").substr(0, 50000));
  write_file(out / "text", "this is neither of the formats");
  for (const auto& [name, words] :
       {std::pair("nowhere", "there is no file"), std::pair("lenet", "'fc1.weight' of (50, 320)"),
        std::pair("cut", "truncated"), std::pair("text", "neither a zip file of torch.save nor safetensors")}) {
    const Result result = run(data.demo({"--load", out / name, "--save", out / "new"}));
    INFO(name << ": " << result.output);
    CHECK(result.status == (std::string(name) == "nowhere" ? 2 : 1));
    CHECK_THAT(result.output, Contains(out / name) && Contains(words));
  }
  CHECK(out.count() == 3);
}

TEST_CASE("where nothing can be written, the demo says so before it trains", "[command]") {
  const Data data;
  const TemporaryFolder out;
  for (const char* option : {"--save", "--json", "--report"})
    for (const std::string& place : {out / "no/such/file", out.path()}) {
      const Result result = run(data.demo({option, place}));
      INFO(result.output);
      CHECK(result.status == 2);
      CHECK_THAT(result.output, Contains(option) && Contains(place) && !Contains("samples/s"));
    }
  CHECK(out.count() == 0);
}

TEST_CASE("a disk that fills up leaves no half-written file", "[command]") {
  const Data data;
  const TemporaryFolder out;
  const Result save = run(data.demo({"--save", out / "state"}), 100'000);
  INFO(save.output);
  CHECK(save.status == 1);
  CHECK_THAT(save.output, Contains(out / "state") && Contains("File too large"));
  CHECK_THAT(save.output, Contains("test accuracy"));  // measured results are printed although saving failed
  const Result json = run(data.demo({"--json", out / "json"}), 100);
  INFO(json.output);
  CHECK(json.status == 1);
  CHECK_THAT(json.output, Contains(out / "json") && Contains("File too large"));
  CHECK(out.count() == 0);
  const Result printed = run({"--help"}, RLIM_INFINITY, "/dev/full");
  CHECK(printed.status == 1);
  CHECK_THAT(printed.output, Contains("standard output: No space left on device"));
}

TEST_CASE("arguments that cannot be are refused by name", "[command]") {
  const Data data;
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--model", "resnet"},
                                                                     {"--epochs", "-1"},
                                                                     {"--batch-size", "0"},
                                                                     {"--threads", "many"},
                                                                     {"--no-such-option", "1"}}) {
    const Result result = run(data.demo(arguments));
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK_THAT(result.output, Contains(arguments[0]));
  }
}
