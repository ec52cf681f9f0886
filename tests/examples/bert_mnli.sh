#!/bin/sh
# Runs bert_mnli_dp and bert_mnli_dp_loss. Checks that both programs compute the same losses, and that the first device
# holds AdamW's averages more than the second device.
# usage: bert_mnli.sh DP DP_LOSS FOLDER      FOLDER: what make_bert_files wrote
# Batches have 7 rows, so the four devices get 2, 2, 2 and 1: a mean of the devices' means would be another loss.
set -eu
dp=$("$1" "$3/model" "$3/train.jsonl" 20 7 2>&1)
dp_loss=$("$2" "$3/model" "$3/train.jsonl" 20 7 2>&1)
printf '%s\n' "$dp" "$dp_loss"
{ printf '%s\n' "$dp"; printf '%s\n' "$dp_loss"; } | awk '
  /^step/ { ++count[$2]; if (count[$2] == 1) loss[$2] = $4; else if ((d = loss[$2] - $4) < 2e-4 && d > -2e-4) ++same }
  /more than/ { excess = $3; averages = $12 }
  END {
    # 2e-4: four digits are printed, and sums over devices round differently
    if (same != 2) { print "FAILED: the losses of two steps must be the same, but are for " same + 0; exit 1 }
    # The averages are twice the size of the parameters. The gradients of one other device and the batch come on top.
    if (averages <= 0 || excess < averages || excess > 1.6 * averages) { print "FAILED: excess " excess; exit 1 }
    print "the losses are the same, and the first device has the averages of AdamW"
  }'
