// All of tandem::data.
#pragma once
#include "tandem/data/data_loader.h"
#include "tandem/data/dataset.h"
#include "tandem/data/distributed_samplers.h"
#include "tandem/data/mnist.h"
#include "tandem/data/samplers.h"
#include "tandem/data/shard_sampler.h"
#include "tandem/data/shared_dataset.h"
#include "tandem/data/staging.h"
#include "tandem/data/stateful_dataset.h"
#include "tandem/data/tensor_dataset.h"
#include "tandem/data/transforms.h"
