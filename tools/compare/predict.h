// Predictions of the cost model, for comparison with measurements and for devices that this machine lacks.
#pragma once
#include "tandem/tools/compare/measure/links.h"
#include "tandem/tools/simulate/simulate.h"

namespace tandem::tools::compare {

/// Measures the profile of a rank's step without communication: all ranks compute their shares of the batch on their
/// shares of the cores, and send nothing. The profile comes from the anatomy of such steps.
simulate::StepProfile profile_of(const Job& job);
/// Returns the predicted seconds of a step of the mode, from the profile and the link alone. @param link  for DP,
/// fitted to copies between devices; for DDP, fitted to all-reduces. @return 0 if the model makes no prediction
double predicted_seconds(const Mode& mode, const Job& job, const simulate::StepProfile& profile,
                         const simulate::Link& link);
/// Adds predictions of weak scaling under DDP and DataParallel over 2 to 1,024 devices on named links, from the profile
/// of one device.
void add_projections(const std::string& model, const std::string& device, const simulate::StepProfile& profile,
                     std::vector<Projection>& out);
/// Returns such predictions for the profile in a file of `tandem simulate`, on the file's cluster too; if
/// `profile_file` is empty, for ResNet-50 on V100s.
std::vector<Projection> projections(const std::string& profile_file);
/// Returns measurements that others published, with predictions if their source gives enough inputs; empty if the file
/// with the measurements does not exist.
std::vector<Published> published();
/// Describes how well the model predicts the recorded steps of benchmarks/data/ddp_times, and where it has no skill;
/// empty if these files do not exist.
std::vector<std::string> recorded_skill();

}  // namespace tandem::tools::compare
