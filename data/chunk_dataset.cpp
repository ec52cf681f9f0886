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
  TANDEM_CHECK(preloader_count > 0, "ChunkDataset: preloader_count is 0; it must be positive");
  TANDEM_CHECK(batch_size > 0, "ChunkDataset: batch_size is 0; it must be positive");
  TANDEM_CHECK(cache_size >= batch_size, "ChunkDataset: cache_size is ", cache_size,
               "; it must hold at least a batch of ", batch_size);
  TANDEM_CHECK(cross_chunk_shuffle_count > 0, "ChunkDataset: cross_chunk_shuffle_count is 0; it must be positive");
}

}  // namespace tandem::data::datasets
