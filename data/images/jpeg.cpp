// Implements decode_jpeg by libjpeg, and converts libjpeg's errors and warnings to Error. In a build without libjpeg,
// decode_jpeg throws NotImplementedError.
#include "tandem/data/images/jpeg.h"

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

#if TANDEM_HAS_JPEG
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// must come after the header above, on which it depends
#include <jerror.h>

namespace tandem::data::detail {
namespace {

// Maximum number of scans in a progressive file; each takes as long as decoding an image
constexpr int kMaxScans = 1000;

/// State of libjpeg for one file. Apart from the destructor, its members are plain C data, so that longjmp is safe.
struct JpegReader {
  JpegReader() = default;
  JpegReader(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  jpeg_decompress_struct info{};
  jpeg_error_mgr error_manager{};
  jpeg_progress_mgr progress_manager{};
  jmp_buf setjmp_buffer{};
  char message[JMSG_LENGTH_MAX] = "";
};

extern "C" {
void tandem_jpeg_error(j_common_ptr info) {
  auto* reader = static_cast<JpegReader*>(info->client_data);
  info->err->format_message(info, reader->message);
  longjmp(reader->setjmp_buffer, 1);
}
/// Treats libjpeg's warnings as errors, except for warnings that leave the image intact. (If data is truncated or
/// invalid, libjpeg only warns and fills in grey.)
void tandem_jpeg_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM)
    tandem_jpeg_error(info);
}
void tandem_jpeg_progress(j_common_ptr info) {
  auto* reader = static_cast<JpegReader*>(info->client_data);
  if (reader->info.input_scan_number <= kMaxScans) return;
  std::snprintf(reader->message, sizeof(reader->message), "it has more than %d scans", kMaxScans);
  longjmp(reader->setjmp_buffer, 1);
}
}

/// Reads everything before the pixels. Returns false after an error. See Note [Errors by longjmp].
bool read_header(JpegReader& reader, std::string_view bytes) {
  reader.info.err = jpeg_std_error(&reader.error_manager);
  reader.error_manager.error_exit = tandem_jpeg_error;
  reader.error_manager.emit_message = tandem_jpeg_message;
  reader.info.client_data = &reader;
  if (setjmp(reader.setjmp_buffer)) return false;
  jpeg_create_decompress(&reader.info);
  reader.progress_manager.progress_monitor = tandem_jpeg_progress;
  reader.info.progress = &reader.progress_manager;
  // Older versions of libjpeg take a pointer to non-const bytes, but do not write to them.
  jpeg_mem_src(&reader.info, const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data())),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&reader.info, TRUE);
  const J_COLOR_SPACE from = reader.info.jpeg_color_space;
  reader.info.out_color_space = from == JCS_CMYK || from == JCS_YCCK ? JCS_CMYK : JCS_RGB;
  return true;
}

/// Reads the pixels. Returns false after an error.
bool read_rows(JpegReader& reader, uint8_t* pixels, size_t row_bytes) {
  if (setjmp(reader.setjmp_buffer)) return false;
  jpeg_start_decompress(&reader.info);
  while (reader.info.output_scanline < reader.info.output_height) {
    JSAMPROW row = pixels + reader.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

/// Converts CMYK to RGB in place: the 4 values of a pixel become 3. If `inverted`, the CMYK values are inverted, as
/// Photoshop writes them.
void convert_cmyk_to_rgb(std::vector<uint8_t>& values, bool inverted) {
  const size_t pixels = values.size() / 4;
  for (size_t i = 0; i < pixels; ++i) {
    int light[4];
    for (size_t c = 0; c < 4; ++c) light[c] = inverted ? values[4 * i + c] : 255 - values[4 * i + c];
    for (size_t c = 0; c < 3; ++c) values[3 * i + c] = static_cast<uint8_t>((light[c] * light[3] + 127) / 255);
  }
  values.resize(3 * pixels);
}

}  // namespace

Pixels decode_jpeg(std::string_view bytes, const std::string& name) {
  JpegReader reader;
  TANDEM_CHECK(read_header(reader, bytes), "read_image: ", name, " is damaged: libjpeg says: ", reader.message);
  const bool is_cmyk = reader.info.out_color_space == JCS_CMYK;
  Pixels pixels;
  pixels.height = reader.info.image_height;
  pixels.width = reader.info.image_width;
  // A block of 64 pixels takes at least one bit. This check keeps a damaged header from requesting too much memory.
  const int64_t capacity = 1024 * (static_cast<int64_t>(bytes.size()) + 64);
  TANDEM_CHECK(pixels.height * pixels.width <= capacity, "read_image: ", name, " declares ", pixels.height, " x ",
               pixels.width, " pixels; a file of this length holds at most ", capacity, ", so it is damaged");
  const size_t row_bytes = static_cast<size_t>(pixels.width) * (is_cmyk ? 4 : 3);
  pixels.values.resize(static_cast<size_t>(pixels.height) * row_bytes);
  TANDEM_CHECK(read_rows(reader, pixels.values.data(), row_bytes), "read_image: ", name,
               " is damaged: libjpeg says: ", reader.message);
  // Photoshop writes an Adobe marker, and inverts the CMYK values.
  if (is_cmyk) convert_cmyk_to_rgb(pixels.values, reader.info.saw_Adobe_marker != 0);
  return pixels;
}

}  // namespace tandem::data::detail
#else
namespace tandem::data::detail {

Pixels decode_jpeg(std::string_view, const std::string& name) {
  throw_error<NotImplementedError>(
      __FILE__, __LINE__, "read_image: ", name,
      " is a JPEG file, but Tandem was built without libjpeg; on Debian, run `apt install ",
      "libjpeg-dev` and rebuild");
}

}  // namespace tandem::data::detail
#endif
