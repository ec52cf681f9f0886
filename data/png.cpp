#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"
#include "tandem/data/image_decoders.h"

#if TANDEM_HAS_PNG
#include <png.h>

#include <cstdio>
#include <cstring>

namespace tandem::data::detail {
namespace {

/// What libpng knows of one file, and the bytes that it did not read yet. It is plain C up to the destructor.
struct PngReader {
  explicit PngReader(std::string_view bytes) : left(bytes) {}
  PngReader(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view left;
  int64_t row_bits = 0;  // of a row as the file holds it
  char message[256] = "out of memory";
};

extern "C" {
void tandem_png_error(png_structp png, png_const_charp text) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof(reader->message), "%s", text);
  png_longjmp(png, 1);
}
void tandem_png_warning(png_structp, png_const_charp) {}  // of chunks that are no pixels
void tandem_png_read(png_structp png, png_bytep to, png_size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->left.size()) png_error(png, "it ends too early");
  std::memcpy(to, reader->left.data(), count);
  reader->left.remove_prefix(count);
}
}

/// Reads what comes before the pixels. False after an error. Note [Errors by longjmp]
bool read_header(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, tandem_png_error, tandem_png_warning);
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

/// Reads the pixels. False after an error.
bool read_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

}  // namespace

Pixels decode_png(std::string_view bytes, const std::string& name) {
  PngReader reader(bytes);
  TANDEM_CHECK(read_header(reader), "read_image: ", name, " is damaged: libpng says: ", reader.message);
  Pixels pixels;
  pixels.height = png_get_image_height(reader.png, reader.info);
  pixels.width = png_get_image_width(reader.png, reader.info);
  // Deflate shortens at most 1032 times. This keeps a damaged header from asking for memory.
  const int64_t needed = pixels.height * ((reader.row_bits + 7) / 8 + 1);
  const int64_t capacity = 1032 * static_cast<int64_t>(bytes.size());
  TANDEM_CHECK(needed <= capacity, "read_image: ", name, " announces ", pixels.height, " x ", pixels.width,
               " pixels in ", needed, " bytes; a file of its length holds at most ", capacity);
  const size_t row_bytes = static_cast<size_t>(pixels.width) * 3;
  TANDEM_CHECK(png_get_rowbytes(reader.png, reader.info) == row_bytes, "read_image: ", name, " has rows of ",
               png_get_rowbytes(reader.png, reader.info), " bytes for ", pixels.width, " pixels");
  pixels.values.resize(static_cast<size_t>(pixels.height) * row_bytes);
  std::vector<png_bytep> rows(static_cast<size_t>(pixels.height));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = pixels.values.data() + i * row_bytes;
  TANDEM_CHECK(read_rows(reader, rows.data()), "read_image: ", name, " is damaged: libpng says: ", reader.message);
  return pixels;
}

}  // namespace tandem::data::detail
#else
namespace tandem::data::detail {

Pixels decode_png(std::string_view, const std::string& name) {
  fail<NotImplementedError>(__FILE__, __LINE__, "read_image: ", name,
                            " is a PNG file, and this build of Tandem is without libpng; on Debian: apt install ",
                            "libpng-dev, then build again");
}

}  // namespace tandem::data::detail
#endif
