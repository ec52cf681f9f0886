// Computes predictions of the cost model, to compare with measurements and for devices that this machine does not have.
#pragma once
#include "tandem/tools/compare/measure/links.h"
#include "tandem/tools/simulate/simulate.h"

namespace tandem::tools::compare {

/// Measures the profile of a rank's step without communication. All ranks compute at the same time, each its share of
/// the batch on its share of the cores, but send nothing.
simulate::StepProfile measure_profile(const Job& job);
/// Returns the predicted seconds of a step of `mode`, computed only from the profile and the link.
/// @param link  for DP, fitted to copies between devices; for DDP, fitted to all-reduces
/// @return 0 if the model makes no prediction for the mode
double predict_seconds(const Mode& mode, const Job& job, const simulate::StepProfile& profile,
                       const simulate::Link& link);
/// Appends to `out` predictions of weak scaling under DDP and DataParallel, for 2 to 1,024 devices on named links,
/// computed from the profile of one device.
void add_projections(const std::string& model, const std::string& device, const simulate::StepProfile& profile,
                     std::vector<Projection>& out);
/// Returns predictions of weak scaling as add_projections() does, for the step in an input file of `tandem simulate`,
/// and also for the file's cluster. If `profile_file` is empty, uses ResNet-50 on V100 GPUs.
std::vector<Projection> predict_projections(const std::string& profile_file);
/// Returns measurements published by others, with predictions if the source gives enough inputs. Empty if the file with
/// the measurements does not exist.
std::vector<Published> read_published_measurements();
/// Returns sentences on how well the model predicts the recorded steps in benchmarks/data/ddp_times, and where simple
/// baselines are better. Empty if these files do not exist.
std::vector<std::string> describe_recorded_skill();

}  // namespace tandem::tools::compare
