// STUB
#pragma once
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/group_norm.h"
#include "tandem/ops/nn/instance_norm.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/weight_norm.h"
