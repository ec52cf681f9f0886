// What the cost model says beside what was measured, and about devices that are not here.
#pragma once
#include "tandem/tools/compare/measure/links.h"
#include "tandem/tools/simulate/simulate.h"

namespace tandem::tools::compare {

/// What a rank computes in a step when it has its share of the batch and of the cores and sends nothing, while the
/// other ranks do the same: the anatomy of such steps.
simulate::StepProfile profile_of(const Job& job);
/// Seconds of a step of the mode, from the profile and the link alone: that of copies between devices for DP, that of
/// all-reduces for DDP. 0 where the model says nothing.
double predicted_seconds(const Mode& mode, const Job& job, const simulate::StepProfile& profile,
                         const simulate::Link& link);
/// Adds weak scaling under DDP and DataParallel over 2 to 1,024 devices on named links, from what one device takes.
void add_projections(const std::string& model, const std::string& device, const simulate::StepProfile& profile,
                     std::vector<Projection>& out);
/// The same of a profile that was entered, in a file of `tandem simulate`, which names a cluster too; where there is
/// none of ResNet-50 on V100s.
std::vector<Projection> projections(const std::string& profile_file);
/// The measurements that others published, with predictions where their source says enough; none where the file that
/// holds them is not there.
std::vector<Published> published();
/// In words, how well the model predicts the recorded steps of benchmarks/data/ddp_times, and where it has no skill;
/// none where these files are not there.
std::vector<std::string> recorded_skill();

}  // namespace tandem::tools::compare
