// ConcatDataset: several datasets one after another.
#pragma once
#include <variant>

#include "tandem/data/rows.h"
#include "tandem/data/subsets/subset.h"

namespace tandem::data::datasets {

namespace detail {

/// Returns the number of examples in the first 1, 2, ... datasets. @throws Error if a size is nullopt
std::vector<size_t> add_up_sizes(const std::vector<std::optional<size_t>>& sizes);
/// Returns the dataset that holds example `index`, and its index in that dataset.
/// @throws IndexError if there is no such example
data::detail::RowPosition locate_example(const std::vector<size_t>& cumulative_sizes, size_t index);

/// A request for a batch from several datasets, divided by dataset.
struct DividedRequest {
  std::vector<size_t> datasets;                     // datasets that hold a requested example
  std::vector<std::vector<size_t>> indices;         // for each of `datasets`, the indices requested from it
  std::vector<data::detail::RowPosition> position;  // for each example, its position in `datasets` and in `indices`
};
DividedRequest divide_request(const std::vector<size_t>& cumulative_sizes, ArrayRef<size_t> request);
/// Returns one batch of the rows at `positions` in several stacked batches.
Example<> merge_stacked(const std::vector<Example<>>& batches, const std::vector<data::detail::RowPosition>& positions);
TensorExample merge_stacked(const std::vector<TensorExample>& batches,
                            const std::vector<data::detail::RowPosition>& positions);

/// Returns the example at `index`, by get() if the dataset has one.
template <class D> auto get_example(D& dataset, size_t index) {
  if constexpr (HasGet<D>) {
    return dataset.get(index);
  } else {
    auto batch = dataset.get_batch(index);
    TANDEM_CHECK(batch.size() == 1, "ConcatDataset: get_batch returned ", batch.size(), " examples for one index");
    return std::move(batch[0]);
  }
}

template <class D, class E>
concept ReturnsStacked = requires(D dataset, ArrayRef<size_t> indices) {
  { dataset.get_stacked(indices) } -> std::same_as<E>;
};
/// Whether all datasets return stacked batches of type E, and merge_stacked() supports E.
template <class E, class... Ds>
inline constexpr bool kAllReturnStacked = (std::is_same_v<E, Example<>> ||
                                           std::is_same_v<E, TensorExample>)&&(ReturnsStacked<Ds, E>&&...);

}  // namespace detail

/// Several datasets one after another, as in Python's torch.utils.data.ConcatDataset: ConcatDataset(a, b, c), or
/// ConcatDataset of a vector of datasets. The datasets may have different types, but their examples have one type.
/// Their sizes must be known, and are read once. Apply Stack to the ConcatDataset, not to the datasets in it.
template <class First, class... Rest>
class ConcatDataset : public BatchDataset<ConcatDataset<First, Rest...>, typename First::BatchType> {
  static_assert((std::is_same_v<typename Rest::BatchType, typename First::BatchType> && ...),
                "the datasets of a ConcatDataset need examples of one type");
  static_assert(std::is_same_v<typename First::BatchType, std::vector<typename First::BatchType::value_type>>,
                "a ConcatDataset needs datasets whose batches are vectors of examples; apply Stack after it");

 public:
  using BatchType = typename First::BatchType;
  using ExampleType = typename BatchType::value_type;
  ConcatDataset(First first, Rest... rest) {
    datasets_.reserve(1 + sizeof...(Rest));
    add<0>(std::move(first), std::move(rest)...);
    read_sizes();
  }
  /// @throws Error if there is no dataset
  explicit ConcatDataset(std::vector<First> datasets) requires(sizeof...(Rest) == 0) {
    TANDEM_CHECK(!datasets.empty(), "ConcatDataset: datasets should not be an empty iterable");
    for (First& dataset : datasets) datasets_.emplace_back(std::in_place_index<0>, std::move(dataset));
    read_sizes();
  }

  BatchType get_batch(ArrayRef<size_t> request) override {
    BatchType batch;
    batch.reserve(request.size());
    data::detail::ExampleRandomGuard example;
    for (size_t i = 0; i < request.size(); ++i) {
      example.begin_example(i);
      batch.push_back(get(request[i]));
    }
    return batch;
  }
  /// Returns the example at `index`.
  ExampleType get(size_t index) {
    const auto [dataset, local] = detail::locate_example(cumulative_sizes_, index);
    return std::visit([local = local](auto& source) -> ExampleType { return detail::get_example(source, local); },
                      datasets_[dataset]);
  }
  /// Returns the examples at these indices as one stacked batch. Only declared if all datasets support stacked batches.
  ExampleType get_stacked(ArrayRef<size_t> request) requires detail::kAllReturnStacked<ExampleType, First, Rest...> {
    const auto stacked = [&](size_t dataset, ArrayRef<size_t> indices) {
      return std::visit([&](auto& source) { return source.get_stacked(indices); }, datasets_[dataset]);
    };
    const detail::DividedRequest divided = detail::divide_request(cumulative_sizes_, request);
    if (divided.datasets.empty()) return stacked(0, {});
    std::vector<ExampleType> batches;
    for (size_t i = 0; i < divided.datasets.size(); ++i)
      batches.push_back(stacked(divided.datasets[i], divided.indices[i]));
    return batches.size() == 1 ? std::move(batches[0]) : detail::merge_stacked(batches, divided.position);
  }
  std::optional<size_t> size() const override { return cumulative_sizes_.back(); }
  /// Returns the number of examples in the first 1, 2, ... datasets.
  const std::vector<size_t>& cumulative_sizes() const noexcept { return cumulative_sizes_; }

 private:
  template <size_t I, class Dataset, class... More> void add(Dataset dataset, More... more) {
    datasets_.emplace_back(std::in_place_index<I>, std::move(dataset));
    if constexpr (sizeof...(More) > 0) add<I + 1>(std::move(more)...);
  }
  void read_sizes() {
    std::vector<std::optional<size_t>> sizes;
    for (const auto& dataset : datasets_)
      sizes.push_back(std::visit([](const auto& source) { return source.size(); }, dataset));
    cumulative_sizes_ = detail::add_up_sizes(sizes);
  }
  std::vector<std::variant<First, Rest...>> datasets_;
  std::vector<size_t> cumulative_sizes_;
};
template <class D> ConcatDataset(std::vector<D>) -> ConcatDataset<D>;

}  // namespace tandem::data::datasets

namespace tandem::data {
using datasets::ConcatDataset;
}  // namespace tandem::data
