// Writes the page of `tandem demo --report`: one HTML file without scripts or external resources.
#pragma once
#include "tandem/tools/demo/settings.h"
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Writes the page atomically. Every run must have been recorded with settings.history.
/// @throws Error with the operating system's error message
void write_report(const std::string& path, const DemoSettings& settings, const DemoData& data,
                  const std::vector<DemoRun>& runs);

/// Returns an SVG chart of the confusion matrix: counts of images by true class (row) and predicted class (column).
/// @param counts  count of images, at index truth * kNumClasses + predicted
std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts);

}  // namespace tandem::tools
