#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/serialize/pytorch_files.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

void check_same(const Tensor& read, const Tensor& expected) {
  REQUIRE(read.dtype() == expected.dtype());
  REQUIRE(read.sizes() == expected.sizes());
  const Tensor ours = read.detach().contiguous(), theirs = expected.contiguous();
  if (theirs.numel() > 0)
    CHECK(std::memcmp(ours.raw_data(), theirs.raw_data(), static_cast<size_t>(theirs.nbytes())) == 0);
}

/// Checks the value that make_pytorch_files.py calls `everything`.
void check_everything(const IValue& read) {
  const Tensor n = arange(6);
  const std::vector<std::pair<std::string, Tensor>> expected = {{"float32", n.to(kFloat32).div(4).reshape({2, 3})},
                                                                {"float64", n.to(kFloat32).div(3).to(kFloat64)},
                                                                {"float16", n.to(kFloat32).div(4).to(kFloat16)},
                                                                {"bfloat16", n.to(kFloat32).div(4).to(kBFloat16)},
                                                                {"int64", n.sub(3)},
                                                                {"int32", n.mul(100000).to(kInt32).reshape({3, 2})},
                                                                {"int16", n.mul(-1000).to(kInt16)},
                                                                {"int8", n.sub(3).to(kInt8)},
                                                                {"uint8", n.mul(50).to(kUInt8)},
                                                                {"bool", n.remainder(2).eq(0)},
                                                                {"scalar", full({}, 2.5)},
                                                                {"empty", zeros({0, 4})},
                                                                {"transposed", arange(8.0).reshape({2, 4}).t()},
                                                                {"expanded", full({2, 3}, 7.0)},
                                                                {"trained", tensor({1.5f, -2.f})},
                                                                {"parameter", full({1, 1}, 3.0)}};
  for (const auto& [name, value] : expected) {
    INFO(name);
    check_same(read.at(name).toTensor(), value);
  }
  const Tensor base = read.at("base").toTensor(), view = read.at("view").toTensor();
  CHECK(view.storage() == base.storage());
  CHECK((view.storage_offset() == 2 && view.sizes() == IntArrayRef{3}));
  CHECK(read.at("transposed").toTensor().strides() == IntArrayRef{1, 4});
  CHECK(read.at("transposed").toTensor().storage() == base.storage());
  CHECK(read.at("expanded").toTensor().strides() == IntArrayRef{0, 0});
  CHECK((read.at("trained").toTensor().requires_grad() && read.at("parameter").toTensor().requires_grad()));
  CHECK(!base.requires_grad());

  const IValue& nested = read.at("nested");
  CHECK(nested.isOrderedDict());
  std::vector<int64_t> ints;
  for (const IValue& i : nested.at("ints").elements()) ints.push_back(i.toInt());
  CHECK(ints == std::vector<int64_t>{0, 255, 256, 70000, -1, int64_t{1} << 40, -(int64_t{1} << 62)});
  const auto& floats = nested.at("floats").elements();
  CHECK((floats[0].toDouble() == 0.1 && floats[1].toDouble() == -1e300 && std::isinf(floats[2].toDouble())));
  const auto& flags = nested.at("flags").elements();
  CHECK((flags[0].toBool() && !flags[1].toBool() && flags[2].isNone()));
  for (size_t i = 0; i < 5; ++i) CHECK(nested.at("tuples").elements()[i].elements().size() == i);
  const IValue& deeper = nested.at("deeper");
  check_same(deeper.at("dict").at("list").elements()[0].at("wéight").toTensor(), ones({1}));
  CHECK(deeper.at(7).toStringRef() == "seven");
  const auto& twice = read.at("twice").elements();
  CHECK(&twice[0].elements() == &twice[1].elements());
  CHECK((read.at("size").isTuple() && read.at("size").elements()[1].toInt() == 3));
  CHECK(read.at("devices").elements()[0].toDevice() == Device("cpu"));
  CHECK(read.at("devices").elements()[1].toDevice() == Device("cuda:1"));
  CHECK(read.at("dtypes").elements()[1].toDType() == kBFloat16);
  CHECK(read.at("strings").elements()[1].toStringRef() == std::string(300, 'a'));
  CHECK(read.at("strings").elements()[2].toStringRef() == "ünï");
}

}  // namespace

TEST_CASE("what Python's torch.save wrote is read bit by bit, and written and read again", "[serialize]") {
  const TemporaryFolder folder;
  for (const char* name : {"everything", "protocol5", "deflated"}) {
    INFO(name);
    IValue read;
    load(read, pytorch_file(std::string("python_") + name));
    check_everything(read);
    save(read, folder / "again");
    IValue again;
    load(again, folder / "again");
    check_everything(again);
    save(again, folder / "third");
    CHECK(read_file(folder / "again") == read_file(folder / "third"));
  }
}

TEST_CASE("files of the other byte order are read, those of the old format are refused by name", "[serialize]") {
  IValue read;
  load(read, pytorch_file("python_big_endian"));
  const Tensor n = arange(6);
  check_same(read.at("a").toTensor(), n.to(kFloat32).div(4));
  check_same(read.at("b").toTensor(), n.mul(-1000).to(kInt16));
  check_same(read.at("c").toTensor(), n.remainder(2).eq(0));
  check_same(read.at("d").toTensor(), n.to(kFloat64).div(3));
  REQUIRE_THROWS_WITH(load(read, pytorch_file("python_legacy")),
                      Contains("python_legacy.pt") && Contains("before PyTorch 1.6") && Contains("zip format"));
}

TEST_CASE("files with sizes of 64 bits are the same files", "[serialize]") {
  std::string bytes;
  IValue value = IValue::dict();
  value.insert("x", arange(5.0));
  detail::write_pytorch_file(
      value, [&](const void* from, uint64_t n) { bytes.append(static_cast<const char*>(from), n); }, 1);
  CHECK(read_bytes(bytes).at("x").toTensor().equal(arange(5.0)));
  // If the directory promises 64-bit sizes but has none, that is an error.
  const size_t directory = bytes.find("PK\1\2");
  std::string bad = bytes;
  // Overwrites the tag of the field with 64-bit sizes.
  bad[directory + 46 + std::string("archive/data.pkl").size()] = 9;
  REQUIRE_THROWS_WITH(read_bytes(bad), Contains("no 64-bit sizes"));
}

TEST_CASE("tensors keep their storages, strides and offsets through streams and memory", "[serialize]") {
  const Tensor base = arange(12.0).reshape({3, 4});
  const std::vector<Tensor> tensors{base, base.t(), base.narrow(1, 1, 2), zeros({0, 3}), full({}, 2), base};
  std::stringstream stream;
  save(tensors, stream);
  std::vector<Tensor> read;
  load(read, stream);
  REQUIRE(read.size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_same(read[i], tensors[i]);
    CHECK(read[i].strides() == tensors[i].strides());
    CHECK(read[i].storage_offset() == tensors[i].storage_offset());
    CHECK((read[i].storage() == read[0].storage()) == (tensors[i].storage() == base.storage()));
  }
  CHECK(read[5].is_same(read[0]));

  std::string bytes;
  save(tensors, [&](const void* from, size_t n) {
    bytes.append(static_cast<const char*>(from), n);
    return n;
  });
  std::vector<Tensor> again;
  load(again, bytes.data(), bytes.size());
  CHECK(again[2].equal(tensors[2]));
  load(
      again, [&](uint64_t at, void* to, size_t n) { return std::memcpy(to, &bytes[at], n), n; },
      [&] { return bytes.size(); });
  CHECK(again[1].equal(tensors[1]));
  const Tensor handle = zeros({2});
  Tensor given = handle;
  std::stringstream one;
  save(base, one);
  load(given, one);  // in place like LibTorch, so every handle sees the new values
  CHECK(handle.equal(base));
  REQUIRE_THROWS_WITH(save(tensors, [](const void*, size_t) { return size_t{0}; }), Contains("wrote 0 of"));
  REQUIRE_THROWS_WITH(save(Tensor(), stream), Contains("undefined"));
}

TEST_CASE("tensors of a GPU come back to the CPU, or to where they are wanted, as views of one storage",
          "[serialize]") {
  if (!cuda::is_available()) {
    WARN("SKIPPED: there is no GPU");
    return;
  }
  const Tensor base = arange(12.0).to(kCUDA).reshape({3, 4});
  std::stringstream stream;
  save(std::vector<Tensor>{base, base.t()}, stream);
  CHECK(stream.str().find("cuda:0") != std::string::npos);
  for (const auto& device : {std::optional<Device>(), std::optional<Device>(kCUDA)}) {
    const std::string bytes = stream.str();
    std::vector<Tensor> read;
    load(read, bytes.data(), bytes.size(), device);
    CHECK(read[0].device() == device.value_or(kCPU));
    CHECK((read[1].storage() == read[0].storage() && read[1].cpu().equal(base.cpu().t())));
  }
}

TEST_CASE("values behave as what they hold", "[serialize]") {
  IValue dict = IValue::dict();
  dict.insert("a", 1);
  const IValue before = dict;
  dict.insert("self", dict);
  dict.insert("a", 2.5);
  CHECK((before.at("a").toInt() == 1 && before.entries().size() == 1));
  CHECK((dict.at("a").toDouble() == 2.5 && dict.at("self").at("a").toInt() == 1));
  REQUIRE_THROWS_WITH(dict.at("b"), Contains("no key 'b' among its 2 keys: 'a', 'self'"));
  REQUIRE_THROWS_WITH(dict.at("a").toInt(), Contains("a float"));
  REQUIRE_THROWS_WITH(dict.toTensor(), Contains("a dict") && Contains("a Tensor"));
  REQUIRE_THROWS_WITH(dict.insert(IValue(), 1), Contains("None"));
  REQUIRE_THROWS_WITH(IValue(1).insert("a", 1), Contains("an int"));
  REQUIRE_THROWS_WITH(IValue(1).toDouble(), Contains("an int; accepted: a float"));
  CHECK(IValue(1).toScalar().to<double>() == 1);
  IValue deep = IValue::list({});
  REQUIRE_THROWS_WITH(
      [&] {
        for (int i = 0; i < 1000; ++i) deep = IValue::list({deep});
      }(),
      Contains("deeper than 200"));
  const std::map<std::string, Tensor> map{{"x", ones({2})}};
  const std::vector<char> bytes = pickle_save(map);
  CHECK(pickle_load(bytes).at("x").toTensor().equal(ones({2})));
}
