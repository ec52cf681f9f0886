// STUB
#pragma once
#include "tandem/ops/random/fill_random.h"
