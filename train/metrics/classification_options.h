// Options that all classification metrics have.
#pragma once
#include <optional>

#include "tandem/train/metrics/metric.h"

namespace tandem::metrics {

/// Options of all classification metrics. Self is the option class that derives from this class.
template <class Self> class ClassificationOptions : public MetricOptions<Self> {
 public:
  /// @param task  "binary": one label 0 or 1 for each element. "multiclass": one label from 0 to num_classes - 1.
  ///              "multilabel": num_labels labels 0 or 1, along the second dimension
  ClassificationOptions(std::string task) : task_(std::move(task)) {}
  /// Task: "binary", "multiclass" or "multilabel".
  TANDEM_INHERITED_ARG(Self, std::string, task);
  /// Number of classes; required for "multiclass".
  TANDEM_INHERITED_ARG(Self, std::optional<int64_t>, num_classes) = {};
  /// Number of labels of an example; required for "multilabel".
  TANDEM_INHERITED_ARG(Self, std::optional<int64_t>, num_labels) = {};
  /// Label in target whose elements are left out.
  TANDEM_INHERITED_ARG(Self, std::optional<int64_t>, ignore_index) = {};
};

}  // namespace tandem::metrics
