#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/kernels/compaction.cuh"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/kernels/numbers.cuh"
#include "libraries/primitives/cuda/packing.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/row_search.hpp"
#include "libraries/primitives/cuda/sort/top_k.hpp"

#include <algorithm>

// Keys are in the request's order, so the result is the k smallest keys. Their bound, the k-th key,
// is found digit by digit from the highest digit on: each step counts elements by one digit, and
// only elements with the bound's digit take part in the next step.
namespace troupe::cuda {
namespace {

using primitives::sorting_order;

constexpr int digit_bits = 11;
constexpr int digit_values = 1 << digit_bits;

template <class Key>
struct keyed_vector {
  const Key* first;
  std::int64_t step;
  std::int64_t count;
  sorting_order<Key> order;
  __device__ Key operator[](std::int64_t i) const { return order.key_of(first[i * step]); }
};

/// The search state of the bound.
template <class Key>
struct search_state {
  unsigned long long counts[digit_values];
  /// The number of elements with the bound's upper digits that are before it or equal.
  std::int64_t wanted;
  Key bound;  ///< its upper digits, as far as known
};

template <class Key>
__global__ void begin_search(search_state<Key>* state, std::int64_t k) {
  for (int i = static_cast<int>(threadIdx.x); i < digit_values; i += block_threads)
    state->counts[i] = 0;
  if (threadIdx.x == 0) {
    state->wanted = k;
    state->bound = 0;
  }
}

template <class Key>
__global__ void __launch_bounds__(block_threads)
    count_digits(keyed_vector<Key> x, int shift, int bits, search_state<Key>* state) {
  __shared__ unsigned counts[digit_values];
  for (int i = static_cast<int>(threadIdx.x); i < digit_values; i += block_threads)
    counts[i] = 0;
  __syncthreads();
  const Key bound = state->bound;
  const int above = shift + bits;
  const Key upper = above == sizeof(Key) * 8 ? Key{0} : static_cast<Key>(~Key{0} << above);
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
       i < x.count; i += threads) {
    const Key key = x[i];
    if (((key ^ bound) & upper) == 0) {
      atomicAdd(&counts[static_cast<unsigned>(key >> shift) & ((1U << bits) - 1)], 1U);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < digit_values; i += block_threads) {
    if (counts[i] != 0) atomicAdd(&state->counts[i], static_cast<unsigned long long>(counts[i]));
  }
}

/// Finds the next digit of the bound: the first at which enough elements have been counted.
template <class Key>
__global__ void __launch_bounds__(block_threads) choose_digit(int shift, search_state<Key>* state) {
  constexpr int per_thread = digit_values / block_threads;
  __shared__ std::int64_t before[block_threads + 1];
  const int first = static_cast<int>(threadIdx.x) * per_thread;
  std::int64_t own = 0;
  for (int i = 0; i < per_thread; ++i)
    own += static_cast<std::int64_t>(state->counts[first + i]);
  before[threadIdx.x + 1] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    before[0] = 0;
    for (int i = 1; i <= block_threads; ++i)
      before[i] += before[i - 1];
  }
  const std::int64_t wanted = state->wanted;
  __syncthreads();
  std::int64_t sum = before[threadIdx.x];
  for (int i = 0; i < per_thread; ++i) {
    const auto next = sum + static_cast<std::int64_t>(state->counts[first + i]);
    if (sum < wanted && wanted <= next) {
      state->bound |= static_cast<Key>(static_cast<Key>(first + i) << shift);
      state->wanted = wanted - sum;
    }
    sum = next;
    state->counts[first + i] = 0;
  }
}

/// Selects keys before the bound, or equal to it.
template <class Key>
struct at_bound {
  using value_type = bool;
  keyed_vector<Key> x;
  const search_state<Key>* state;
  bool equal;
  __device__ bool operator()(std::int64_t i) const {
    const Key key = x[i];
    return equal ? key == state->bound : key < state->bound;
  }
};

__global__ void __launch_bounds__(block_threads)
    store_indices(const std::uint64_t* from, vector_place to, std::int64_t k) {
  for_each_element(k, [&](std::int64_t i) { store_bits(to.at(i), to.bytes, from[i]); });
}

template <class Key>
result<void> enqueue_search(const keyed_vector<Key>& x, std::int64_t k, search_state<Key>* state,
                            const lane& where) {
  constexpr int per_multiprocessor = 8;
  constexpr std::int64_t thread_share = 16;
  const std::int64_t blocks = std::clamp<std::int64_t>(
      x.count / (thread_share * block_threads), 1, where.multiprocessors() * per_multiprocessor);
  // A block must not count more than fits in 32 bits.
  const std::int64_t enough = std::max(blocks, x.count >> 31);
  TRY(launch(begin_search<Key>, 1, block_threads, where.stream(), state, k));
  for (int above = static_cast<int>(sizeof(Key)) * 8; above > 0;) {
    const int bits = std::min(above, digit_bits);
    above -= bits;
    TRY(launch(count_digits<Key>, enough, block_threads, where.stream(), x, above, bits, state));
    TRY(launch(choose_digit<Key>, 1, block_threads, where.stream(), above, state));
  }
  return {};
}

/// Searches one vector.
template <class Key>
result<void> enqueue(const primitives::top_k& r, lane& where) {
  const std::int64_t k = r.values.extent(0);
  const sorting_order<Key> order(r.x.type(), !r.smallest);
  const keyed_vector<Key> x{reinterpret_cast<const Key*>(r.x.address()), r.x.stride(0),
                            r.x.extent(0), order};
  radix_sort<Key, std::uint64_t> sort{.order = order, .count = k};
  const auto sort_bytes = TRY(sort.temporary_bytes());
  using selection = compaction<own_index, at_bound<Key>, std::int64_t>;
  selection before_bound{{}, {x, nullptr, false}, {nullptr, 1, k}, x.count};
  const auto select_bytes = TRY(before_bound.needed_bytes());

  call_frame c(where);
  const auto state = c.array<search_state<Key>>(1);
  const auto numbers = c.array<std::int64_t>(2);
  const auto indices = c.array<std::uint64_t>(k);
  const auto keys = c.array<Key>(k);
  const auto sorted_indices = c.array<std::uint64_t>(k);
  const auto sorted_keys = c.array<Key>(k);
  c.share(std::max(sort_bytes, select_bytes));
  TRY(c.begin());

  TRY(enqueue_search(x, k, state.get(), where));
  // Keys before the bound, then the first of the equal ones, as many as there is room for.
  before_bound.flag.state = state;
  before_bound.sink.first = reinterpret_cast<std::int64_t*>(indices.get());
  selection equal = before_bound;
  equal.flag.equal = true;
  equal.sink.base = numbers;
  TRY(before_bound.enqueue(c.shared(), select_bytes, numbers, where.stream()));
  TRY(equal.enqueue(c.shared(), select_bytes, numbers + 1, where.stream()));
  sort.keys = keys;
  sort.values = indices;
  sort.sorted_keys = sorted_keys;
  sort.sorted_values = sorted_indices;
  const auto elements_at = [&](Key* at) {
    return any_tensor::unowned(reinterpret_cast<std::byte*>(at), r.x.type(), {k});
  };
  TRY(enqueue_gather(r.x, sort.values, elements_at(keys), where));
  TRY(sort.enqueue(c.shared(), sort_bytes, where));
  TRY(enqueue_copy(elements_at(sorted_keys), r.values, where));
  if (r.indices.null()) return {};
  return launch_over(k, store_indices, where.stream(),
                     static_cast<const std::uint64_t*>(sort.sorted_values), vector_place(r.indices),
                     k);
}

}  // namespace

result<void> enqueue_top_k(const primitives::top_k& r, lane& where) {
  if (r.values.empty()) return {};
  const row_search rows{.x = {r.x, -1},
                        .found = {r.values, -1},
                        .indices = {r.indices, -1},
                        .descending = !r.smallest};
  if (fits_blocks(rows)) return enqueue_by_blocks(rows, where);
  constexpr std::int64_t long_row = 1 << 20;
  if (rows.x.count() > 1 && rows.x.length < long_row) return enqueue_by_sort(rows, where);
  primitives::top_k one = r;
  for (std::int64_t row = 0; row < rows.x.count(); ++row) {
    one.x = rows.x.view(row);
    one.values = rows.found.view(row);
    if (!r.indices.null()) one.indices = rows.indices.view(row);
    TRY(primitives::with_key(r.x.type(), [&]<class Key>(Key) { return enqueue<Key>(one, where); }));
  }
  return {};
}

}  // namespace troupe::cuda
