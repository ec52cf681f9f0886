// STUB
#pragma once
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/fold.h"
#include "tandem/ops/nn/grid_sampler.h"
#include "tandem/ops/nn/pixel_shuffle.h"
#include "tandem/ops/nn/upsample.h"
