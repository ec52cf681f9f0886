// Includes the whole cost model of data parallelism: links, collectives, steps of DDP and DataParallel, scaling,
// published measurements.
#pragma once
#include "tandem/tools/simulate/collectives.h"
#include "tandem/tools/simulate/link.h"
#include "tandem/tools/simulate/published.h"
#include "tandem/tools/simulate/scaling.h"
#include "tandem/tools/simulate/step.h"
