// Metrics of a model's predictions, updated batch by batch and added over the ranks, as in torchmetrics.
#pragma once
#include "tandem/train/metrics/auroc.h"
#include "tandem/train/metrics/confusion_matrix.h"
#include "tandem/train/metrics/metric_collection.h"
#include "tandem/train/metrics/perplexity.h"
#include "tandem/train/metrics/regression.h"
#include "tandem/train/metrics/stat_scores.h"
