#!/usr/bin/env bash
# accuracy.sh [SEEDS] [EPOCHS] [TANDEM]: trains FashionCNN with the seeds 1 to SEEDS (10), for EPOCHS (1) epochs each. After
# one epoch it compares the test accuracies with PyTorch's for ten seeds (peers/accuracy_torch.py: mean 87.5 %, standard
# deviation 0.8): it prints the 95 % interval of the difference of the means, by Welch's t, which is 2.10 for about 18
# degrees of freedom.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-10} epochs=${2:-1} tandem=${3:-build/release/tools/tandem}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for seed in $(seq "$seeds"); do
  "$tandem" demo --mode single --seed "$seed" --epochs "$epochs" --json "$results/$seed.json" >/dev/null
  awk -F'[:,]' -v seed="$seed" '/"test_accuracy"/ { a = 100 * $2 } /"seconds"/ { s = $2 }
    END { printf "seed %d: %.2f %% in %.1f s\n", seed, a, s }' "$results/$seed.json"
  awk -F'[:,]' '/"test_accuracy"/ { print 100 * $2 }' "$results/$seed.json" >>"$results/all"
done
awk -v epochs="$epochs" '{ n++; sum += $1; squares += $1 * $1 }
  END {
    mean = sum / n
    printf "mean %.2f %%", mean
    if (n > 1) {
      sd = sqrt((squares - n * mean * mean) / (n - 1))
      printf ", standard deviation %.2f", sd
      if (epochs == 1) {
        half = 2.10 * sqrt(sd * sd / n + 0.8 * 0.8 / 10)
        printf "; minus PyTorch'"'"'s: %+.2f, 95 %% interval %+.2f to %+.2f", mean - 87.5, mean - 87.5 - half, mean - 87.5 + half
      }
    }
    print ""
  }' "$results/all"
