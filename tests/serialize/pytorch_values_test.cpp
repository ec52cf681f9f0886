// Tests the values other than tensors in a checkpoint, which make_pytorch_values.py wrote.
// torch.load(weights_only=True) accepts all of them.
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/serialize/pytorch_files.h"

using namespace tandem;
using namespace tandem::test;

namespace {

IValue again(const IValue& value) { return pickle_load(pickle_save(value)); }
std::vector<std::string> strings(const IValue& list) {
  std::vector<std::string> out;
  for (const IValue& each : list.elements()) out.push_back(each.toStringRef());
  return out;
}
void check_values(const IValue& read) {
  CHECK((read.at("counter").at(30).toInt() == 1 && read.at("counter").at(80).toInt() == 2));
  CHECK((read.at("counter_of_words").at("l").toInt() == 2 && read.at("empty_counter").entries().empty()));
  CHECK((read.at("set").isList() && read.at("set").toIntVector() == std::vector<int64_t>{7}));
  CHECK(read.at("empty_set").elements().empty());
  CHECK(read.at("bytes").toStringRef() == std::string("\x00\x7f\x80\xff", 4));
  CHECK(read.at("bytearray").toStringRef() == "\x01\xfe");
  CHECK(read.at("empty_bytearray").toStringRef().empty());
  const auto& parts = read.at("complex").elements();
  CHECK((parts.size() == 2 && parts[0].toDouble() == 1.5 && parts[1].toDouble() == -2));
  CHECK(read.at("layout").toStringRef() == "torch.strided");
  CHECK(read.at("dtype").toStringRef() == "torch.complex64");
  CHECK(read.at("scheme").toStringRef() == "torch.per_tensor_affine");
  CHECK(read.at("class").toStringRef() == "torch.FloatTensor");
  CHECK(read.at("classes").elements()[0].toStringRef() == "torch.nn.parameter.Parameter");
  CHECK(read.at("storage").toTensor().equal(tensor({1.5f, 2.5f})));
  CHECK(read.at("bytes_of_storage").toTensor().equal(arange(6).to(kUInt8)));
  CHECK(read.at("parameter").toTensor().equal(tensor({3.f, 4.f})));
  CHECK(read.at("parameter").toTensor().requires_grad());
  CHECK((read.at("frozen").toTensor().item<float>() == 5 && !read.at("frozen").toTensor().requires_grad()));
  CHECK(read.at("tensor").toTensor().equal(tensor({1.f, 2.f})));
  CHECK(read.at("buffer").toTensor().equal(arange(4.0)));
  CHECK(read.at("tensor").toTensor().storage() == read.at("buffer").toTensor().storage());
  CHECK(read.at("trained").toTensor().requires_grad());
  CHECK(read.at("pairs").at("b").toInt() == 2);
  const IValue& keys = read.at("keys");
  // In Python 1 == True, so it is one key.
  CHECK((keys.at(1).toStringRef() == "one" && keys.at("1.0").toStringRef() == "text"));
  CHECK((keys.at("2.5").toStringRef() == "float" && keys.at("None").toStringRef() == "none"));
  CHECK((keys.at("(1, 'a')").toStringRef() == "tuple" && keys.at("(3,)").toStringRef() == "single"));
  std::vector<std::string> large = strings(read.at("large"));
  CHECK(large.back().size() == 603);  // 2^2000, which begins with 11481306952742545242
  CHECK(large.back().starts_with("11481306952742545242"));
  large.pop_back();
  const std::string ten(40, '0');
  CHECK(large == std::vector<std::string>{"9223372036854775808", "-9223372036854775809", "18446744073709551615",
                                          "18446744073709551616", "-18446744073709551616", "1" + ten, "-1" + ten});
  CHECK(read.at("ints").toIntVector() == std::vector<int64_t>{0,
                                                              1,
                                                              -1,
                                                              127,
                                                              128,
                                                              -128,
                                                              -129,
                                                              255,
                                                              256,
                                                              65535,
                                                              65536,
                                                              2147483647,
                                                              2147483648,
                                                              -2147483648LL,
                                                              -2147483649LL,
                                                              -3000000000LL,
                                                              4294967296LL,
                                                              1LL << 40,
                                                              -(1LL << 40),
                                                              INT64_MAX,
                                                              INT64_MIN});
}

}  // namespace

TEST_CASE("values that torch.load(weights_only=True) takes beside tensors are read", "[serialize]") {
  IValue read;
  load(read, pytorch_file("python_values"));
  check_values(read);
  check_values(again(read));
}

TEST_CASE("the state of every schedule of PyTorch's is read", "[serialize]") {
  IValue read;
  load(read, pytorch_file("python_schedulers"));
  CHECK(read.entries().size() == 16);
  CHECK(read.at("MultiStepLR").at("milestones").at(3).toInt() == 2);
  optim::SGD optimizer(std::vector<Tensor>{ones({1}).requires_grad_()}, optim::SGDOptions(0.1));
  optim::MultiStepLR schedule(optimizer, {1, 3, 3}, 0.5);
  serialize::InputArchive archive, one;
  archive.load_from(pytorch_file("python_schedulers"));
  archive.read("MultiStepLR", one);
  schedule.load(one);
  serialize::OutputArchive saved;
  schedule.save(saved);
  CHECK(saved.value().at("last_epoch").toInt() == 3);
  CHECK(saved.value().at("_last_lr").toDoubleVector() == std::vector<double>{0.0125});
}

TEST_CASE("a dict that pickle_load reads is a Dict under LibTorch's name", "[serialize]") {
  IValue state = IValue::dict();
  state.insert("weight", ones({2}));
  state.insert("steps", 3);
  Dict<IValue, IValue> dict = pickle_load(pickle_save(state)).toGenericDict();
  CHECK(dict.size() == 2);
  std::string keys;
  for (const auto& entry : dict) keys += entry.key().toStringRef() + " ";
  CHECK(keys == "weight steps ");
  CHECK(dict.at("weight").toTensor().equal(ones({2})));
  CHECK(dict.find("steps")->value().toInt() == 3);
  CHECK(dict.find("bias") == dict.end());
  const impl::GenericDict before = dict;
  CHECK(dict.insert("bias", 1));
  CHECK_FALSE(dict.insert("bias", 2));
  CHECK(dict.at("bias").toInt() == 1);
  CHECK_FALSE(before.contains("bias"));
  CHECK(IValue(dict).isGenericDict());
  CHECK_THROWS_WITH(IValue(3).toGenericDict(), Contains("an int"));
}

TEST_CASE("what torch.load(weights_only=True) refuses is refused, with the global's name", "[serialize]") {
  const std::vector<std::pair<std::string, std::string>> files = {{"namespace", "'argparse.Namespace'"},
                                                                  {"path", "'pathlib.PurePosixPath'"},
                                                                  {"frozenset", "'__builtin__.frozenset'"},
                                                                  {"module", "'torch.nn.modules.linear.Linear'"}};
  for (const auto& [name, global] : files) {
    IValue read;
    CHECK_THROWS_WITH(load(read, pytorch_file("python_refused_" + name)),
                      Contains("python_refused_" + name) && Contains(global) && Contains("refused"));
  }
}

TEST_CASE("ints are written in the least form that Python's pickle has for all of their bits", "[serialize]") {
  const auto code_of = [](int64_t value) {
    const std::vector<char> bytes = pickle_save(IValue(value));
    const std::string text(bytes.begin(), bytes.end());
    return text[text.find("\x80\x02") + 2];
  };
  const std::vector<std::pair<int64_t, char>> cases = {{0, 'K'},
                                                       {255, 'K'},
                                                       {256, 'J'},
                                                       {-1, 'J'},
                                                       {65535, 'J'},
                                                       {INT32_MAX, 'J'},
                                                       {INT32_MIN, 'J'},
                                                       {2147483648, '\x8a'},
                                                       {4294967295, '\x8a'},
                                                       {-2147483649LL, '\x8a'},
                                                       {-3000000000LL, '\x8a'},
                                                       {3000000000LL, '\x8a'},
                                                       {INT64_MAX, '\x8a'},
                                                       {INT64_MIN, '\x8a'}};
  for (const auto& [value, code] : cases) {
    INFO(value);
    CHECK(code_of(value) == code);
    CHECK(again(IValue(value)).toInt() == value);
    IValue key = IValue::dict();
    key.insert(value, value);
    CHECK(again(key).at(value).toInt() == value);
  }
  std::ostringstream file;
  save(IValue(-3000000000LL), file);
  IValue read;
  load(read, file.str().data(), file.str().size());
  CHECK(read.toInt() == -3000000000LL);
}

TEST_CASE("the other protocols' sets, bytes and objects are read too", "[serialize]") {
  const auto read = [](const std::string& pickle) { return read_bytes(file_of_pickle("\x80\x04" + pickle + ".")); };
  CHECK(read("\x8f(K\1K\2\x90").toIntVector() == std::vector<int64_t>{1, 2});
  CHECK(read("C\2ab").toStringRef() == "ab");
  CHECK(read(std::string("\x96\1\0\0\0\0\0\0\0x", 10)).toStringRef() == "x");
  CHECK(read("ccollections\nOrderedDict\n)\x81").isOrderedDict());
  CHECK(read("ccollections\nOrderedDict\n](K\1K\2\x86K\3K\4\x86"
             "e\x85R")
            .at(3)
            .toInt() == 4);
  CHECK(read("c_codecs\nencode\nX" + std::string("\3\0\0\0a\xc3\xa9", 7) + "\x8c\6latin1\x86R").toStringRef() ==
        "a\xe9");
  const auto refuses = [&](const std::string& pickle, const std::string& words) {
    CHECK_THROWS_WITH(read(pickle), Contains("the memory given") && Contains(words));
  };
  refuses("(K\1\x91", "frozenset");
  refuses("c_codecs\nencode\n\x8c\1a\x8c\5rot13\x86R", "'rot13'");
  refuses("c_codecs\nencode\nX" + std::string("\3\0\0\0\xe2\x82\xac", 7) + "\x8c\6latin1\x86R", "latin1");
  refuses("ctorch._utils\n_rebuild_sparse_tensor\n)R", "torch._utils._rebuild_sparse_tensor");
  refuses("ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nNNNtR", "without a function");
  refuses("ctorch.nn.parameter\nParameter\nK\1\x85R", "an int");
  refuses("}]K\1s", "a list for a key");
  // A short pickle must not expand to many copies of a string.
  std::string many = "X" + std::string("\0\4\0\0", 4) + std::string(1024, 'x') + "q\1](";
  for (int i = 0; i < 20; ++i) many += "c_codecs\nencode\nh\1\x8c\6latin1\x86R";
  refuses(many + "e", "the pickle copies more than");
  std::string nested = "K\1";
  for (int i = 0; i < 100; ++i) nested += "q\1h\1\x86";
  refuses("}" + nested + "K\1s", "a tuple key of more than");
}
