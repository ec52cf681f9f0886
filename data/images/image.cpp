// read_image: reads a file and decodes it as JPEG or PNG, depending on its first bytes.
#include "tandem/data/images/image.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

#include "tandem/core/internal.h"
#include "tandem/data/images/jpeg.h"
#include "tandem/data/images/png.h"

namespace tandem::data {
namespace {

std::string read_bytes(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  TANDEM_CHECK(std::filesystem::exists(status), "read_image: there is no file ", path);
  TANDEM_CHECK(std::filesystem::is_regular_file(status), "read_image: ", path,
               " is not a file; accepted: a regular file");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  const bool is_empty = file && file.peek() == std::ifstream::traits_type::eof();
  TANDEM_CHECK(!is_empty, "read_image: ", path, " is empty; accepted: a JPEG or PNG file");
  TANDEM_CHECK(file && bytes << file.rdbuf(), "read_image: cannot read ", path, ": ", std::strerror(errno));
  return std::move(bytes).str();
}

}  // namespace

Tensor detail::decode_image(std::string_view bytes, const std::string& name) try {
  constexpr std::string_view kJpeg("\xff\xd8\xff", 3), kPng("\x89PNG\r\n\x1a\n", 8);
  const bool is_jpeg = bytes.substr(0, kJpeg.size()) == kJpeg;
  TANDEM_CHECK(is_jpeg || bytes.substr(0, kPng.size()) == kPng, "read_image: ", name,
               " is neither a JPEG nor a PNG file, by its first bytes");
  const Pixels pixels = is_jpeg ? decode_jpeg(bytes, name) : decode_png(bytes, name);
  Tensor image = core::empty({3, pixels.height, pixels.width}, kUInt8, kCPU);
  const int64_t count = pixels.height * pixels.width;
  uint8_t* to = image.data<uint8_t>();
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t i = 0; i < count; ++i) *to++ = pixels.values[static_cast<size_t>(3 * i + channel)];
  return image;
} catch (const std::bad_alloc&) {
  throw_error<OutOfMemoryError>(__FILE__, __LINE__, "read_image: there is not enough memory for ", name);
}

Tensor read_image(const std::string& path) { return decode_image(read_bytes(path), path); }

}  // namespace tandem::data
