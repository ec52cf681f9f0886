#include "tandem/data/idx.h"

#include <filesystem>
#include <random>

#include "tandem/data/mnist.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;
using data::read_idx;
using data::datasets::FashionMNIST;
using data::datasets::MNIST;

namespace {

std::string content(const Tensor& t) {
  return {static_cast<const char*>(t.raw_data()), static_cast<size_t>(t.nbytes())};
}

void write_set(const TemporaryFolder& folder, const std::string& prefix, uint32_t images, const std::string& labels) {
  write_file(folder / (prefix + "-images-idx3-ubyte"), idx_bytes({images, 28, 28}, some_bytes(images * 784)));
  write_file(folder / (prefix + "-labels-idx1-ubyte.gz"),
             gzip(idx_bytes({static_cast<uint32_t>(labels.size())}, labels)));
}

/// Checks that a mutated file is either read or throws an Error that names the file.
void fuzz(size_t rounds) {
  const TemporaryFolder folder = TemporaryFolder::in_memory();
  const std::string path = folder / "mutated";
  const std::string plain = idx_bytes({3, 4, 5}, some_bytes(60));
  std::mt19937_64 random(1);
  size_t errors = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const std::string bytes = i % 2   ? mutate(plain, random)
                              : i % 4 ? mutate(gzip(plain), random)
                                      : gzip(mutate(plain, random));
    write_file(path, bytes);
    try {
      const int64_t read = read_idx(path, 3).nbytes();
      REQUIRE(read <= static_cast<int64_t>(bytes.size() * 1032));
    } catch (const Error& e) {
      ++errors;
      if (std::string(e.what()).find(path) == std::string::npos) FAIL(e.what());
    }
  }
  REQUIRE(errors > rounds / 2);  // some mutations change pixels only, which is no error
}

}  // namespace

TEST_CASE("an IDX file reads the same plain and gzipped", "[data][idx]") {
  const TemporaryFolder folder;
  const std::string pixels = some_bytes(2 * 300 * 200);
  const std::string bytes = idx_bytes({2, 300, 200}, pixels);
  for (const std::string& written : {bytes, gzip(bytes)}) {
    write_file(folder / "a", written);
    const Tensor read = read_idx(folder / "a", 3);
    REQUIRE(read.sizes() == IntArrayRef{2, 300, 200});
    REQUIRE(read.dtype() == kUInt8);
    REQUIRE(content(read) == pixels);
  }
  write_file(folder / "empty", gzip(idx_bytes({0, 28, 28}, "")));
  REQUIRE(read_idx(folder / "empty", 3).sizes() == IntArrayRef{0, 28, 28});
}

TEST_CASE("a gzipped IDX file may have several members, cut anywhere", "[data][idx]") {
  const TemporaryFolder folder;
  const std::string pixels = some_bytes(300 * 300), bytes = idx_bytes({300, 300}, pixels);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{7}, bytes.size() / 2, bytes.size() - 1, bytes.size()}) {
    write_file(folder / "two", gzip(bytes.substr(0, cut)) + gzip(bytes.substr(cut)));
    INFO(cut);
    CHECK(content(read_idx(folder / "two", 2)) == pixels);
  }
  std::string many;  // members of few bytes, so that they begin at all positions in the blocks that are read
  for (size_t i = 0; i < bytes.size(); i += 17) many += gzip(bytes.substr(i, 17));
  REQUIRE(many.size() > (1 << 16));
  write_file(folder / "many", many);
  CHECK(content(read_idx(folder / "many", 2)) == pixels);
  const auto refuses = [&](const std::string& written, const std::string& words) {
    write_file(folder / "bad", written);
    CHECK_THROWS_WITH(read_idx(folder / "bad", 2), Contains(folder / "bad") && Contains(words));
  };
  const std::string two = gzip(bytes.substr(0, 50)) + gzip(bytes.substr(50));
  refuses(two.substr(0, two.size() - 1), "truncated");
  refuses(gzip(bytes.substr(0, bytes.size() - 9)), "truncated");
  refuses(two + "x", "bytes after the end");
  refuses(two + gzip("x"), "has more data than");
  refuses(two + "\x1f\x8b", "truncated");
}

TEST_CASE("data sets are found under names with a dot, plain and gzipped", "[data][idx]") {
  const TemporaryFolder folder;
  const std::string image =
      data::find_idx((write_digits(folder.path(), 3, 2), folder.path()), "train-images-idx3-ubyte");
  std::filesystem::rename(image, folder / "train-images.idx3-ubyte");
  const std::string labels = read_file(folder / "train-labels-idx1-ubyte");
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  CHECK_THROWS_WITH(MNIST(folder.path()), Contains("Error opening targets file at ") &&
                                              Contains("train-labels-idx1-ubyte.gz") &&
                                              Contains("train-labels.idx1-ubyte"));
  write_file(folder / "train-labels.idx1-ubyte.gz", gzip(labels));
  CHECK(MNIST(folder.path()).size() == 3);
  CHECK(FashionMNIST(folder.path(), FashionMNIST::Mode::kTest).size() == 2);
}

TEST_CASE("every defect of an IDX file is an error that names the file and the values", "[data][idx]") {
  const TemporaryFolder folder;
  const std::string path = folder / "bad";
  const std::string good = idx_bytes({2, 3, 4}, some_bytes(24));
  const auto refuses = [&](const std::string& bytes, const std::string& words) {
    write_file(path, bytes);
    REQUIRE_THROWS_WITH(read_idx(path, 3), Contains(path) && Contains(words));
  };
  REQUIRE_THROWS_WITH(read_idx(folder / "nowhere", 3), Contains("there is no file") && Contains("nowhere"));
  REQUIRE_THROWS_WITH(read_idx(folder.path(), 3), Contains("is not a file"));
  refuses("", "no magic number");
  refuses(good.substr(0, 3), "no magic number");
  refuses(good.substr(0, 9), "is truncated: it ends within the sizes of its 3 dimensions");
  refuses(good.substr(0, good.size() - 1), "need 24 bytes, but it has 23");
  refuses(gzip(good.substr(0, good.size() - 1)), "need 24 bytes, but it has 23");
  refuses(gzip(good).substr(0, 30), "truncated");
  refuses(good + "x", "has more data than the 24 bytes");
  refuses(gzip(good + "x"), "has more data than the 24 bytes");
  refuses(gzip(good) + "x", "after the end of its gzip stream");
  refuses("PK" + good, "begins with bytes 80, 75");
  refuses(idx_bytes({2, 3, 4}, some_bytes(24), 13), "type 13");
  refuses(idx_bytes({24}, some_bytes(24)), "has 1 dimensions; accepted: 3");
  refuses(idx_bytes({1u << 20, 1u << 20, 1}, ""), "holds at most");
  refuses(gzip(idx_bytes({4000000000u, 28, 28}, "")), "holds at most");
  refuses(idx_bytes({4000000000u, 4000000000u, 4000000000u}, ""), "more than memory can address");
  std::string damaged = gzip(good);
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // changes the checksum
  refuses(damaged, "damaged");
}

TEST_CASE("mutated IDX files give errors only", "[data][idx][fuzz][one_thread]") { fuzz(2000); }
TEST_CASE("100,000 mutated IDX files give errors only", "[data][idx][fuzz][.][long]") { fuzz(100000); }

TEST_CASE("MNIST scales pixels to 0-1 and gives one example or many", "[data][mnist]") {
  const TemporaryFolder folder;
  write_set(folder, "train", 5, "\3\1\4\1\5");
  write_set(folder, "t10k", 0, "");
  MNIST train(folder.path());
  REQUIRE(train.is_train());
  REQUIRE(train.size() == 5);
  const std::string bytes = some_bytes(5 * 784);
  const auto pixel = [&](size_t i) { return static_cast<float>(static_cast<uint8_t>(bytes[i])) / 255.f; };
  const Tensor all = train.images();
  REQUIRE(all.sizes() == IntArrayRef{5, 1, 28, 28});
  for (size_t i = 0; i < bytes.size(); ++i)
    if (all.data_ptr<float>()[i] != pixel(i)) FAIL("pixel " << i << " differs");
  const auto one = train.get(4);
  REQUIRE(one.data.sizes() == IntArrayRef{1, 28, 28});
  REQUIRE(one.target.dim() == 0);
  REQUIRE(*one.target.data_ptr<int64_t>() == 5);
  const std::vector<size_t> indices{4, 0, 4};
  const auto many = train.get_stacked(indices);
  const auto stacked = data::transforms::Stack<>().apply_batch(train.get_batch(indices));
  REQUIRE(content(many.data) == content(stacked.data));
  REQUIRE(many.target.sizes() == stacked.target.sizes());
  REQUIRE(content(many.target) == content(stacked.target));
  REQUIRE_THROWS_AS(train.get(5), IndexError);
  REQUIRE_THROWS_AS(train.get_stacked(std::vector<size_t>{5}), IndexError);

  FashionMNIST test(folder.path(), FashionMNIST::Mode::kTest);
  REQUIRE_FALSE(test.is_train());
  REQUIRE(test.size() == 0);
  REQUIRE(test.images().sizes() == IntArrayRef{0, 1, 28, 28});
}

TEST_CASE("MNIST refuses files that do not belong together", "[data][mnist]") {
  const TemporaryFolder folder;
  REQUIRE_THROWS_WITH(MNIST(folder.path()),
                      Contains("Error opening images file at ") && Contains("train-images-idx3-ubyte.gz"));
  write_set(folder, "train", 2, "\1\2\3");
  REQUIRE_THROWS_WITH(MNIST(folder.path()), Contains("2 images") && Contains("3 labels"));
  write_set(folder, "train", 2, "\1\12");
  REQUIRE_THROWS_WITH(MNIST(folder.path()), Contains("label 1") && Contains("is 10"));
  write_file(folder / "train-images-idx3-ubyte", idx_bytes({2, 14, 14}, some_bytes(392)));
  REQUIRE_THROWS_WITH(MNIST(folder.path()), Contains("14 x 14"));
  // The labels' file under the name of the images.
  write_file(folder / "train-images-idx3-ubyte", idx_bytes({2}, "\1\2"));
  REQUIRE_THROWS_WITH(MNIST(folder.path()), Contains("1 dimensions; accepted: 3"));
}
