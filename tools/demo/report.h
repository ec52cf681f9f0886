// The page of `tandem demo --report`: one HTML file without scripts or requests.
#pragma once
#include "tandem/tools/demo/settings.h"
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Writes the page atomically. Every run must have its history. @throws Error with the system's reason
void write_report(const std::string& path, const DemoSettings& settings, const DemoData& data,
                  const std::vector<DemoRun>& runs);

/// Returns an SVG chart of the confusion matrix: counts of images by true class (row) and predicted class (column).
/// @param counts  [truth * kClassCount + predicted]
std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts);

}  // namespace tandem::tools
