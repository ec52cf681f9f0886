// STUB
#pragma once
#include "tandem/ops/nn/expanding_array.h"
