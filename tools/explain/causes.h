// The causes that lie in a script, in the order in which they are turned off.
#pragma once
#include "tandem/tools/explain/script.h"

namespace tandem::tools::explain {

struct ScriptCause {
  std::string name;
  void (*take)(Script& to, const Script& from);  // copies what this cause is about
  std::string yours;                             // what `yours` does and `right` does not
  std::string remedy;
};
/// The data first, then what is made of it: which steps, which examples in which order, how they are weighed, how far a
/// step goes, and which random numbers dropout takes.
std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right);

}  // namespace tandem::tools::explain
