// Tests `tandem show`: its listing of files written by Tandem, PyTorch and LibTorch, and its errors for other files.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const std::string kPyTorch = std::string(kFixtures) + "/pytorch/";

std::string show_output(const std::string& path) {
  const Result result = run_program(kCommand, {"show", path});
  INFO(result.output);
  CHECK(result.status == 0);
  return result.output;
}

}  // namespace

TEST_CASE("show lists the tensors and the metadata of safetensors", "[command][show]") {
  const TemporaryFolder folder;
  const std::string path = folder / "net.safetensors";
  save_safetensors({{"fc.weight", zeros({10, 3})}, {"fc.bias", zeros({10}, kFloat16)}, {"höhe", ones({})}}, path,
                   {{"format", "pt"}});
  CHECK(show_output(path) == path + R"(: safetensors; tensors: 3, elements: 41, bytes: 144

name       dtype    shape    bytes
fc.bias    float16  (10,)       20
fc.weight  float32  (10, 3)    120
höhe       float32  ()           4

metadata
  format  "pt"
)");
  write_file(folder / "model.json", R"({"weight_map": {"fc.weight": "net.safetensors", "fc.bias": "net.safetensors",
                                        "höhe": "net.safetensors"}})");
  CHECK_THAT(show_output(folder / "model.json"),
             Contains(": safetensors in several files; tensors: 3, elements: 41, bytes: 144\n"));
}

// The file was saved by tests/fixtures/make_pytorch_files.py.
TEST_CASE("show lists what PyTorch has saved", "[command][show]") {
  CHECK(show_output(kPyTorch + "python_state_dict.pt") ==
        kPyTorch + R"(python_state_dict.pt: torch.save; tensors: 9, elements: 38, bytes: 156

name                   dtype    shape   bytes
0.weight               float32  (4, 3)     48
0.bias                 float32  (4,)       16
1.weight               float32  (4,)       16
1.bias                 float32  (4,)       16
1.running_mean         float32  (4,)       16
1.running_var          float32  (4,)       16
1.num_batches_tracked  int64    ()          8
2.weight               float32  (1, 4)     16
2.bias                 float32  (1,)        4
)");
  const std::string all = show_output(kPyTorch + "python_everything.pt");
  // The tensors base, view and expanded share a storage, so storages take 318 - 12 (view) - 32 (transposed) - 24
  // (expanded) bytes.
  CHECK_THAT(
      all,
      Contains("bytes: 318\nthe storages take 250 bytes: some tensors share a storage, or view only a part of it\n"));
  for (const char* line :
       {"\nempty                             float32   (0, 4)      0\n", "\nnested.deeper.dict.list.0.wéight",
        "\n  nested.floats    [0.1,-1e+300,\"inf\"]\n", "\n  nested.flags     [true,false,null]\n",
        "\n  nested.tuples.0  []\n", "\n  nested.deeper.7  \"seven\"\n", "\n  dtypes           [\"float32\",",
        "\n  strings          [\"\",\"aaaaaaaa"})
    CHECK_THAT(all, Contains(line));
  CHECK_THAT(show_output(kPyTorch + "libtorch_module.pt"), Contains(": torch.save; tensors: "));
  CHECK_THAT(show_output(kPyTorch + "libtorch_tensor.pt"), Contains("\n0     "));
}

TEST_CASE("show --json writes whole values, and a terminal sees no control characters", "[command][show]") {
  const TemporaryFolder folder;
  serialize::OutputArchive archive;
  const Tensor x = ones({4, 2});
  archive.write("x", x);
  archive.write("row", x[1]);
  archive.write("red\x1b[31m", IValue("a\x1b[31m" + std::string(100, 'b')));
  archive.write("loss", IValue(std::numeric_limits<double>::quiet_NaN()));
  archive.write("epoch", IValue(3));
  archive.save_to(folder / "state.pt");
  const Result result = run_program(kCommand, {"show", folder / "state.pt", "--json", folder / "list.json"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.output, !Contains("\x1b") && Contains("red\\u001b[31m") && Contains("bbb...\n"));
  const auto json = nlohmann::json::parse(read_file(folder / "list.json"));
  CHECK(json.at("format") == "torch.save");
  CHECK(json.at("elements") == 10);
  CHECK(json.at("bytes") == 40);
  CHECK(json.at("storage_bytes") == 32);
  CHECK(json.at("tensors")[1] == nlohmann::json({{"name", "row"}, {"dtype", "float32"}, {"shape", {2}}, {"bytes", 8}}));
  CHECK(json.at("values")[0].at("name") == "red\x1b[31m");
  CHECK(json.at("values")[0].at("value") == "a\x1b[31m" + std::string(100, 'b'));
  CHECK(json.at("values")[1] == nlohmann::json({{"name", "loss"}, {"value", "nan"}}));
  CHECK(json.at("values")[2] == nlohmann::json({{"name", "epoch"}, {"value", 3}}));
}

TEST_CASE("show says what is wrong with a file, and ends with 2", "[command][show][errors]") {
  const TemporaryFolder folder;
  const std::string whole = read_file(kPyTorch + "python_state_dict.pt");
  write_file(folder / "cut.pt", whole.substr(0, whole.size() / 2));
  std::string tensors = read_file(std::string(kFixtures) + "/small.safetensors");
  tensors.pop_back();
  write_file(folder / "cut.safetensors", tensors);
  write_file(folder / "text", "neither of the formats");
  write_file(folder / "empty", "");
  write_file(folder / "report.json", "{}");
  IValue twice(1);  // nested lists with 2^100 leaves
  for (int i = 0; i < 100; ++i) twice = IValue::list({twice, twice});
  serialize::OutputArchive archive;
  archive.write("twice", twice);
  archive.save_to(folder / "twice.pt");
  for (const auto& [path, words] :
       {std::pair(folder / "nowhere", "No such file"), std::pair(folder.path(), "is not a file"),
        std::pair(folder / "cut.pt", "truncated"), std::pair(folder / "cut.safetensors", "truncated"),
        std::pair(folder / "text", "neither a zip file of torch.save nor safetensors"),
        std::pair(folder / "empty", "its 0 bytes are neither"), std::pair(folder / "report.json", "no weight_map"),
        std::pair(folder / "twice.pt", "the values and their names take more than"),
        std::pair(kPyTorch + "python_legacy.pt", "before PyTorch 1.6"),
        std::pair(kPyTorch + "python_refused_module.pt", "torch.nn")}) {
    const Result result = run_program(kCommand, {"show", path, "--json", folder / "list.json"});
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK_THAT(result.output, Contains(path) && Contains(words) && !Contains(".cpp:"));
  }
  CHECK(::access((folder / "list.json").c_str(), F_OK) != 0);
}
