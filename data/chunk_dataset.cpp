// Constructor of ChunkDatasetOptions, which checks the options. ChunkDataset itself is a template in the header.
#include "tandem/data/chunk_dataset.h"

#include "tandem/core/internal.h"

namespace tandem::data::datasets {

ChunkDatasetOptions::ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size,
                                         size_t cross_chunk_shuffle_count)
    : preloader_count_(preloader_count),
      batch_size_(batch_size),
      cache_size_(cache_size),
      cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
  TANDEM_CHECK(preloader_count > 0,
               "ChunkDataset: Preloader count is 0. At least one preloader needs to be specified.");
  TANDEM_CHECK(batch_size > 0, "ChunkDataset: Batch size is 0. A positive batch size needs to be specified.");
  TANDEM_CHECK(cache_size > 0, "ChunkDataset: Cache size is 0. A positive cache size needs to be specified.");
  TANDEM_CHECK(cache_size >= batch_size, "ChunkDataset: Cache size is less than batch size. Cache needs to be large ",
               "enough to hold at least one batch. (cache_size is ", cache_size, ", batch_size is ", batch_size, ")");
  TANDEM_CHECK(cross_chunk_shuffle_count > 0, "ChunkDataset: cross_chunk_shuffle_count needs to be greater than 0.");
}

}  // namespace tandem::data::datasets
