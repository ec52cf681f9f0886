#include "tandem/serialize/safetensors.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const std::string kPythons = std::string(kFixtures) + "/small.safetensors";

std::string content(const Tensor& t) {
  return {static_cast<const char*>(t.raw_data()), static_cast<size_t>(t.nbytes())};
}

std::string file_bytes(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(uint64_t{header.size()} >> (8 * i));
  return out + header + data;
}

template <class T> Tensor of(IntArrayRef sizes, T (*value)(int64_t)) {
  Tensor t = core::empty(sizes, dtype_of<T>(), kCPU);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = value(i);
  return t;
}

/// Checks that a mutated file is either read or throws an Error that names the file.
void fuzz(size_t rounds) {
  const TemporaryFolder folder = TemporaryFolder::in_memory();
  const std::string path = folder / "mutated";
  const std::string good = read_file(kPythons);
  const size_t header = 8 + good.find("     ", 8);
  std::mt19937_64 random(2);
  size_t errors = 0;
  for (size_t i = 0; i < rounds; ++i) {
    // In every second round only the header changes, with its length corrected, so that the mutation reaches the JSON
    // parser.
    std::string bytes = i % 2 ? mutate(good, random) : "";
    if (bytes.empty()) {
      const std::string json = good.substr(8, header - 8);
      bytes = file_bytes(mutate(json, random), good.substr(8 + json.size()));
    }
    write_file(path, bytes);
    try {
      int64_t total = 0;
      for (const auto& [name, tensor] : load_safetensors(path)) total += tensor.nbytes();
      REQUIRE(total <= static_cast<int64_t>(bytes.size()));
    } catch (const Error& e) {
      ++errors;
      if (std::string(e.what()).find(path) == std::string::npos) FAIL(e.what());
    }
  }
  REQUIRE(errors > rounds / 4);  // some mutations change names or numbers only, which is no error
}

}  // namespace

TEST_CASE("a file of Python's safetensors reads, and is written with the same bytes", "[serialize]") {
  SafetensorsMetadata metadata;
  const NamedTensors read = load_safetensors(kPythons, &metadata);
  REQUIRE(metadata == SafetensorsMetadata{{"format", "pt"}});
  const NamedTensors expected = {
      {"float32", of<float>({2, 3}, [](int64_t i) { return static_cast<float>(i) / 4; })},
      {"float64", of<double>({6}, [](int64_t i) { return static_cast<double>(static_cast<float>(i) / 3); })},
      {"float16", of<Half>({6}, [](int64_t i) { return Half(static_cast<float>(i) / 4); })},
      {"bfloat16", of<BFloat16>({6}, [](int64_t i) { return BFloat16(static_cast<float>(i) / 4); })},
      {"int64", of<int64_t>({6}, [](int64_t i) { return i - 3; })},
      {"int32", of<int32_t>({3, 2}, [](int64_t i) { return static_cast<int32_t>(i * 100000); })},
      {"int16", of<int16_t>({6}, [](int64_t i) { return static_cast<int16_t>(i * -1000); })},
      {"int8", of<int8_t>({6}, [](int64_t i) { return static_cast<int8_t>(i - 3); })},
      {"uint8", of<uint8_t>({6}, [](int64_t i) { return static_cast<uint8_t>(i * 50); })},
      {"bool", of<bool>({6}, [](int64_t i) { return i % 2 == 0; })},
      {"scalar", of<float>({}, [](int64_t) { return 2.5f; })},
      {"empty", core::empty({0, 4}, kFloat32, kCPU)},
      {"layer.0.wéight", of<float>({1, 1, 1}, [](int64_t) { return 1.f; })}};
  REQUIRE(read.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    REQUIRE(read.count(name) == 1);
    REQUIRE(read.at(name).dtype() == tensor.dtype());
    REQUIRE(read.at(name).sizes() == tensor.sizes());
    REQUIRE(content(read.at(name)) == content(tensor));
  }
  const TemporaryFolder folder;
  save_safetensors(expected, folder / "ours", metadata);
  REQUIRE(read_file(folder / "ours") == read_file(kPythons));
}

TEST_CASE("views are saved as the elements that they show", "[serialize]") {
  const TemporaryFolder folder;
  const Tensor t = of<int32_t>({2, 3}, [](int64_t i) { return static_cast<int32_t>(i); });
  save_safetensors(NamedTensors{{"t", core::transpose(t, 0, 1)}}, folder / "t");
  const Tensor read = load_safetensors(folder / "t").at("t");
  REQUIRE(read.sizes() == IntArrayRef{3, 2});
  REQUIRE(std::vector<int32_t>(read.data_ptr<int32_t>(), read.data_ptr<int32_t>() + 6) ==
          std::vector<int32_t>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("tensors are named in the call", "[serialize]") {
  const TemporaryFolder folder;
  const Tensor t = arange(3.0), u = full({2}, 7, kInt64);
  save_safetensors({{"a", t}, {"b", u}}, folder / "two");
  const NamedTensors found = load_safetensors(folder / "two");
  REQUIRE(found.size() == 2);
  CHECK(found.at("a").equal(t));
  CHECK(found.at("b").equal(u));
}

TEST_CASE("files without tensors, and of one tensor", "[serialize]") {
  const TemporaryFolder folder;
  save_safetensors(NamedTensors{}, folder / "none");
  REQUIRE(read_file(folder / "none") == file_bytes("{}      ", ""));
  REQUIRE(load_safetensors(folder / "none").empty());
  const Tensor t = of<float>({3}, [](int64_t i) { return static_cast<float>(i); });
  save(t, folder / "one");
  Tensor read;
  load(read, folder / "one");
  REQUIRE(content(read) == content(t));
  REQUIRE_THROWS_WITH(load(read, kPythons), Contains("holds 13 tensors"));
}

TEST_CASE("every defect of a safetensors file is an error that names the file and the values", "[serialize]") {
  const TemporaryFolder folder;
  const std::string path = folder / "bad";
  const auto refuses = [&](const std::string& bytes, const std::string& words) {
    write_file(path, bytes);
    REQUIRE_THROWS_WITH(load_safetensors(path), Contains(path) && Contains(words));
  };
  const auto header = [&](const std::string& json, const std::string& words, size_t bytes = 8) {
    INFO(json);
    refuses(file_bytes(json, std::string(bytes, '\0')), words);
  };
  const std::string two = R"("dtype":"F32","shape":[2],"data_offsets":)";
  REQUIRE_THROWS_WITH(load_safetensors(folder / "nowhere"), Contains("nowhere") && Contains("No such file"));
  REQUIRE_THROWS_WITH(load_safetensors(folder.path()), Contains("is not a file"));
  refuses("", "0 bytes");
  refuses("1234567", "7 bytes");
  refuses(file_bytes(std::string(20, ' '), "").substr(0, 20), "declares a header of 20 bytes; accepted: up to 12");
  refuses(std::string(8, '\xff'), "declares a header");
  refuses(std::string("PK\3\4\0\0\x8\x8", 8) + "net/data.pkl", "is a zip file, as Python's torch.save writes");
  header("", "not valid JSON");
  header("{", "not valid JSON");
  header("\xff\xfe", "not valid JSON");
  header("[1]", "not a JSON object");
  header(std::string(100000, '['), "nests deeper than 8 levels");
  header(R"({"a":{)" + two + "[0,8]}} x", "not valid JSON");
  header(R"({"a":1})", "'a'");
  header(R"({"a":{"dtype":"F32","shape":[2]}})", "no data_offsets");
  header(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "no dtype");
  header(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "no shape");
  header(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", "F8_E4M3");
  header(R"({"a":{"dtype":5,"shape":[8],"data_offsets":[0,8]}})", "dtype 5");
  header(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "shape of 'a'");
  header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "-2");
  header(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "2.0");
  header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12 bytes, but its data_offsets are 0 to 8");
  header(R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,3],"data_offsets":[0,0]}})", "more than memory", 0);
  header(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", "more than memory");
  header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", "more than memory");
  header(R"({"a":{)" + two + "[8,0]}}", "8 to 0");
  header(R"({"a":{)" + two + "[0]}}", "data_offsets of 'a'");
  header(R"({"a":{)" + two + "[0,8]}}", "truncated", 4);
  header(R"({"a":{)" + two + "[0,8]}}", "has extra bytes", 9);
  header(R"({"a":{)" + two + "[8,16]}}", "after unused bytes", 16);
  header(R"({"a":{)" + two + R"([0,8]},"b":{)" + two + "[4,12]}}", "within the tensor before it", 12);
  header(R"({"a":{)" + two + R"([0,8]},"b":{)" + two + "[0,8]}}", "within the tensor before it");
  header(R"({"a":{)" + two + R"([0,8]},"a":{)" + two + "[8,16]}}", "'a' twice", 16);
  header(R"({"a":{"dtype":"F32",)" + two + "[0,8]}}", "'dtype' twice");
  header(R"({"__metadata__":{"a":1}})", "'a'", 0);
  header(R"({"__metadata__":"a"})", "not an object", 0);
  refuses(file_bytes(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2"), "bool 1 of 'a'");
}

TEST_CASE("mutated safetensors files give errors only", "[serialize][fuzz][one_thread]") { fuzz(2000); }
TEST_CASE("100,000 mutated safetensors files give errors only", "[serialize][fuzz][.][long]") { fuzz(100000); }

TEST_CASE("what cannot be saved is refused, and nothing is left behind", "[serialize]") {
  const TemporaryFolder folder;
  const Tensor t = core::scalar(1, kFloat32, kCPU);
  const std::string path = folder / "file";
  using List = std::vector<std::pair<std::string, Tensor>>;
  REQUIRE_THROWS_WITH(save_safetensors(List{{"a", t}, {"a", t}}, path), Contains(path) && Contains("named 'a'"));
  REQUIRE_THROWS_WITH(save_safetensors(List{{"__metadata__", t}}, path), Contains("__metadata__"));
  REQUIRE_THROWS_WITH(save_safetensors(List{{"a", Tensor()}}, path), Contains("'a'") && Contains("undefined"));
  REQUIRE_THROWS_WITH(save_safetensors(List{{"\xff", t}}, path), Contains(path) && Contains("UTF-8"));
  REQUIRE_THROWS_WITH(save_safetensors(List{{"a", t}}, folder / "no/such/file"), Contains("no/such/file"));
  REQUIRE(folder.count() == 0);
}

TEST_CASE("a disk that is full leaves the old file and nothing half-written", "[serialize]") {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  save(core::scalar(1, kFloat32, kCPU), path);
  const std::string before = read_file(path);
  // A limit on file sizes stands for a full disk: write() fails at the same point, with another error.
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  rlimit small = old;
  small.rlim_cur = 4096;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string message;
  try {
    save(core::empty({100000}, kFloat32, kCPU), path);
  } catch (const Error& e) {
    message = e.what();
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
  std::signal(SIGXFSZ, old_handler);
  REQUIRE_THAT(message, Contains(path) && Contains("File too large"));
  REQUIRE(read_file(path) == before);
  REQUIRE(folder.count() == 1);
}

TEST_CASE("a header that nests without end is an error", "[serialize]") {
  const TemporaryFolder folder;
  const std::string open(500000, '['), close(500000, ']');
  for (const std::string& shape : {open + close, open, "[" + open + "1" + close + "]"}) {
    write_file(folder / "deep",
               file_bytes(R"({"a":{"dtype":"F32","data_offsets":[0,4],"shape":)" + shape + "}}", "abcd"));
    REQUIRE_THROWS_WITH(load_safetensors(folder / "deep"), Contains(folder / "deep") && Contains("nests deeper"));
  }
}

TEST_CASE("what is not a file is neither read nor replaced", "[serialize]") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE_THROWS_WITH(load_safetensors(pipe), Contains(pipe) && Contains("is not a file"));
  REQUIRE_THROWS_WITH(save(core::scalar(1, kFloat32, kCPU), pipe), Contains(pipe) && Contains("is not a file"));
  REQUIRE_THROWS_WITH(save(core::scalar(1, kFloat32, kCPU), folder.path()), Contains("is not a file"));
  REQUIRE(std::filesystem::is_fifo(pipe));
  REQUIRE(folder.count() == 1);
}

TEST_CASE("threads that save to one path leave one whole file", "[serialize]") {
  const TemporaryFolder folder;
  const std::string path = folder / "shared";
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Tensor mine = core::empty({1000 * (t + 1)}, kInt64, kCPU);
      std::fill_n(mine.data<int64_t>(), mine.numel(), t);
      for (int i = 0; i < 10; ++i) save(mine, path);
    });
  for (std::thread& t : threads) t.join();
  Tensor read;
  load(read, path);
  const int64_t winner = read.data<int64_t>()[0];
  REQUIRE(read.numel() == 1000 * (winner + 1));
  for (int64_t i = 0; i < read.numel(); ++i) REQUIRE(read.data<int64_t>()[i] == winner);
  REQUIRE(folder.count() == 1);
}
