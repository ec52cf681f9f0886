// Bytes of any length between ranks: from the first to all, and from all to all. Internal.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::detail {

/// What f returns on rank 0, which alone calls it, on all ranks. Without a group: f().
/// @throws Error on all ranks with what f threw
std::string from_first(const distributed::ProcessGroupPtr& group, const std::function<std::string()>& f);
/// What each rank gave, by rank. Without a group: the one.
std::vector<std::string> from_all(const distributed::ProcessGroupPtr& group, const std::string& mine);

}  // namespace tandem::detail
