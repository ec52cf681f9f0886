// Everything that a user of the Trainer needs, in addition to tandem.h.
#pragma once
#include "tandem/train/callbacks/early_stopping.h"
#include "tandem/train/callbacks/model_checkpoint.h"
#include "tandem/train/callbacks/progress_bar.h"
#include "tandem/train/callbacks/throughput_monitor.h"
#include "tandem/train/callbacks/weight_averaging.h"
#include "tandem/train/summary.h"
#include "tandem/train/trainer.h"
