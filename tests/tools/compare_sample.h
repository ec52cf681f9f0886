// A report as `tandem compare` makes them, of invented figures: for the tests of the page, and to look at.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::test {

/// Two models, 1, 2 and 4 virtual devices, all modes over two backends, one run that failed; every part has figures.
tools::compare::Report sample_report();

}  // namespace tandem::test
