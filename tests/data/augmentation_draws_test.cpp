// Tests the draws of random transforms: their distributions, and that they follow from the stream of the example.
#include <cmath>
#include <map>
#include <sstream>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randperm.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::data::transforms;

namespace {

/// Returns an image whose pixels are all different: channel, row and column can be read from a value.
Tensor numbered_image(int64_t height, int64_t width) {
  return arange(3 * height * width, kFloat32).view({3, height, width});
}
/// Checks a number of events of probability p in n trials. Five standard deviations are exceeded with probability 6e-7.
void check_count(int count, int n, double p) {
  INFO(count << " of " << n << " with probability " << p);
  CHECK(std::abs(count - n * p) <= 5 * std::sqrt(n * p * (1 - p)));
}
/// Checks that the mean of n numbers is that of a uniform distribution on [low, high], up to five standard deviations.
void check_uniform_mean(double sum, int n, double low, double high) {
  const double deviation = (high - low) / std::sqrt(12.0 * n);
  INFO("mean " << sum / n << " of numbers from " << low << " to " << high);
  CHECK(std::abs(sum / n - (low + high) / 2) <= 5 * deviation);
}
double draw() { return rand({1}, kFloat64).item<double>(); }

auto make_augmentation() {
  return Compose(RandomCrop<>(RandomCropOptions(8).padding({2}).padding_mode("reflect")), RandomHorizontalFlip<>(),
                 RandomVerticalFlip<>(0.3), RandomRotation<>(20), ColorJitter<>({0.4, 0.4, 0.4, 0.1}),
                 RandomGrayscale<>(0.3), RandomResizedCrop<>(6),
                 RandomErasing<>(RandomErasingOptions(0.7).random_value(true)), Normalize<>({0.5}, {0.25}));
}
auto make_dataset() {
  const Tensor images = arange(12 * 3 * 8 * 8, kFloat32).view({12, 3, 8, 8}) / (12 * 3 * 8 * 8);
  return datasets::TensorPairDataset(images, arange(12)).map(make_augmentation()).map(Stack<>());
}
using Numbers = std::vector<float>;
void append(Numbers& to, const Tensor& x) {
  const Tensor flat = x.contiguous();
  to.insert(to.end(), flat.data<float>(), flat.data<float>() + flat.numel());
}

}  // namespace

TEST_CASE("RandomCrop takes each position with the same probability", "[data][augmentation][one_thread]") {
  manual_seed(1);
  const Tensor image = numbered_image(6, 8);
  RandomCrop<> crop(RandomCropOptions(3, 4));
  std::map<int, int> counts;  // by the value of the top left pixel, row * 8 + column
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const Tensor part = crop(image);
    REQUIRE(part.sizes() == IntArrayRef{3, 3, 4});
    const int at = part[0][0][0].item<int>();
    REQUIRE(part.equal(functional::crop(image, at / 8, at % 8, 3, 4)));
    ++counts[at];
  }
  REQUIRE(counts.size() == 4 * 5);
  for (const auto& [at, count] : counts) check_count(count, kDraws, 1. / 20);
}

TEST_CASE("RandomCrop pads before the crop, and larger images only if needed", "[data][augmentation]") {
  manual_seed(1);
  const Tensor image = numbered_image(4, 4) + 1;
  RandomCrop<> padded(RandomCropOptions(4).padding({1, 0}).fill({-1, -2, -3}));
  std::map<int, int> counts;  // by the number of columns of padding at the left, or negative at the right
  for (int i = 0; i < 900; ++i) {
    const Tensor part = padded(image);
    const int left = part[0][0].eq(-1).sum().item<int>(), at = part[0][0][0].item<int>();
    ++counts[at == -1 ? left : -left];
  }
  REQUIRE(counts.size() == 3);
  for (const auto& [at, count] : counts) check_count(count, 900, 1. / 3);

  RandomCrop<> needed(RandomCropOptions(7, 3).pad_if_needed(true));
  const Tensor tall = needed(image);
  REQUIRE(tall.sizes() == IntArrayRef{3, 7, 3});
  REQUIRE(tall[0].ne(0).any(1).sum().item<int>() == 4);  // 3 rows of padding on both sides, of which 3 remain
  REQUIRE_THROWS_WITH(RandomCrop<>(5)(image), Contains("Required crop size (5, 5)") && Contains("(4, 4)"));
  REQUIRE_THROWS_WITH(RandomCrop<>(0), Contains("size is 0 x 0"));
  REQUIRE_THROWS_WITH(RandomCrop<>(RandomCropOptions(2).padding_mode("wrap")), Contains("wrap"));
  REQUIRE_THROWS_WITH(RandomCrop<>(RandomCropOptions(2).padding({1, 2, 3})), Contains("3 numbers"));
}

TEST_CASE("RandomResizedCrop draws areas and aspect ratios uniformly from their ranges",
          "[data][augmentation][one_thread]") {
  manual_seed(2);
  constexpr int kDraws = 3000;
  const auto options = RandomResizedCropOptions(8).scale({0.1, 0.3}).ratio({0.5, 2});
  double areas = 0, ratios = 0, tops = 0, lefts = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto box = transforms::detail::draw_resized_crop(1000, 800, options);  // every drawn box fits
    const double h = static_cast<double>(box.height), w = static_cast<double>(box.width);
    // Rounding to pixels changes a side of at least 200 pixels by up to half a pixel
    REQUIRE((h * w > 0.099 * 800000 && h * w < 0.301 * 800000 && w / h > 0.495 && w / h < 2.01));
    REQUIRE((box.top >= 0 && box.top + box.height <= 1000 && box.left >= 0 && box.left + box.width <= 800));
    areas += h * w / 800000;
    ratios += std::log(w / h);
    tops += static_cast<double>(box.top) / (1000 - h);
    lefts += static_cast<double>(box.left) / (800 - w);
  }
  check_uniform_mean(areas, kDraws, 0.1, 0.3);
  check_uniform_mean(ratios, kDraws, std::log(0.5), std::log(2));
  check_uniform_mean(tops, kDraws, 0, 1);
  check_uniform_mean(lefts, kDraws, 0, 1);

  // In a long image no box of this area fits; torchvision takes the largest accepted box in the middle.
  const auto whole = RandomResizedCropOptions(8).scale({0.9, 1});
  const auto middle = transforms::detail::draw_resized_crop(12, 90, whole);
  CHECK((middle.top == 0 && middle.height == 12 && middle.width == 16 && middle.left == 37));
  const auto upright = transforms::detail::draw_resized_crop(90, 12, whole);
  CHECK((upright.left == 0 && upright.width == 12 && upright.height == 16 && upright.top == 37));
  CHECK(RandomResizedCrop<>({4, 6})(numbered_image(9, 9)).sizes() == IntArrayRef{3, 4, 6});
  REQUIRE_THROWS_WITH(RandomResizedCrop<>(RandomResizedCropOptions(2).scale({0.5, 0.1})),
                      Contains("scale is 0.5 to 0.1"));
  REQUIRE_THROWS_WITH(RandomResizedCrop<>(RandomResizedCropOptions(2).ratio({0, 1})), Contains("ratio is 0 to 1"));
}

TEST_CASE("flips, grey images and erasing happen with their probability", "[data][augmentation][one_thread]") {
  manual_seed(3);
  const Tensor image = numbered_image(4, 4);
  const auto count = [&](auto transform, int n) {
    int changed = 0;
    for (int i = 0; i < n; ++i) changed += !transform(image).equal(image);
    return changed;
  };
  check_count(count(RandomHorizontalFlip<>(), 2000), 2000, 0.5);
  check_count(count(RandomVerticalFlip<>(0.2), 2000), 2000, 0.2);
  check_count(count(RandomGrayscale<>(), 2000), 2000, 0.1);
  check_count(count(RandomErasing<>(RandomErasingOptions(0.3).value({-1}).scale({0.2, 0.3})), 2000), 2000, 0.3);
  CHECK(count(RandomHorizontalFlip<>(0), 50) == 0);
  CHECK(count(RandomHorizontalFlip<>(1), 50) == 50);
  CHECK(RandomHorizontalFlip<>(1)(image).equal(image.flip(-1)));
  CHECK(RandomVerticalFlip<>(1)(image).equal(image.flip(-2)));
  CHECK(RandomGrayscale<>(1)(image / 48).equal(functional::rgb_to_grayscale(image / 48, 3)));
  CHECK(Grayscale<>()(image).equal(functional::rgb_to_grayscale(image)));
  REQUIRE_THROWS_WITH(RandomHorizontalFlip<>(1.5), Contains("p is 1.5; accepted: 0 to 1"));
  REQUIRE_THROWS_WITH(RandomErasing<>(-0.1), Contains("RandomErasing: p is -0.1"));
}

TEST_CASE("RandomErasing erases rectangles of the drawn areas anywhere", "[data][augmentation][one_thread]") {
  manual_seed(4);
  constexpr int kDraws = 1500;
  const Tensor image = zeros({1, 60, 60});
  RandomErasing<> erasing(RandomErasingOptions(1).scale({0.05, 0.25}).ratio({0.5, 2}).value({1}));
  double areas = 0, centers = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Tensor erased = erasing(image)[0];
    const Tensor in_row = erased.any(1), in_column = erased.any(0);
    const int rows = in_row.sum().item<int>(), columns = in_column.sum().item<int>();
    REQUIRE(erased.sum().item<int>() == rows * columns);  // a rectangle
    areas += rows * columns / 3600.0;
    const int top = in_row.to(kInt64).argmax(0).item<int>();
    centers += (top + 0.5) / (60 - rows + 1);
    REQUIRE((rows < 2.3 * columns && columns < 2.3 * rows));  // sides of 9 pixels or more are rounded
  }
  check_uniform_mean(areas, kDraws, 0.05, 0.25);
  check_uniform_mean(centers, kDraws, 0, 1);

  RandomErasing<> noise(RandomErasingOptions(1).scale({0.3, 0.3}).ratio({1, 1}).random_value(true));
  const Tensor noisy = noise(zeros({3, 60, 60}));  // three channels of 33 x 33 normal numbers
  CHECK(noisy.ne(0).sum().item<int>() == 3 * 33 * 33);
  CHECK(std::abs(noisy.square().sum().item<double>() / (3 * 33 * 33) - 1) < 5 * std::sqrt(2.0 / (3 * 33 * 33)));
  REQUIRE_THROWS_WITH(RandomErasing<>(RandomErasingOptions(1).value({1, 2}))(image), Contains("it has 2"));
}

TEST_CASE("RandomRotation and ColorJitter draw what their functions are called with", "[data][augmentation]") {
  const Tensor image = numbered_image(5, 7) / 105;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    manual_seed(seed);
    const Tensor rotated = RandomRotation<>({10, 80})(image);
    manual_seed(seed);
    CHECK(rotated.equal(functional::rotate(image, 10 + 70 * draw(), kNearest, false, {}, {0})));

    manual_seed(seed);
    const Tensor jittered = ColorJitter<>({0.5, JitterRange(0.2, 3), 1.5, 0.1})(image);
    manual_seed(seed);
    const Tensor order = randperm(4);
    const double brightness = 0.5 + draw(), contrast = 0.2 + 2.8 * draw(), saturation = 2.5 * draw(),
                 hue = -0.1 + 0.2 * draw();
    Tensor expected = image;
    for (int i = 0; i < 4; ++i) switch (order[i].item<int>()) {
        case 0: expected = functional::adjust_brightness(expected, brightness); break;
        case 1: expected = functional::adjust_contrast(expected, contrast); break;
        case 2: expected = functional::adjust_saturation(expected, saturation); break;
        default: expected = functional::adjust_hue(expected, hue);
      }
    // The ends of the ranges are computed in another order here, which changes the last bits of a factor
    CHECK((jittered - expected).abs().max().item<double>() < 1e-6);
  }
  manual_seed(1);
  CHECK(ColorJitter<>()(image).equal(image));
  REQUIRE_THROWS_WITH(ColorJitter<>(ColorJitterOptions().hue(0.6)), Contains("hue is -0.6 to 0.6"));
  REQUIRE_THROWS_WITH(ColorJitter<>(ColorJitterOptions().contrast({2, 1})), Contains("contrast is 2 to 1"));
  REQUIRE_THROWS_WITH(ColorJitter<>(ColorJitterOptions(-1)), Contains("brightness") && Contains("non negative"));
}

TEST_CASE("all images of a batch get the same draw", "[data][augmentation]") {
  const Tensor images = arange(4 * 3 * 8 * 8, kFloat32).view({4, 3, 8, 8}) / (4 * 3 * 8 * 8);
  auto augment = Compose(RandomCrop<>(6), RandomHorizontalFlip<>(), RandomRotation<>(40), RandomResizedCrop<>(5),
                         RandomErasing<>(RandomErasingOptions(1).value({0.5})));
  for (uint64_t seed = 0; seed < 5; ++seed) {
    manual_seed(seed);
    const Tensor all = augment(images);
    REQUIRE(all.sizes() == IntArrayRef{4, 3, 5, 5});
    for (int64_t i = 0; i < 4; ++i) {
      manual_seed(seed);
      CHECK(all[i].equal(augment(images[i])));
    }
  }
}

TEST_CASE("augmented examples are the same with any number of workers and after a resume", "[data][augmentation]") {
  std::vector<Numbers> runs;
  for (const size_t workers : {0, 1, 3}) {
    manual_seed(5);
    auto loader = make_data_loader(make_dataset(), samplers::ShardSampler(12), DataLoaderOptions(5).workers(workers));
    runs.emplace_back();
    for (int epoch = 0; epoch < 2; ++epoch)
      for (auto& batch : *loader) append(runs.back(), batch.data);
    CHECK(runs.back() == runs[0]);
  }
  const size_t per_epoch = runs[0].size() / 2;
  CHECK(per_epoch == 12 * 3 * 6 * 6);
  CHECK(Numbers(runs[0].begin(), runs[0].begin() + static_cast<std::ptrdiff_t>(per_epoch)) !=
        Numbers(runs[0].begin() + static_cast<std::ptrdiff_t>(per_epoch), runs[0].end()));

  manual_seed(5);
  auto started = make_data_loader(make_dataset(), samplers::ShardSampler(12), DataLoaderOptions(5).workers(2));
  Numbers all;
  auto at = started->begin();
  append(all, at->data);
  serialize::OutputArchive out;
  started->save(out);
  const std::vector<char> bytes = pickle_save(out.value());
  manual_seed(99);
  auto resumed = make_data_loader(make_dataset(), samplers::ShardSampler(12), DataLoaderOptions(5).workers(1));
  serialize::InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  resumed->load(in);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (auto& batch : *resumed) append(all, batch.data);
  CHECK(all == runs[0]);
}
