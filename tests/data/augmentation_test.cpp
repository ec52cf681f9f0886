// Tests the functions that change images against torchvision's results (fixtures/augmentation.json), and their errors.
#include "tandem/data/augmentation/augmentation.h"

#include <cmath>

#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

using namespace tandem;
namespace F = tandem::data::transforms::functional;

namespace {

Tensor make_image(const std::vector<int64_t>& shape, Dtype dtype) {
  Tensor image = empty(shape, kFloat64);
  for (int64_t i = 0; i < image.numel(); ++i) {
    const double u = test::unit(i, 1);
    image.data<double>()[i] = dtype == kUInt8 ? std::floor(u * 256) : u;
  }
  return image.to(dtype);
}
std::vector<double> values_of(const Tensor& x) {
  const Tensor flat = x.to(kFloat64).contiguous();
  return {flat.data<double>(), flat.data<double>() + flat.numel()};
}
InterpolationMode mode_of(const nlohmann::json& arguments) {
  const std::string name = arguments.at("interpolation");
  return name == "nearest"         ? kNearest
         : name == "nearest-exact" ? kNearestExact
         : name == "bilinear"      ? InterpolationMode::bilinear
                                   : kBicubic;
}

/// Calls a function with the arguments of a row of the fixture.
Tensor call(const std::string& function, const Tensor& image, const nlohmann::json& a) {
  const double scale = image.dtype() == kUInt8 ? 200 : 1;  // of fill values
  const auto list = [&](const char* key) {
    std::vector<double> values;
    for (const double x : a.value(key, std::vector<double>{0})) values.push_back(x * scale);
    return values;
  };
  const auto integer = [&](const char* key) { return a.at(key).get<int64_t>(); };
  if (function == "adjust_brightness") return F::adjust_brightness(image, a.at("brightness_factor"));
  if (function == "adjust_contrast") return F::adjust_contrast(image, a.at("contrast_factor"));
  if (function == "adjust_saturation") return F::adjust_saturation(image, a.at("saturation_factor"));
  if (function == "adjust_hue") return F::adjust_hue(image, a.at("hue_factor"));
  if (function == "rgb_to_grayscale") return F::rgb_to_grayscale(image, integer("num_output_channels"));
  if (function == "horizontal_flip") return F::horizontal_flip(image);
  if (function == "vertical_flip") return F::vertical_flip(image);
  if (function == "crop") return F::crop(image, integer("top"), integer("left"), integer("height"), integer("width"));
  if (function == "pad")
    return F::pad_image(image, a.at("padding").get<std::vector<int64_t>>(), list("fill"), a.at("padding_mode"));
  if (function == "rotate")
    return F::rotate(image, a.at("angle"), mode_of(a), a.value("expand", false),
                     a.value("center", std::vector<double>{}),
                     a.contains("fill") ? list("fill") : std::vector<double>());
  if (function == "erase") {
    const std::vector<double> v = list("v");
    const Tensor values = tensor(v).view({static_cast<int64_t>(v.size()), 1, 1});
    return F::erase(image, integer("i"), integer("j"), integer("h"), integer("w"), values);
  }
  const auto size = a.at("size").get<std::vector<int64_t>>();
  if (function == "resized_crop")
    return F::resized_crop(image, integer("top"), integer("left"), integer("height"), integer("width"), size[0],
                           size[1], mode_of(a), a.at("antialias"));
  REQUIRE(function == "resize");
  return size.size() == 1 ? F::resize_shorter_edge(image, size[0], mode_of(a), a.at("antialias"))
                          : F::resize(image, size[0], size[1], mode_of(a), a.at("antialias"));
}

/// Compares a float32 result with the fixture's checksum. The functions round a handful of times, each by 6e-8 of
/// values up to 1; bilinear rotation multiplies positions of up to 11 pixels.
void check_floats(const std::vector<double>& result, const nlohmann::json& expected) {
  constexpr double kTolerance = 2e-6;
  const test::Checksum sum = test::checksum(result);
  const double bound = kTolerance * static_cast<double>(result.size());
  CHECK(std::abs(sum.sum - expected.at("sum").get<double>()) <= bound);
  CHECK(std::abs(sum.weighted - expected.at("weighted").get<double>()) <= bound);
  for (size_t i = 0; i < sum.head.size(); ++i)
    CHECK(std::abs(sum.head[i] - expected.at("head")[i].get<double>()) <= 5 * kTolerance);
}
/// Compares a uint8 result with the fixture. Rounding errors may move a value to the other side of an integer, where it
/// is truncated, or of a half, where it is rounded. Resizing to 5/2 of the size has weights such as 0.1 and 0.9, so
/// that one value in 10 is close to a half.
void check_integers(const std::vector<double>& result, const std::vector<double>& expected) {
  REQUIRE(result.size() == expected.size());
  size_t different = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    CHECK(std::abs(result[i] - expected[i]) <= 1);
    different += result[i] != expected[i];
  }
  CHECK(different <= result.size() / 25);
}

}  // namespace

TEST_CASE("functions of images give what torchvision gives", "[data][augmentation][one_thread]") {
  const auto fixture = test::read_json("augmentation.json");
  size_t count = 0;
  for (const auto& row : fixture.at("cases")) {
    const std::string function = row.at("function");
    const Dtype dtype = test::dtype_named(row.at("dtype"));
    const auto shape = row.at("shape").get<std::vector<int64_t>>();
    INFO(function << " of " << dtype << " " << IntArrayRef(shape) << " with " << row.at("arguments").dump());
    const Tensor image = make_image(shape, dtype), before = image.clone();
    const Tensor result = call(function, image, row.at("arguments"));
    CHECK(result.dtype() == dtype);
    CHECK(image.equal(before));
    REQUIRE(result.sizes() == IntArrayRef(row.at("result_shape").get<std::vector<int64_t>>()));
    if (dtype == kUInt8)
      check_integers(values_of(result), row.at("values").get<std::vector<double>>());
    else
      check_floats(values_of(result), row.at("result"));
    ++count;
  }
  REQUIRE(count > 400);
}

TEST_CASE("functions of images keep the dtype and accept batches", "[data][augmentation]") {
  for (const Dtype dtype : {kUInt8, kFloat16, kBFloat16, kFloat64}) {
    INFO(dtype);
    const Tensor images = stack({make_image({3, 6, 5}, dtype), make_image({3, 6, 5}, dtype).flip(-1)});
    const auto check = [&](const auto& f) {
      const Tensor all = f(images);
      CHECK(all.dtype() == dtype);
      for (int64_t i = 0; i < 2; ++i) CHECK(all[i].equal(f(images[i])));
    };
    if (dtype != kUInt8)
      check([](const Tensor& x) { return data::transforms::Normalize<>({0.1, 0.2, 0.3}, {0.5, 1, 2})(x); });
    check([](const Tensor& x) { return F::adjust_brightness(x, 1.3); });
    check([](const Tensor& x) { return F::adjust_contrast(x, 1.3); });
    check([](const Tensor& x) { return F::adjust_saturation(x, 0.3); });
    check([](const Tensor& x) { return F::adjust_hue(x, 0.2); });
    check([](const Tensor& x) { return F::rgb_to_grayscale(x, 3); });
    check([](const Tensor& x) { return F::rotate(x, 33, InterpolationMode::bilinear, true); });
    check([](const Tensor& x) { return F::resize(x, 4, 9, kBicubic); });
    check([](const Tensor& x) { return F::resize(x, 4, 9, kArea); });
    check([](const Tensor& x) { return F::pad_image(x, {1}, {0}, "symmetric"); });
    check([](const Tensor& x) { return F::erase(x, 1, 1, 2, 2, tensor({1.f}).view({1, 1, 1})); });
  }
}

TEST_CASE("functions of images compute on a GPU what they compute on the CPU", "[data][augmentation][cuda]") {
  if (!cuda::is_available()) return;
  const auto check = [](const auto& f) {
    for (const Dtype dtype : {kFloat32, kUInt8}) {
      const Tensor image = make_image({2, 3, 6, 5}, dtype);
      const Tensor on_gpu = f(image.to(kCUDA)), on_cpu = f(image);
      REQUIRE(on_gpu.is_cuda());
      const double difference = (on_gpu.cpu().to(kFloat64) - on_cpu.to(kFloat64)).abs().max().item<double>();
      // Rounding differs in the last bits, which may change a truncated integer by 1
      CHECK(difference <= (dtype == kUInt8 ? 1 : 2e-6));
    }
  };
  check([](const Tensor& x) { return F::crop(x, -1, 2, 4, 6); });
  check([](const Tensor& x) { return F::pad_image(x, {1, 2}, {0.5}); });
  check([](const Tensor& x) { return F::pad_image(x, {1, 2}, {0}, "reflect"); });
  check([](const Tensor& x) { return F::vertical_flip(F::horizontal_flip(x)); });
  check([](const Tensor& x) { return F::rotate(x, 33, InterpolationMode::bilinear, true, {}, {1}); });
  check([](const Tensor& x) { return F::adjust_contrast(F::adjust_brightness(x, 0.7), 1.3); });
  check([](const Tensor& x) { return F::adjust_hue(F::adjust_saturation(x, 0.3), 0.2); });
  check([](const Tensor& x) { return F::resize(x, 4, 9, InterpolationMode::bilinear, false); });
  check([](const Tensor& x) { return F::erase(x, 1, 1, 2, 2, tensor({1.f}).view({1, 1, 1}).to(x.device())); });
  check([](const Tensor& x) { return F::resize(x, 4, 3); });
  check([](const Tensor& x) { return F::resize(x, 3, 7, kBicubic); });
}

TEST_CASE("antialiased resizing in float64 is the weighted mean that its definition says", "[data][augmentation]") {
  const Tensor image = make_image({1, 9, 4}, kFloat64);
  const std::vector<double> rows = values_of(F::resize(image, 3, 4, InterpolationMode::bilinear));
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 4; ++x) {
      double sum = 0, weights = 0;
      for (int64_t row = 0; row < 9; ++row) {
        // A triangle around the centre of the three rows that output row y covers, 3 rows wide on each side
        const double weight = std::max(0.0, 1 - std::abs(double(row) + 0.5 - 3 * (double(y) + 0.5)) / 3);
        sum += weight * image[0][row][x].item<double>();
        weights += weight;
      }
      CHECK(std::abs(rows[static_cast<size_t>(4 * y + x)] - sum / weights) < 1e-15);
    }
}

TEST_CASE("a crop outside of the image is 0", "[data][augmentation]") {
  const Tensor image = make_image({3, 4, 5}, kFloat32);
  for (const auto& [top, left] : {std::pair(-5, 3), std::pair(4, 0), std::pair(0, -2), std::pair(1, 6)}) {
    const Tensor part = F::crop(image, top, left, 3, 2);  // torchvision gives more rows than requested above the image
    CHECK(part.sizes() == IntArrayRef{3, 3, 2});
    CHECK(part.eq(0).all().item<bool>());
  }
}

TEST_CASE("erase changes the image itself only if inplace is set", "[data][augmentation]") {
  const Tensor image = make_image({3, 4, 4}, kFloat32), before = image.clone();
  const Tensor value = tensor({1.f}).view({1, 1, 1});
  CHECK(!F::erase(image, 0, 0, 2, 2, value).equal(before));
  CHECK(image.equal(before));
  CHECK(F::erase(image, 0, 0, 2, 2, value, true).equal(image));
  CHECK(!image.equal(before));
}

TEST_CASE("functions of images refuse what makes no sense", "[data][augmentation]") {
  const Tensor image = make_image({3, 4, 5}, kFloat32);
  REQUIRE_THROWS_WITH(F::adjust_brightness(image[0], 1), Contains("adjust_brightness: the image is (4, 5)"));
  REQUIRE_THROWS_WITH(F::adjust_contrast(image.narrow(0, 0, 2), 1), Contains("(2, 4, 5)") && Contains("1 or 3"));
  REQUIRE_THROWS_WITH(F::adjust_saturation(image, -1), Contains("the factor is -1"));
  REQUIRE_THROWS_WITH(F::adjust_hue(image, 0.6), Contains("hue_factor is 0.6"));
  REQUIRE_THROWS_AS(F::adjust_hue(image.to(kInt32), 0.1), NotImplementedError);
  REQUIRE_THROWS_WITH(F::rgb_to_grayscale(image, 2), Contains("must be 1 or 3, got 2"));
  REQUIRE_THROWS_WITH(F::pad_image(image, {1, 2, 3}), Contains("Found 3"));
  REQUIRE_THROWS_WITH(F::pad_image(image, {-1}), Contains("padding is -1"));
  REQUIRE_THROWS_WITH(F::pad_image(image, {4}, {0}, "reflect"), Contains("padding by 4 of 4 pixels"));
  REQUIRE_THROWS_WITH(F::pad_image(image, {1}, {0}, "mirror"), Contains("padding_mode") && Contains("mirror"));
  REQUIRE_THROWS_WITH(F::pad_image(image, {1}, {0, 1}), Contains("fill has 2 values"));
  REQUIRE_THROWS_WITH(F::rotate(image, 5, kBicubic), Contains("bicubic") && Contains("nearest and bilinear"));
  REQUIRE_THROWS_WITH(F::rotate(image, 5, kNearest, true, {1, 2}), Contains("without expand"));
  REQUIRE_THROWS_WITH(F::erase(image, 3, 0, 2, 2, tensor(0.f)), Contains("rows 3 to 5"));
  REQUIRE_THROWS_WITH(F::resize(image, 0, 2), Contains("0 x 2"));
  REQUIRE_THROWS_WITH(F::crop(image, 0, 0, -1, 2), Contains("-1 x 2"));
}
