#pragma once

#include "libraries/dnn/cuda/attention/tiles/problem.hpp"

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

/// Checks of lengths, offsets and page tables. They are in GPU memory, so only kernels can check
/// them.
namespace troupe::cuda::contents {

struct sequence_lengths {
  const std::int32_t* given = nullptr;  ///< null: all have `most`
  std::int64_t step = 0;
  std::int64_t most = 0;
  std::int32_t* checked = nullptr;
  std::int32_t* filled = nullptr;  ///< a copy with 0 replaced by 1; null if not needed

  [[nodiscard]] KERNEL_FUNCTION std::int64_t of(std::int64_t sequence, bool& wrong) const {
    const std::int64_t length = given != nullptr ? given[sequence * step] : most;
    wrong = wrong || length < 0 || length > most;
    return std::clamp<std::int64_t>(length, 0, most);
  }
  KERNEL_FUNCTION void store(std::int64_t sequence, std::int64_t length) const {
    checked[sequence] = static_cast<std::int32_t>(length);
    if (filled != nullptr) filled[sequence] = static_cast<std::int32_t>(length > 0 ? length : 1);
  }
};

/// The offsets of packed sequences. The tokens of their tensors are `row_step` elements apart.
struct sequence_offsets {
  const std::int64_t* given = nullptr;  ///< null: sequences are `row_step` apart
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  std::int64_t row_step = 0;
  bool of_keys = false;
  std::int64_t* checked = nullptr;  ///< null if there are none

  /// Stores the offset of a sequence that takes `length` tokens.
  KERNEL_FUNCTION void store(std::int64_t sequence, std::int64_t length, bool& wrong) const {
    if (checked == nullptr) return;
    if (given == nullptr) {
      checked[sequence] = sequence * row_step;
      return;
    }
    const std::int64_t offset = given[sequence * step];
    const std::int64_t last = (tokens - length) * row_step;
    wrong = wrong || (length > 0 && (offset < 0 || offset > last));
    checked[sequence] = std::clamp<std::int64_t>(offset, 0, last);
  }
};

struct page_table {
  const std::int32_t* given = nullptr;  ///< null if there is none
  std::int64_t steps[2]{};
  std::int64_t pages = 0;
  std::int64_t page_size = 1;
  std::int64_t per_sequence = 0;
  std::int32_t* checked = nullptr;

  KERNEL_FUNCTION void store(std::int64_t sequence, std::int64_t i, std::int64_t keys,
                             bool& wrong) const {
    std::int32_t page = i * page_size < keys ? given[sequence * steps[0] + i * steps[1]] : 0;
    if (page < 0 || page >= pages) {
      wrong = true;
      page = 0;
    }
    checked[sequence * per_sequence + i] = page;
  }
};

struct sequence_contents {
  std::int64_t batch = 0;
  sequence_lengths of_q;
  sequence_lengths of_kv;
  sequence_offsets offsets[4];
  page_table tables[2];
  std::int32_t* wrong = nullptr;  ///< 1 for a sequence with anything out of range
};

/// The work of a block for one sequence: copies each entry. An entry that leads outside of the
/// tensors is replaced by one within them.
template <class Threads>
KERNEL_FUNCTION void check_sequence(const sequence_contents& c, std::int64_t sequence,
                                    std::int32_t& wrong, const Threads& block) {
  block.each([&](int t) {
    if (t == 0) wrong = 0;
  });
  block.each([&](int t) {
    bool mine = false;
    std::int64_t queries = c.of_q.of(sequence, mine);
    std::int64_t keys = c.of_kv.of(sequence, mine);
    for (const page_table& table : c.tables) {
      if (table.given == nullptr) continue;
      for (std::int64_t i = t; i < table.per_sequence; i += tiles::threads)
        table.store(sequence, i, keys, mine);
    }
    if (t == 0) {
      for (const page_table& table : c.tables) {
        if (table.given == nullptr || table.pages > 0 || keys == 0) continue;
        mine = true;
        keys = 0;
      }
      for (const sequence_offsets& o : c.offsets) {
        std::int64_t& length = o.of_keys ? keys : queries;
        if (o.checked == nullptr || o.given == nullptr || length <= o.tokens) continue;
        mine = true;
        length = o.tokens;
      }
      c.of_q.store(sequence, queries);
      c.of_kv.store(sequence, keys);
      for (const sequence_offsets& o : c.offsets) {
        o.store(sequence, o.of_keys ? keys : queries, mine);
        // The end of the last sequence.
        if (sequence + 1 == c.batch) {
          bool ignored = false;
          o.store(c.batch, 0, ignored);
        }
      }
    }
    if (mine) wrong = 1;
  });
  block.each([&](int t) {
    if (t == 0) c.wrong[sequence] = wrong;
  });
}

[[nodiscard]] result<void> enqueue_check(const sequence_contents& c, cudaStream_t stream);

}  // namespace troupe::cuda::contents
