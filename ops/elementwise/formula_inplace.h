// STUB
#pragma once
#include "tandem/ops/inplace.h"
