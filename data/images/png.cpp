// Implements decode_png and encode_png by libpng, and converts libpng's errors to Error. In a build without libpng,
// both throw NotImplementedError.
#include "tandem/data/images/png.h"

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

#if TANDEM_HAS_PNG
#include <png.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace tandem::data::detail {
namespace {

/// State of libpng for one file, and its last error message. Apart from the destructors of the derived classes, its
/// members are plain C data, so that longjmp is safe.
struct PngFile {
  PngFile() = default;
  PngFile(const PngFile&) = delete;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[256] = "out of memory";
};

extern "C" {
void tandem_png_error(png_structp png, png_const_charp text) {
  auto* file = static_cast<PngFile*>(png_get_error_ptr(png));
  std::snprintf(file->message, sizeof(file->message), "%s", text);
  png_longjmp(png, 1);
}
// Ignores warnings: they concern data other than the pixels
void tandem_png_warning(png_structp, png_const_charp) {}
}

/// Reads a PNG file from memory; `remaining_bytes` holds the bytes that were not read yet.
struct PngReader : PngFile {
  explicit PngReader(std::string_view bytes) : remaining_bytes(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  std::string_view remaining_bytes;
  int64_t row_bits = 0;  // number of bits of a row in the file, before compression
};

extern "C" {
void tandem_png_read(png_structp png, png_bytep to, png_size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->remaining_bytes.size()) png_error(png, "the data ends too early");
  std::memcpy(to, reader->remaining_bytes.data(), count);
  reader->remaining_bytes.remove_prefix(count);
}
}

/// Writes a PNG file to memory; `bytes` holds the bytes written so far.
struct PngWriter : PngFile {
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  std::string bytes;
};

extern "C" {
void tandem_png_write(png_structp png, png_bytep from, png_size_t count) {
  auto* writer = static_cast<PngWriter*>(png_get_io_ptr(png));
  try {
    writer->bytes.append(reinterpret_cast<const char*>(from), count);
    return;
  } catch (const std::bad_alloc&) {  // caught, because a C++ exception must not pass through libpng
  }
  png_error(png, "out of memory");
}
void tandem_png_flush(png_structp) {}
}

/// Reads everything before the pixels. Returns false after an error. See Note [Errors by longjmp].
bool read_header(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngFile*>(&reader), tandem_png_error,
                                      tandem_png_warning);
  if (!reader.png) return false;
  if (setjmp(png_jmpbuf(reader.png))) return false;
  reader.info = png_create_info_struct(reader.png);
  if (!reader.info) return false;
  png_set_read_fn(reader.png, &reader, tandem_png_read);
  png_read_info(reader.png, reader.info);
  reader.row_bits = int64_t{png_get_image_width(reader.png, reader.info)} * png_get_bit_depth(reader.png, reader.info) *
                    png_get_channels(reader.png, reader.info);
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

/// Reads the pixels. Returns false after an error.
bool read_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

/// Writes an image. Returns false after an error.
bool write_image(PngWriter& writer, int64_t height, int64_t width, int colour_type, png_bytepp rows) {
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngFile*>(&writer), tandem_png_error,
                                       tandem_png_warning);
  if (!writer.png) return false;
  if (setjmp(png_jmpbuf(writer.png))) return false;
  writer.info = png_create_info_struct(writer.png);
  if (!writer.info) return false;
  png_set_write_fn(writer.png, &writer, tandem_png_write, tandem_png_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8,
               colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  png_write_image(writer.png, rows);
  png_write_end(writer.png, writer.info);
  return true;
}

}  // namespace

Pixels decode_png(std::string_view bytes, const std::string& name) {
  PngReader reader(bytes);
  TANDEM_CHECK(read_header(reader), "read_image: ", name, " is damaged: libpng says: ", reader.message);
  Pixels pixels;
  pixels.height = png_get_image_height(reader.png, reader.info);
  pixels.width = png_get_image_width(reader.png, reader.info);
  // Deflate compresses by a factor of at most 1032. This check keeps a damaged header from requesting too much memory.
  const int64_t needed = pixels.height * ((reader.row_bits + 7) / 8 + 1);
  const int64_t capacity = 1032 * static_cast<int64_t>(bytes.size());
  TANDEM_CHECK(needed <= capacity, "read_image: ", name, " declares ", pixels.height, " x ", pixels.width,
               " pixels, which take ", needed, " bytes; a file of this length holds at most ", capacity,
               ", so it is damaged");
  const size_t row_bytes = static_cast<size_t>(pixels.width) * 3;
  TANDEM_CHECK(png_get_rowbytes(reader.png, reader.info) == row_bytes,
               "read_image: internal error: libpng gives rows of ", png_get_rowbytes(reader.png, reader.info),
               " bytes for ", name, ", but its ", pixels.width, " RGB pixels per row take ", row_bytes,
               "; please report it");
  pixels.values.resize(static_cast<size_t>(pixels.height) * row_bytes);
  std::vector<png_bytep> rows(static_cast<size_t>(pixels.height));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = pixels.values.data() + i * row_bytes;
  TANDEM_CHECK(read_rows(reader, rows.data()), "read_image: ", name, " is damaged: libpng says: ", reader.message);
  return pixels;
}

std::string encode_png(const std::string& op, const uint8_t* pixels, int64_t height, int64_t width, int64_t channels) {
  constexpr int kColourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
  constexpr int64_t kMaxSide = PNG_USER_WIDTH_MAX;
  TANDEM_CHECK(height <= kMaxSide && width <= kMaxSide, op, ": the image has ", height, " x ", width,
               " pixels; libpng writes up to ", kMaxSide, " in a row or column");
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (int64_t i = 0; i < height; ++i)  // libpng's older functions take non-const rows, but do not write to them
    rows[static_cast<size_t>(i)] = const_cast<png_bytep>(pixels + i * width * channels);
  PngWriter writer;
  TANDEM_CHECK(write_image(writer, height, width, kColourTypes[channels - 1], rows.data()), op,
               ": the image cannot be written: libpng says: ", writer.message);
  return std::move(writer.bytes);
}

}  // namespace tandem::data::detail
#else
namespace tandem::data::detail {

Pixels decode_png(std::string_view, const std::string& name) {
  throw_error<NotImplementedError>(__FILE__, __LINE__, "read_image: ", name,
                                   " is a PNG file, but Tandem was built without libpng; on Debian, run `apt install ",
                                   "libpng-dev` and rebuild");
}
std::string encode_png(const std::string& op, const uint8_t*, int64_t, int64_t, int64_t) {
  throw_error<NotImplementedError>(__FILE__, __LINE__, op,
                                   ": images are written as PNG files, but Tandem was built without libpng; ",
                                   "on Debian, run `apt install libpng-dev` and rebuild");
}

}  // namespace tandem::data::detail
#endif
