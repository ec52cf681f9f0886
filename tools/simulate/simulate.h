// The cost model of data parallelism: links, collectives, steps of DDP and DataParallel. Include this to predict.
#pragma once
#include "tandem/tools/simulate/collectives.h"
#include "tandem/tools/simulate/link.h"
#include "tandem/tools/simulate/step.h"
