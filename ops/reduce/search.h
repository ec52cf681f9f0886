// STUB
#pragma once
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/reduce/histogram.h"
#include "tandem/ops/reduce/searchsorted.h"
#include "tandem/ops/reduce/unique.h"
