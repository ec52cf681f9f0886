// Tests how load() detects a file's format from its contents, and the errors for damaged files.
#include "tandem/serialize/file_format.h"

#include <set>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/serialize/pytorch_files.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;
using detail::FileFormat;

namespace {

FileFormat format_of_bytes(const std::string& bytes) {
  return detail::format_of(detail::MemorySource("bytes", bytes.data(), bytes.size()));
}
/// Returns a safetensors file whose header is padded with spaces to `header` bytes.
std::string safetensors_of(size_t header, const std::string& json, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header >> (8 * i));
  return out + json + std::string(header - json.size(), ' ') + data;
}
/// Returns load()'s error for these bytes, or "" for none.
std::string error_of(const std::string& bytes) {
  serialize::InputArchive archive;
  try {
    archive.load_from(bytes.data(), bytes.size());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
template <class T> std::string saved(const T& value, const std::string& name) {
  const TemporaryFolder folder;
  save(value, folder / name);
  return read_file(folder / name);
}

}  // namespace

TEST_CASE("safetensors are read whatever byte their header's length begins with", "[serialize]") {
  const std::string json = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data("\0\0\x80?\0\0\0@", 8);  // the values 1 and 2
  for (size_t header = json.size(); header <= 3000; ++header) {
    const std::string bytes = safetensors_of(header, json, data);
    serialize::InputArchive archive;
    Tensor x;
    archive.load_from(bytes.data(), bytes.size());
    archive.read("x", x);
    if (!x.equal(tensor({1.f, 2.f}))) FAIL(header);
  }
  // No tensors; below, header lengths whose bytes equal the first bytes of other formats.
  const std::string empty = "{}";
  for (size_t header = 2; header < 80; ++header) CHECK(error_of(safetensors_of(header, empty, "")).empty());
  for (const size_t header : {0x4b50, 0x1f8b, 0x0280, 0x0580, 0x8080, 0x4b4b50, 0x028a0280})
    CHECK(error_of(safetensors_of(header, empty, "")).empty());
}

TEST_CASE("our own safetensors are read, with any number of tensors", "[serialize]") {
  const TemporaryFolder folder = TemporaryFolder::in_memory();
  std::map<std::string, Tensor> tensors;
  std::set<uint8_t> first_bytes;
  for (int i = 0; i < 70; ++i) {
    tensors["a.weight" + std::string(static_cast<size_t>(i % 9), 'x') + std::to_string(i)] = full({1}, i);
    save(IValue(tensors), folder / "a.safetensors");
    first_bytes.insert(static_cast<uint8_t>(read_file(folder / "a.safetensors")[0]));
    NamedTensors read;
    load(read, folder / "a.safetensors");
    CHECK(read.size() == tensors.size());
  }
  CHECK(first_bytes.contains(0x80));
}

TEST_CASE("files that are cut, or have another byte, are read or named for what they are", "[serialize]") {
  nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1));
  struct Format {
    std::string bytes;
    std::vector<std::string> names;
    size_t least;  // number of bytes needed to detect the format
  };
  const std::string zip = saved(net, "a.pt"), safetensors = saved(net, "a.safetensors");
  const std::string legacy = read_file(pytorch_file("python_legacy"));
  const std::string pickle("\x80\x02}q\0X\1\0\0\0aq\1K\1s.", 17);
  const std::vector<Format> formats = {{zip, {"zip", "torch.save"}, 4},
                                       {safetensors, {"safetensors"}, 9},
                                       {legacy, {"before PyTorch 1.6", "bare pickle"}, 2},
                                       {pickle, {"bare pickle"}, 2}};
  const auto check = [](const Format& format, const std::string& bytes, const std::string& how) {
    const std::string error = error_of(bytes);
    if (error.empty()) return;  // an element has changed, which only zip's checksums detect
    for (const std::string& name : format.names)
      if (error.find(name) != std::string::npos) return;
    FAIL(how << ": " << error);
  };
  for (const Format& format : formats) {
    for (size_t length = format.least; length < format.bytes.size(); ++length) {
      const std::string bytes = format.bytes.substr(0, length);
      if (error_of(bytes).empty()) FAIL("cut to " << length << ": no error");
      check(format, bytes, "cut to " + std::to_string(length));
    }
    for (size_t i = 0; i < format.bytes.size(); ++i)
      for (const unsigned char other : {0x00, 0x01, 0x50, 0x7b, 0x80, 0xff}) {
        std::string bytes = format.bytes;
        if (&format == &formats[3] && i < 2) continue;  // these two bytes identify a pickle
        bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ (other | 1));
        check(format, bytes, "byte " + std::to_string(i) + " changed by " + std::to_string(other | 1));
      }
  }
  CHECK_THAT(error_of("PK"), Contains("neither a zip file of torch.save nor safetensors"));
  CHECK_THAT(error_of("some text that is no state file"), Contains("neither a zip file of torch.save nor safetensors"));
  CHECK(format_of_bytes(zip) == FileFormat::zip);
  CHECK(format_of_bytes(safetensors) == FileFormat::safetensors);
  CHECK(format_of_bytes(legacy) == FileFormat::legacy);
  CHECK(format_of_bytes(pickle) == FileFormat::pickle);
  CHECK(format_of_bytes(std::string()) == FileFormat::unknown);
}
