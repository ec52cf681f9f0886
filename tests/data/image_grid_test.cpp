// Tests make_grid and save_image against torchvision's results for the same tensors.
#include <filesystem>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;
using data::make_grid;
using data::MakeGridOptions;
using data::save_image;

namespace {

/// Returns whether this build can write PNG files. If not, checks that save_image says so.
bool can_save() {
  const TemporaryFolder folder;
  try {
    save_image(zeros({3, 2, 2}), folder / "a.png");
    return true;
  } catch (const NotImplementedError& error) {
    REQUIRE_THAT(error.what(), Contains("save_image") && Contains("libpng-dev"));
    return false;
  }
}

MakeGridOptions options_of(const nlohmann::json& arguments) {
  MakeGridOptions options;
  if (arguments.contains("nrow")) options.nrow(arguments.at("nrow"));
  if (arguments.contains("padding")) options.padding(arguments.at("padding"));
  if (arguments.contains("pad_value")) options.pad_value(arguments.at("pad_value"));
  if (arguments.contains("normalize")) options.normalize(arguments.at("normalize"));
  if (arguments.contains("scale_each")) options.scale_each(arguments.at("scale_each"));
  if (arguments.contains("value_range"))
    options.value_range(MakeGridOptions::Range{arguments.at("value_range")[0], arguments.at("value_range")[1]});
  return options;
}

}  // namespace

TEST_CASE("grids and their pixels are torchvision's", "[data][image]") {
  const bool saves = can_save();
  const TemporaryFolder folder;
  const auto grids = read_json("grids.json");
  for (const auto& expected : grids.at("cases")) {
    const auto sizes = expected.at("shape").get<std::vector<int64_t>>();
    INFO(expected.at("arguments").dump() << " of " << IntArrayRef(sizes));
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    Tensor x = empty({count}, kFloat32);
    for (int64_t i = 0; i < count; ++i) x.data_ptr<float>()[i] = static_cast<float>(-0.5 + 2 * unit(i, 1));
    x = x.view(sizes);
    const MakeGridOptions options = options_of(expected.at("arguments"));
    const Tensor grid = make_grid(x, options).contiguous();
    REQUIRE(grid.sizes() == IntArrayRef(expected.at("grid_shape").get<std::vector<int64_t>>()));
    const auto values = expected.at("grid").get<std::vector<float>>();
    for (int64_t i = 0; i < grid.numel(); ++i) REQUIRE(grid.data<float>()[i] == values[static_cast<size_t>(i)]);
    if (!saves || grid.size(0) != 3) continue;
    save_image(x, folder / "grid.png", options);
    const Tensor pixels = data::read_image(folder / "grid.png");
    const auto bytes = expected.at("bytes").get<std::vector<int>>();  // in order of channels
    REQUIRE(pixels.numel() == static_cast<int64_t>(bytes.size()));
    for (int64_t i = 0; i < pixels.numel(); ++i) REQUIRE(pixels.data<uint8_t>()[i] == bytes[static_cast<size_t>(i)]);
  }
}

TEST_CASE("make_grid takes lists, half types and bytes, and needs no gradient", "[data][image]") {
  const Tensor batch = rand({5, 3, 4, 6}).requires_grad_();
  const Tensor grid = make_grid(batch, MakeGridOptions().nrow(2).padding(1).pad_value(0.5));
  CHECK(grid.sizes() == IntArrayRef{3, 3 * 5 + 1, 2 * 7 + 1});
  CHECK_FALSE(grid.requires_grad());
  CHECK(grid[0][0][0].item<float>() == 0.5f);
  CHECK(grid.narrow(1, 1, 4).narrow(2, 8, 6).equal(batch[1].detach()));
  CHECK(grid.equal(make_grid(batch.unbind(), MakeGridOptions().nrow(2).padding(1).pad_value(0.5))));
  CHECK(make_grid(batch.to(kBFloat16)).dtype() == kBFloat16);
  CHECK(make_grid(full({2, 1, 2, 2}, 7, kUInt8)).sizes() == IntArrayRef{3, 6, 10});
  // Normalizing works on a copy.
  const Tensor before = batch.detach().clone();
  make_grid(batch, MakeGridOptions().normalize(true));
  CHECK(batch.detach().equal(before));
}

TEST_CASE("save_image writes bytes as they are, and images with opacity", "[data][image]") {
  if (!can_save()) return;
  const TemporaryFolder folder;
  const Tensor bytes = arange(3 * 4 * 5, kUInt8).view({3, 4, 5});
  save_image(bytes, folder / "bytes.png");
  CHECK(data::read_image(folder / "bytes.png").equal(bytes));
  save_image(cat({bytes, full({1, 4, 5}, 9, kUInt8)}), folder / "opacity.png");
  CHECK(data::read_image(folder / "opacity.png").equal(bytes));
  save_image(full({5, 7}, 0.5), folder / "grey.png");
  CHECK(data::read_image(folder / "grey.png").equal(full({3, 5, 7}, 128, kUInt8)));
  save_image(std::vector<Tensor>(3, zeros({3, 2, 2})), folder / "list.png");
  CHECK(data::read_image(folder / "list.png").sizes() == IntArrayRef{3, 6, 14});
  CHECK(folder.count() == 4);
}

TEST_CASE("what is no image is refused by make_grid and save_image", "[data][image]") {
  const TemporaryFolder folder;
  const std::string file = folder / "a.png";
  CHECK_THROWS_WITH(make_grid(zeros({4})), Contains("make_grid: the tensor is (4") && Contains("(N, C, H, W)"));
  CHECK_THROWS_WITH(make_grid(zeros({1, 1, 1, 1, 1})), Contains("accepted: (N, C, H, W)"));
  CHECK_THROWS_WITH(make_grid(Tensor()), Contains("accepted: (N, C, H, W)"));
  CHECK_THROWS_WITH(make_grid(zeros({0, 3, 4, 4})), Contains("which has no pixels"));
  CHECK_THROWS_WITH(make_grid(std::vector<Tensor>()), Contains("the list has no images"));
  CHECK_THROWS_WITH(make_grid({zeros({3, 4, 4}), zeros({3, 4, 5})}),
                    Contains("image 1 of the list is (3, 4, 5) and the first is (3, 4, 4)"));
  CHECK_THROWS_WITH(make_grid(zeros({2, 3, 4, 4}), MakeGridOptions().nrow(0)), Contains("nrow is 0"));
  CHECK_THROWS_WITH(make_grid(zeros({3, 4, 4}, kUInt8), MakeGridOptions().normalize(true)),
                    Contains("normalize needs a floating point tensor, got uint8"));
  CHECK_THROWS_WITH(
      make_grid(zeros({3, 4, 4}), MakeGridOptions().normalize(true).value_range(MakeGridOptions::Range{1, 0})),
      Contains("value_range is (1, 0)"));
  CHECK_THROWS_WITH(save_image(zeros({3, 4, 4}), folder / "a.jpg"), Contains("a.jpg does not end in .png"));
  CHECK_THROWS_WITH(save_image(zeros({3, 4, 4}, kInt64), file), Contains("the tensor is int64"));
  CHECK_THROWS_WITH(save_image(zeros({5, 4, 4}), file), Contains("5 channels; accepted: 1 to 4"));
  CHECK_THROWS_WITH(save_image(tensor({{1.f, NAN}}), file), Contains("NaN among 6 values"));
  if (can_save())
    CHECK_THROWS_WITH(save_image(zeros({3, 4, 4}), folder / "none/a.png"),
                      Contains("save_image") && Contains("none/a.png"));
  CHECK(folder.count() == 0);
}
