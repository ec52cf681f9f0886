// The cost model of data parallelism: links, collectives, steps of DDP and DataParallel, scaling. Include this to
// predict.
#pragma once
#include "tandem/tools/simulate/collectives.h"
#include "tandem/tools/simulate/link.h"
#include "tandem/tools/simulate/published.h"
#include "tandem/tools/simulate/scaling.h"
#include "tandem/tools/simulate/step.h"
