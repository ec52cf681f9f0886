// STUB
#pragma once
#include "tandem/ops/linalg/linalg_namespace.h"
