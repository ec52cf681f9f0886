// STUB
#pragma once
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/max_pool.h"
