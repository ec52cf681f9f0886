// STUB
#pragma once
#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/pinv.h"
