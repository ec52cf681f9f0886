// Tests reading images and folders of images.
#include <zlib.h>

#include <filesystem>

#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/randint.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using data::read_image;
using data::datasets::ImageFolder;
namespace fs = std::filesystem;

namespace {

std::string fixture(const std::string& name) { return std::string(test::kFixtures) + "/images/" + name; }

/// Returns whether this build has the library for this file type. If not, checks that reading the file says so.
bool can_read(const std::string& name) {
  try {
    read_image(fixture(name));
    return true;
  } catch (const NotImplementedError& e) {
    REQUIRE_THAT(e.what(), Contains(fixture(name)) && Contains("-dev` and rebuild"));
    return false;
  }
}

/// Corrects the checksums of a PNG file's chunks, as far as their lengths are valid, so that changed contents reach the
/// decoder.
void repair_checksums(std::string& png) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(png.data());
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t length =
        size_t{bytes[at]} << 24 | size_t{bytes[at + 1]} << 16 | size_t{bytes[at + 2]} << 8 | bytes[at + 3];
    if (length > png.size() - at - 12) return;
    const auto sum = crc32(0, bytes + at + 4, static_cast<unsigned>(length + 4));
    for (size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    at += length + 12;
  }
}

/// Decodes `rounds` mutated copies of each file. Each must give an image, or an error that names the file.
void decode_changed(int rounds) {
  std::mt19937_64 random(20);
  size_t images = 0, errors = 0;
  for (const auto& entry : fs::directory_iterator(fixture(""))) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".json" || !can_read(name)) continue;
    const std::string original = test::read_file(entry.path().string());
    for (int round = 0; round < rounds; ++round) {
      std::string changed = test::mutate(original, random);
      if (name.ends_with(".png") && round % 4 != 0) repair_checksums(changed);
      try {
        const Tensor image = data::detail::decode_image(changed, "the changed file");
        if (image.dim() != 3 || image.size(0) != 3) FAIL("an image of " << image.sizes());
        ++images;
      } catch (const Error& e) {
        if (std::string(e.what()).find("the changed file") == std::string::npos) FAIL(e.what());
        ++errors;
      }
    }
  }
  if (can_read("colour.png")) REQUIRE(errors > images / 10);
}

}  // namespace

TEST_CASE("images are those that Pillow reads", "[data][image]") {
  const auto recorded = test::read_json("images/pixels.json");
  for (const auto& [name, expected] : recorded.at("files").items()) {
    if (!can_read(name)) continue;
    INFO(name);
    const Tensor image = read_image(fixture(name));
    const int64_t height = expected["height"], width = expected["width"];
    REQUIRE(image.dtype() == kUInt8);
    REQUIRE(image.sizes() == IntArrayRef{3, height, width});
    const Tensor pixels = image.permute({1, 2, 0}).contiguous();
    const int tolerance = name.ends_with(".jpg") ? 3 : 0;  // versions of libjpeg round differently
    int worst = 0;
    for (int64_t i = 0; i < pixels.numel(); ++i)
      worst = std::max(worst, std::abs(pixels.data<uint8_t>()[i] - expected["rgb"][static_cast<size_t>(i)].get<int>()));
    REQUIRE(worst <= tolerance);
  }
}

TEST_CASE("a file that is no image is refused by its name", "[data][image]") {
  const test::TemporaryFolder folder;
  REQUIRE_THROWS_WITH(read_image(folder / "none.png"), Contains("there is no file") && Contains("none.png"));
  REQUIRE_THROWS_WITH(read_image(folder.path()), Contains("is not a file") && Contains(folder.path()));
  test::write_file(folder / "empty.png", "");
  REQUIRE_THROWS_WITH(read_image(folder / "empty.png"), Contains("empty.png is empty"));
  test::write_file(folder / "text.jpg", "GIF89a, or so");
  REQUIRE_THROWS_WITH(read_image(folder / "text.jpg"),
                      Contains("text.jpg") && Contains("neither a JPEG nor a PNG file"));
}

TEST_CASE("a file that was cut off anywhere is refused", "[data][image]") {
  for (const char* name : {"colour.jpg", "progressive.jpg", "one_pixel.jpg", "colour.png", "interlaced_16_bits.png"}) {
    if (!can_read(name)) continue;
    const std::string bytes = test::read_file(fixture(name));
    for (size_t size = 0; size < bytes.size(); ++size) {
      INFO(name << ", " << size << " of " << bytes.size() << " bytes");
      REQUIRE_THROWS_WITH(data::detail::decode_image(std::string_view(bytes).substr(0, size), "cut.file"),
                          Contains("cut.file"));
    }
  }
}

TEST_CASE("a header that announces more than the file can hold is refused", "[data][image]") {
  if (can_read("colour.png")) {
    std::string png = test::read_file(fixture("colour.png"));
    png[17] = png[21] = 7;  // adds 7 << 16 to width and height
    repair_checksums(png);
    REQUIRE_THROWS_WITH(data::detail::decode_image(png, "large.png"), Contains("large.png declares 458765 x 458771"));
  }
  if (can_read("colour.jpg")) {
    std::string jpeg = test::read_file(fixture("colour.jpg"));
    const size_t header = jpeg.find("\xff\xc0");  // start of frame: marker, length, precision, height, width
    REQUIRE(header != std::string::npos);
    jpeg[header + 5] = jpeg[header + 7] = static_cast<char>(0xf0);
    REQUIRE_THROWS_WITH(data::detail::decode_image(jpeg, "large.jpg"), Contains("large.jpg declares 61453 x 61459"));
  }
}

TEST_CASE("changed files give an image or an error, never more", "[data][image]") { decode_changed(1500); }
TEST_CASE("many changed files give an image or an error", "[data][image][.][long]") { decode_changed(40000); }

TEST_CASE("ImageFolder has a class for each folder, and its images", "[data][image]") {
  if (!can_read("colour.png")) return;
  const test::TemporaryFolder root;
  const auto put = [&](const std::string& name, const std::string& to) {
    fs::create_directories(fs::path(root / to).parent_path());
    fs::copy_file(fixture(name), root / to);
  };
  put("grey.png", "dog/b.PNG");
  put("one_pixel.png", "dog/a.png");
  put("colour.png", "dog/a/z.png");
  put("alpha.png", "cat/only.png");
  test::write_file(root / "cat/notes.txt", "not an image");
  test::write_file(root / "readme.png", "not in a folder");
  ImageFolder dataset(root.path());
  REQUIRE(dataset.classes() == std::vector<std::string>{"cat", "dog"});
  REQUIRE(dataset.class_to_idx() == std::map<std::string, int64_t>{{"cat", 0}, {"dog", 1}});
  using Sample = std::pair<std::string, int64_t>;
  REQUIRE(dataset.samples() ==
          std::vector<Sample>{
              {root / "cat/only.png", 0}, {root / "dog/a.png", 1}, {root / "dog/b.PNG", 1}, {root / "dog/a/z.png", 1}});
  REQUIRE(dataset.size() == 4);
  const data::Example<> first = dataset.get(0);
  REQUIRE(first.target.item<int64_t>() == 0);
  REQUIRE(first.data.dtype() == kFloat32);
  const Tensor bytes = read_image(fixture("alpha.png"));
  REQUIRE(first.data.sizes() == bytes.sizes());
  for (int64_t i = 0; i < bytes.numel(); ++i)
    REQUIRE(first.data.contiguous().data<float>()[i] == Approx(bytes.data<uint8_t>()[i] / 255.0).epsilon(1e-6));
  REQUIRE(dataset.get(3).target.item<int64_t>() == 1);
  REQUIRE_THROWS_AS(dataset.get(4), IndexError);

  fs::create_directory(root / "empty");
  REQUIRE_THROWS_WITH(ImageFolder(root.path()), Contains("empty has no images") && Contains(".png"));
  fs::remove(root / "empty");
  fs::create_directory_symlink(root / "dog/a", root / "cat/more");
  REQUIRE(ImageFolder(root.path()).samples().at(1) == Sample{root / "cat/more/z.png", 0});
  fs::create_directory_symlink(root.path(), root / "cat/loop");
  REQUIRE_THROWS_WITH(ImageFolder(root.path()), Contains("cat/loop is a link to a folder that contains it"));
  REQUIRE_THROWS_WITH(ImageFolder(root / "dog/a"), Contains("has no folders"));
  REQUIRE_THROWS_WITH(ImageFolder(root / "missing"), Contains("cannot read") && Contains("missing"));
}

TEST_CASE("a damaged image of a folder is named by the loader", "[data][image]") {
  if (!can_read("colour.png")) return;
  const test::TemporaryFolder root;
  fs::create_directory(root / "a");
  fs::copy_file(fixture("colour.png"), root / "a/1.png");
  test::write_file(root / "a/2.png", test::read_file(fixture("colour.png")).substr(0, 90));
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      ImageFolder(root.path()).map(data::transforms::Stack<>()), data::DataLoaderOptions(1).workers(2));
  auto at = loader->begin();
  REQUIRE(at->data.sizes() == IntArrayRef{1, 3, 13, 19});
  REQUIRE_THROWS_WITH(++at, Contains("a/2.png is damaged"));
}

TEST_CASE("Resize and CenterCrop bring images to one size", "[data][image]") {
  const Tensor image = arange(2 * 4 * 6, kFloat32).view({2, 4, 6});
  data::transforms::Resize<> half(2, 3, kBilinear, /*antialias=*/false), area(2, 3, kArea);
  // Each output pixel lies in the middle of 2 x 2 input pixels, so both modes give their mean.
  REQUIRE(half(image).equal(
      tensor({3.5f, 5.5f, 7.5f, 15.5f, 17.5f, 19.5f, 27.5f, 29.5f, 31.5f, 39.5f, 41.5f, 43.5f}).view({2, 2, 3})));
  REQUIRE(area(image).equal(half(image)));
  REQUIRE(data::transforms::Resize<>(7, 5)(image).sizes() == IntArrayRef{2, 7, 5});
  REQUIRE(data::transforms::Resize<>(3)(image).sizes() == IntArrayRef{2, 3, 4});  // 3 * 6 / 4 is rounded down
  REQUIRE_THROWS_WITH(half(image[0]), Contains("Resize: the image is (4, 6)"));

  data::transforms::CenterCrop<> crop(2, 3);
  REQUIRE(crop(image)[0].equal(tensor({{7.f, 8.f, 9.f}, {13.f, 14.f, 15.f}})));
  REQUIRE(data::transforms::CenterCrop<>(4, 6)(image).equal(image));
  REQUIRE_THROWS_WITH(data::transforms::CenterCrop<>(5, 6)(image), Contains("(2, 4, 6)") && Contains("5 x 6"));
}
