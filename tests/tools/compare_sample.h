// A `tandem compare` report of invented figures, for tests of its HTML page and to look at the page.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::test {

/// Two models; 1, 2 and 4 virtual devices; all modes over two backends; one failed run. Every section has figures.
tools::compare::Report sample_report();

}  // namespace tandem::test
