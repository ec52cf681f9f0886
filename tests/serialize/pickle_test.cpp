#include "tandem/tests/serialize/pytorch_files.h"

#include <random>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const std::string kProto("\x80\x02", 2);

/// Returns a pickle of _rebuild_tensor_v2 with storage "0" and the given arguments after the storage.
std::string tensor_pickle(const std::string& storage, const std::string& numel, const std::string& rest) {
  return kProto + "ctorch._utils\n_rebuild_tensor_v2\n((X" + std::string("\7\0\0\0storage", 11) + "ctorch\n" + storage +
         "\nX" + std::string("\1\0\0\0000", 5) + "X" + std::string("\3\0\0\0cpu", 7) + numel + "tQ" + rest +
         "\x89"
         "ccollections\nOrderedDict\n)RtR.";
}

void fuzz_pickles(size_t rounds) {
  std::mt19937_64 random(3);
  std::vector<std::string> files;
  for (const char* name : {"python_everything", "python_protocol5", "python_deflated", "python_state_dict",
                           "libtorch_module", "libtorch_adam"})
    files.push_back(read_file(pytorch_file(name)));
  size_t errors = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const std::string& good = files[i % files.size()];
    std::string bytes;
    if (i % 2) {
      bytes = mutate(good, random);
    } else {  // changes one entry of a valid zip, so that the mutation gets past the zip reader
      const detail::MemorySource source("good", good.data(), good.size());
      const detail::ZipReader zip(source);
      std::vector<std::pair<std::string, std::string>> entries;
      for (const auto& [name, entry] : zip.entries()) entries.emplace_back(name, zip.read_text(name, entry));
      for (auto& [name, content] : entries)
        if (name.find("data.pkl") != std::string::npos || random() % 16 == 0) content = mutate(content, random);
      bytes = zip_of(entries);
    }
    const auto attempt = [&](const auto& read) {
      try {
        read();
        return false;
      } catch (const Error& e) {
        if (std::string(e.what()).find("the memory given") == std::string::npos) FAIL(e.what());
        return true;
      }
    };
    serialize::InputArchive archive;
    if (attempt([&] { archive.load_from(bytes.data(), bytes.size()); })) {
      ++errors;
      continue;
    }
    NamedTensors tensors;
    optim::Adam adam({zeros({2, 3}).requires_grad_(), zeros({4}).requires_grad_()});
    attempt([&] { archive >> tensors; });
    attempt([&] { adam.load(archive); });
  }
  REQUIRE(errors > rounds / 4);
}

}  // namespace

TEST_CASE("a pickle that asks for code is refused, and says what it asked for", "[serialize]") {
  const auto refuses = [](const std::string& pickle, const std::string& words) {
    INFO(pickle);
    REQUIRE_THROWS_WITH(read_bytes(file_of_pickle(pickle)), Contains("the memory given") && Contains(words));
  };
  const std::string text = std::string("\x8c\4echo", 6);
  refuses(kProto + "cos\nsystem\n" + text + "\x85R.", "the global 'os.system'");
  refuses(kProto + "cposix\nsystem\n" + text + "\x85R.", "'posix.system'");
  refuses(kProto + "cbuiltins\neval\n" + text + "\x85R.", "'builtins.eval'");
  refuses(kProto + "c__builtin__\nexec\n" + text + "\x85R.", "'__builtin__.exec'");
  refuses(kProto + "cbuiltins\ngetattr\n" + text + "\x85R.", "'builtins.getattr'");
  refuses(kProto + "csubprocess\nPopen\n" + text + "\x85R.", "'subprocess.Popen'");
  refuses(kProto + "ctorch.hub\nload\n" + text + "\x85R.", "'torch.hub.load'");
  refuses(kProto + "ctorch\nload\n" + text + "\x85R.", "torch.load");
  refuses(kProto + "ctorch\nos.system\n" + text + "\x85R.", "torch.os.system");
  refuses(kProto + "ctorch._utils\n__builtins__\n" + text + "\x85R.", "'torch._utils.__builtins__'");
  refuses("\x80\4\x8c\2os\x8c\6system\x93" + text + "\x85R.", "'os.system'");
  refuses(kProto + "ccollections\nOrderedDict.__init__.__globals__\n.", "'collections.OrderedDict.__init__");
  refuses(kProto + "c__torch__\nModule\n)R.", "not a function");
  refuses(kProto + "]c__torch__\nModule\na.", "a class of TorchScript as a value");
  refuses(kProto + "ctorch\nhub\n.", "'torch.hub'");
  refuses(kProto + "ctorch._utils\n_rebuild_tensor_v2\n)\x81.", "makes an object of torch._utils._rebuild_tensor_v2");
  refuses(kProto + "c__torchx__\nModule\n)\x81.", "'__torchx__.Module'");
  refuses(kProto + "c__torch__\nModule\n)\x81" + text + "b.", "builds an object from a string");
  refuses(kProto + "(ios\nsystem\n.", "opcode 105");
  refuses(kProto + "Ppersistent\n.", "opcode 80");
  refuses(kProto + "\x82\1.", "opcode 130");
  refuses(kProto + text + text + "R.", "not a tuple of up to 8 values");
  refuses(kProto + "]" + ")R.", "not a function");
}

TEST_CASE("pickles that are damaged, or larger than they look, are errors", "[serialize]") {
  const auto refuses = [](const std::string& pickle, const std::string& words) {
    REQUIRE_THROWS_WITH(read_bytes(file_of_pickle(pickle)), Contains(words));
  };
  refuses("", "ends within");
  refuses(kProto, "ends within");
  refuses("\x80\x01N.", "protocol 1");
  refuses(kProto + "NN.", "2 items");
  refuses(kProto + ".", "0 items");
  refuses(kProto + "a.", "takes a value from an empty stack");
  refuses(kProto + "(.", "one value");
  refuses(kProto + "t.", "no mark");
  refuses(kProto + "h\7.", "memo 7");
  refuses(kProto + "X\xff\xff\xff\x7f", "ends within");
  refuses(kProto + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "ends within");
  refuses(kProto + "}(Nu.", "without a value");
  refuses(kProto + "K\1Na.", "changes an int");
  refuses(kProto + std::string(100000, ']') + std::string(99999, 'a') + ".", "deeper than 200");
  refuses(kProto + std::string(100000, ')') + std::string(100000, '\x85') + ".", "deeper than 200");
  refuses(kProto + "]q\1h\1a.", "contains itself");
  refuses(kProto + std::string("]q\0]q\1h\0ah\0h\1a.", 15), "may contain itself");
  refuses(kProto + std::string("}q\0X\1\0\0\0ah\0s.", 13), "contains itself");
  // A list of lists with 2^60 leaves takes few bytes because lists are shared. It must be written as compactly.
  std::string doubled = kProto + "]";
  for (int i = 0; i < 60; ++i) doubled += std::string("q\0", 2) + "0" + std::string("]h\0ah\0a", 7);
  const IValue many = read_bytes(file_of_pickle(doubled + "."));
  CHECK(pickle_save(many).size() < 5000);
  std::string names = kProto + "}";
  for (int i = 0; i < 60; ++i) names += std::string("q\0", 2) + "0" + std::string("}(K\1h\0K\2h\0u", 11);
  std::stringstream stream(file_of_pickle(names + "."));
  NamedTensors tensors;
  REQUIRE_THROWS_WITH(load(tensors, stream), Contains("take more than"));
}

TEST_CASE("a tensor that reaches beyond its storage is an error", "[serialize]") {
  const auto build = [](const std::string& storage, const std::string& numel, const std::string& rest) {
    return read_bytes(file_of_pickle(tensor_pickle(storage, numel, rest))).toTensor();
  };
  const std::string zero("K\0", 2), max = std::string("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
  CHECK(build("FloatStorage", "K\4", zero + "K\2\x85K\2\x85").sizes() == IntArrayRef{2});
  CHECK(build("ByteStorage", "K\x10", "K\x0eK\2\x85K\1\x85")[1].item<uint8_t>() == 'f');
  const auto refuses = [&](const std::string& storage, const std::string& numel, const std::string& rest,
                           const std::string& words) {
    INFO(storage << " " << words);
    REQUIRE_THROWS_WITH(build(storage, numel, rest), Contains("the memory given") && Contains(words));
  };
  const std::string one = "K\1\x85", two = "K\2\x85";
  refuses("FloatStorage", "K\5", zero + one + one, "declares 5 elements of 4 bytes, but its entry has 16");
  refuses("DoubleStorage", "K\4", zero + one + one, "declares 4 elements of 8");
  refuses("FloatStorage", "J\xff\xff\xff\xff", zero + one + one, "declares -1");
  refuses("FloatStorage", max, zero + one + one, "declares 9223372036854775807");
  refuses("BoolStorage", "K\x10", zero + one + one, "bool 0");
  refuses("FloatStorage", "K\4", zero + two + "K\4\x85",
          "requiring a storage size of 20 are out of bounds for storage of size 16");
  refuses("FloatStorage", "K\4", "K\5" + one + one, "begins at element 5 of 4");
  refuses("FloatStorage", "K\4", "J\xff\xff\xff\xff" + one + one, "begins at element -1");
  refuses("FloatStorage", "K\4", zero + two + "J\xff\xff\xff\xff\x85", "Negative strides are not supported");
  refuses("FloatStorage", "K\4", zero + "J\xff\xff\xff\xff\x85" + one, "-1");
  refuses("FloatStorage", "K\4", zero + two + max + "\x85", "Storage size calculation overflowed");
  refuses("FloatStorage", "K\4", zero + max + max + "\x86" + std::string("K\0K\0\x86", 5),
          "Storage size calculation overflowed");
  refuses("FloatStorage", "K\4", zero + two + ")", "mismatch in length of strides and shape");
  refuses("FloatStorage", "K\4", zero + "(" + std::string(200, 'N') + "t" + one, "a tuple of up to");
  refuses("FloatStorage", "K\4", zero + "(NNt" + one, "None for a size");
  refuses("FloatStorage", "K\4", "N" + one + one, "None for an offset");
  refuses("ComplexFloatStorage", "K\2", zero + one + one, "torch.ComplexFloatStorage");
  REQUIRE_THROWS_WITH(read_bytes(zip_of({{"a/data.pkl", tensor_pickle("FloatStorage", "K\4", zero + one + one)}})),
                      Contains("no entry 'a/data/0'"));
}

TEST_CASE("zip files that are damaged are errors that name the entry", "[serialize]") {
  const std::string good = file_of_pickle(kProto + "K\1.");
  REQUIRE(read_bytes(good).toInt() == 1);
  const auto refuses = [](const std::string& bytes, const std::string& words) {
    REQUIRE_THROWS_WITH(read_bytes(bytes), Contains("the memory given") && Contains(words));
  };
  const auto changed = [&](size_t at, const std::string& to) { return std::string(good).replace(at, to.size(), to); };
  const size_t directory = good.find("PK\1\2"), end = good.find("PK\5\6");
  refuses("", "no end record");
  refuses("PK\3\4", "no end record");
  refuses(good.substr(0, good.size() - 1), "no end record");
  refuses(good.substr(1), "zip directory");
  refuses(changed(good.find(kProto), "\x80\3"), "'a/data.pkl' is damaged: its checksum");
  refuses(changed(directory, "PK\1\3"), "entry 0 of 3 in the zip directory is damaged");
  refuses(changed(directory + 8, "\1"), "'a/data.pkl' is encrypted");
  refuses(changed(directory + 10, "\x0c"), "method 12");
  refuses(changed(directory + 10, "\x08"), "'a/data.pkl'");   // the stored bytes are no deflate stream
  refuses(changed(directory + 24, "\xff\xff"), "declares ");  // stored, but larger than the space in the file
  refuses(changed(directory + 42, "\xff\xff"), "is declared to begin at byte 65535");
  refuses(changed(directory + 42, "\1"), "has no zip header at byte 1");
  refuses(changed(end + 10, "\xfe\xff"), "the zip directory of 65534 entries");
  refuses(changed(end + 16, "\xff\xff\xff\x7f"), "the zip directory");
  std::string bomb = changed(directory + 10, "\x08");
  refuses(bomb.replace(directory + 24, 4, "\xff\xff\xff\x7f"), "declares 2147483647 bytes, stored in");
  bomb = changed(directory + 10, "\x08");
  refuses(bomb.replace(directory + 24, 4, std::string("\xff\1\0\0", 4)), "accepted: a factor of up to 32");
  refuses(zip_of({{"x", "y"}}), "has no data.pkl");
  refuses(zip_of({{"a/data.pkl", "."}, {"b/data.pkl", "."}}), "two pickles");
  refuses(zip_of({{"a", "x"}, {"a", "y"}}), "'a' occurs twice");
  refuses(zip_of({{"a/data.pkl", kProto + "N."}, {"a/byteorder", "middle"}}), "byte order is 'middle'");
  refuses(kProto + "K\1.", "a bare pickle");
  // Two entries at the same position would be read twice.
  std::string twice = zip_of({{"a/data.pkl", kProto + "N."}, {"a/data/00000", "x"}});
  const size_t second = twice.find("PK\1\2", twice.find("PK\1\2") + 1);
  twice.replace(second + 42, 4, std::string(4, '\0')).replace(second + 16, 4, std::string(4, '\0'));
  refuses(twice, "overlap");
}

TEST_CASE("mutated files of torch.save give errors only", "[serialize][fuzz][one_thread]") { fuzz_pickles(3000); }
TEST_CASE("100,000 mutated files of torch.save give errors only", "[serialize][fuzz][.][long]") {
  fuzz_pickles(100000);
}
