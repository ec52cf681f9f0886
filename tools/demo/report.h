// The page of `tandem demo --report`: one HTML file without scripts or requests.
#pragma once
#include "tandem/tools/demo/settings.h"
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// All of the file, or none of it. Each run has its history. @throws Error with the system's reason
void write_report(const std::string& path, const DemoSettings& settings, const DemoData& data,
                  const std::vector<DemoRun>& runs);

/// A chart of how many images of each class a network takes for which.
/// @param counts  [truth * kClassCount + predicted]
std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts);

}  // namespace tandem::tools
