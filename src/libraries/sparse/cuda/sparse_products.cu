#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/late_failure.cuh"
#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/sparse/cuda/in_order.hpp"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/shared/pattern_faults.hpp"
#include "libraries/sparse/shared/sparse_factors.hpp"

#include <troupe/sparse/sparse_products.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

// Each product of two elements is one number, its place in the result: these are sorted, and those
// that are equal are one element. How many products there are the host has to know, to make room.
namespace troupe::cuda {
namespace {

constexpr unsigned threads = 256;

struct factor_patterns {
  sparse::pattern left;
  sparse::pattern right;

  explicit factor_patterns(const sparse::sparse_factors& f) noexcept
      : left(sparse::pattern_of(f.left)), right(sparse::pattern_of(f.right)) {}

  [[nodiscard]] constexpr std::int64_t rows() const noexcept { return left.majors; }
  [[nodiscard]] constexpr std::int64_t columns() const noexcept { return right.minors(); }
};

/// The slots that are out of place, first ones.
struct bad_slots {
  place left;
  place right;
};

__device__ std::int64_t first_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
}
__device__ std::int64_t stride_of_threads() { return static_cast<std::int64_t>(gridDim.x) * threads; }

/// How many products each element of the left factor has; and what is wrong with the offsets.
__global__ void __launch_bounds__(threads)
    count_products(factor_patterns f, std::int64_t* counts, bad_slots* bad) {
  for (std::int64_t l = first_of_thread(); l < f.left.slots; l += stride_of_threads()) {
    counts[l] = 0;
    const std::int64_t k = f.left.indices[l];
    const bool is_there = f.left.majors > 0 && f.left.covers(f.left.major_of(l), l);
    if (!is_there || !is_inside(k, f.right.majors)) {
      atomicMin(&bad->left, static_cast<place>(l));
      continue;
    }
    const slot_range range = range_of(f.right, k);
    if (!range.good) atomicMin(&bad->right, last_slot(f.right));
    counts[l] = range.end - range.begin;
  }
  for (std::int64_t i = first_of_thread(); i < f.left.majors; i += stride_of_threads())
    if (!range_of(f.left, i).good) atomicMin(&bad->left, last_slot(f.left));
}

/// The elements that product `p` is of.
struct factor_slots {
  std::int64_t left;
  std::int64_t right;
};
__device__ factor_slots slots_of(const factor_patterns& f, const std::int64_t* ends,
                                 std::int64_t p) {
  std::int64_t low = 0;
  std::int64_t high = f.left.slots - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (ends[middle] > p) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const std::int64_t before = low == 0 ? 0 : ends[low - 1];
  return {low, range_of(f.right, f.left.indices[low]).begin + (p - before)};
}

__global__ void __launch_bounds__(threads)
    expand(factor_patterns f, const std::int64_t* ends, std::int64_t products, place* keys,
           place* numbers, bad_slots* bad) {
  for (std::int64_t p = first_of_thread(); p < products; p += stride_of_threads()) {
    const factor_slots at = slots_of(f, ends, p);
    std::int64_t column = f.right.indices[at.right];
    if (!is_inside(column, f.columns())) {
      atomicMin(&bad->right, static_cast<place>(at.right));
      column = 0;
    }
    keys[p] = static_cast<place>(f.left.major_of(at.left) * f.columns() + column);
    numbers[p] = static_cast<place>(p);
  }
}

/// 1 where another element begins.
__global__ void __launch_bounds__(threads)
    mark(const place* keys, std::int64_t products, std::int64_t* marks) {
  for (std::int64_t p = first_of_thread(); p < products; p += stride_of_threads())
    marks[p] = p == 0 || keys[p] != keys[p - 1] ? 1 : 0;
}

/// The products in order, and how many elements there are up to each.
struct sorted_products {
  const place* keys;
  const place* numbers;
  const std::int64_t* elements;
  std::int64_t count;

  [[nodiscard]] __device__ std::int64_t total() const {
    return count == 0 ? 0 : elements[count - 1];
  }
};

struct index_sink {
  std::int32_t* narrow = nullptr;
  std::int64_t* wide = nullptr;

  explicit index_sink(const any_tensor& t) noexcept {
    if (t.type() == dtype::i64) {
      wide = t.data<std::int64_t>();
    } else {
      narrow = t.data<std::int32_t>();
    }
  }
  __device__ void put(std::int64_t i, std::int64_t value) const {
    if (wide != nullptr) {
      wide[i] = value;
    } else {
      narrow[i] = static_cast<std::int32_t>(value);
    }
  }
};

/// Of each element the index, and the sum of its products in their order.
template <class T, class W>
__global__ void __launch_bounds__(threads)
    write_elements(factor_patterns f, const std::int64_t* ends, sorted_products of, const T* left,
                   const T* right, W alpha, std::int64_t capacity, index_sink indices, T* values) {
  for (std::int64_t p = first_of_thread(); p < of.count; p += stride_of_threads()) {
    const std::int64_t element = of.elements[p] - 1;
    if (element >= capacity || (p > 0 && of.elements[p - 1] == of.elements[p])) continue;
    W sum{};
    for (std::int64_t q = p; q < of.count && of.keys[q] == of.keys[p]; ++q) {
      const factor_slots at = slots_of(f, ends, static_cast<std::int64_t>(of.numbers[q]));
      sum = sum + widened(left[at.left]) * widened(right[at.right]);
    }
    indices.put(element, static_cast<std::int64_t>(of.keys[p]) % f.columns());
    values[element] = narrowed<T>::from(alpha * sum);
  }
}

__global__ void __launch_bounds__(threads)
    write_offsets(factor_patterns f, sorted_products of, index_sink offsets) {
  for (std::int64_t i = first_of_thread(); i <= f.rows(); i += stride_of_threads()) {
    const auto key = static_cast<place>(i * f.columns());
    std::int64_t low = 0;  // the first product that is not before row i
    std::int64_t high = i == f.rows() ? 0 : of.count;
    if (i == f.rows()) low = of.count;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (of.keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets.put(i, low == 0 ? 0 : of.elements[low - 1]);
  }
}

__global__ void conclude(sorted_products of, const bad_slots* bad, std::int64_t capacity,
                         std::int64_t* nnz, std::int64_t* reply,
                         const __grid_constant__ late_words bad_before,
                         const __grid_constant__ late_words bad_after, late_failure failure) {
  if (bad->right != nowhere) {
    failure.write(errc::invalid_argument, bad_before, static_cast<std::int64_t>(bad->right),
                  bad_after);
    return;
  }
  const std::int64_t total = of.total();
  if (nnz != nullptr) *nnz = total;
  if (total <= capacity) {
    *reply = total;
  } else {
    failure.write(errc::capacity_exceeded, "needs ", total,
                  " elements, but the result has room for ", capacity);
  }
}

std::int64_t blocks_for(std::int64_t steps, const lane& where) noexcept {
  return std::clamp<std::int64_t>((steps + threads - 1) / threads, 1,
                                  std::int64_t{16} * where.multiprocessors());
}

/// Workspace of a product, whose number of products is known or still 0.
struct work {
  pieces all;
  std::size_t bad_at = all.add(sizeof(bad_slots));
  std::size_t ends_at;
  std::size_t keys_at[2];
  std::size_t numbers_at[2];
  std::size_t scratch_at;
  std::size_t scratch_bytes = 0;
  std::byte* first = nullptr;

  [[nodiscard]] bad_slots* bad() const noexcept {
    return reinterpret_cast<bad_slots*>(first + bad_at);
  }
  [[nodiscard]] std::int64_t* ends() const noexcept {
    return reinterpret_cast<std::int64_t*>(first + ends_at);
  }
  [[nodiscard]] place* keys(int which) const noexcept {
    return reinterpret_cast<place*>(first + keys_at[which]);
  }
  [[nodiscard]] place* numbers(int which) const noexcept {
    return reinterpret_cast<place*>(first + numbers_at[which]);
  }
  [[nodiscard]] void* scratch() const noexcept { return first + scratch_at; }

  [[nodiscard]] result<void> take(std::int64_t slots, std::int64_t products, int bits, lane& where) {
    std::int64_t* const sums = nullptr;
    cub::DoubleBuffer<place> none;
    for (const std::int64_t n : {slots, products}) {
      std::size_t needed = 0;
      if (auto done = check(cub::DeviceScan::InclusiveSum(nullptr, needed, sums, sums, n),
                            "cub::DeviceScan::InclusiveSum");
          !done) {
        return done;
      }
      scratch_bytes = std::max(scratch_bytes, needed);
    }
    std::size_t needed = 0;
    if (auto done =
            check(cub::DeviceRadixSort::SortPairs(nullptr, needed, none, none, products, 0, bits),
                  "cub::DeviceRadixSort::SortPairs");
        !done) {
      return done;
    }
    scratch_bytes = std::max(scratch_bytes, needed);
    const auto bytes = static_cast<std::int64_t>(sizeof(place));
    ends_at = all.add(slots * bytes);
    for (const int which : {0, 1}) {
      keys_at[which] = all.add(products * bytes);
      numbers_at[which] = all.add(products * bytes);
    }
    scratch_at = all.add(static_cast<std::int64_t>(scratch_bytes));
    auto room = where.workspace(all.bytes());
    if (!room) return std::move(room).error();
    first = room->data();
    return {};
  }
};

result<void> sum_up(std::int64_t* numbers, std::int64_t n, const work& room, lane& where) {
  if (n == 0) return {};
  std::size_t bytes = room.scratch_bytes;
  return check(cub::DeviceScan::InclusiveSum(room.scratch(), bytes, numbers, numbers, n,
                                             static_cast<cudaStream_t>(where.stream())),
               "cub::DeviceScan::InclusiveSum");
}

/// Enqueues the ends of each left element's products among all.
result<void> find_ends(const factor_patterns& f, const work& room, lane& where) {
  const cudaStream_t stream = where.stream();
  return in_order(
      [&] {
        return check(cudaMemsetAsync(room.bad(), 0xff, sizeof(bad_slots), stream),
                     "cudaMemsetAsync");
      },
      [&] {
        return launch(count_products, blocks_for(std::max(f.left.slots, f.left.majors), where),
                      threads, stream, f, room.ends(), room.bad());
      },
      [&] { return sum_up(room.ends(), f.left.slots, room, where); });
}

/// Waits for the number of products. \errors `invalid_argument`
result<std::int64_t> count_products_of(const factor_patterns& f, lane& where) {
  work room;
  if (auto taken = room.take(f.left.slots, 0, 1, where); !taken) return std::move(taken).error();
  const cudaStream_t stream = where.stream();
  bad_slots bad{nowhere, nowhere};
  std::int64_t products = 0;
  auto done = in_order(
      [&] { return find_ends(f, room, where); },
      [&] {
        return check(
            cudaMemcpyAsync(&bad, room.bad(), sizeof bad, cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
      },
      [&] {
        if (f.left.slots == 0) return result<void>();
        return check(cudaMemcpyAsync(&products, room.ends() + f.left.slots - 1, sizeof products,
                                     cudaMemcpyDeviceToHost, stream),
                     "cudaMemcpyAsync");
      },
      [&] { return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); });
  if (!done) return std::move(done).error();
  if (bad.left == nowhere && bad.right == nowhere) return products;
  return error{.code = errc::invalid_argument,
               .message = std::string(sparse::no_place_before) +
                          std::to_string(bad.left != nowhere ? bad.left : bad.right) +
                          std::string(sparse::no_place_after)};
}

/// Enqueues the products in the order of their places. Precondition: there are some.
result<sorted_products> sort_products(const factor_patterns& f, const work& room,
                                      std::int64_t products, int bits, lane& where) {
  const cudaStream_t stream = where.stream();
  cub::DoubleBuffer<place> keys(room.keys(0), room.keys(1));
  cub::DoubleBuffer<place> numbers(room.numbers(0), room.numbers(1));
  const std::int64_t blocks = blocks_for(products, where);
  std::int64_t* elements = nullptr;
  auto done = in_order(
      [&] {
        return launch(expand, blocks, threads, stream, f, room.ends(), products, room.keys(0),
                      room.numbers(0), room.bad());
      },
      [&] {
        std::size_t bytes = room.scratch_bytes;
        return check(cub::DeviceRadixSort::SortPairs(room.scratch(), bytes, keys, numbers, products,
                                                     0, bits, stream),
                     "cub::DeviceRadixSort::SortPairs");
      },
      [&] {
        elements = reinterpret_cast<std::int64_t*>(keys.Alternate());
        return launch(mark, blocks, threads, stream, keys.Current(), products, elements);
      },
      [&] { return sum_up(elements, products, room, where); });
  if (!done) return std::move(done).error();
  return sorted_products{keys.Current(), numbers.Current(), elements, products};
}

/// Calls `write(products, ends)` between sorting and the conclusion.
template <class Write>
result<void> run(const factor_patterns& f, std::int64_t capacity, const any_tensor& nnz,
                 std::int64_t* reply, late_failure failure, lane& where, Write write) {
  auto products = count_products_of(f, where);
  if (!products) return std::move(products).error();
  const auto last = static_cast<place>(std::max<std::int64_t>(f.rows() * f.columns(), 1) - 1);
  const int bits = std::max(1, static_cast<int>(std::bit_width(last)));
  work room;
  if (auto taken = room.take(f.left.slots, *products, bits, where); !taken) return taken;
  if (auto done = find_ends(f, room, where); !done) return done;
  sorted_products sorted{};
  if (*products > 0) {
    auto found = sort_products(f, room, *products, bits, where);
    if (!found) return std::move(found).error();
    sorted = *found;
  }
  if (auto done = write(sorted, room.ends()); !done) return done;
  return launch(conclude, 1, 1, where.stream(), sorted, room.bad(), capacity,
                nnz.null() ? nullptr : nnz.data<std::int64_t>(), reply,
                late_words(sparse::no_place_before), late_words(sparse::no_place_after), failure);
}

template <class T>
result<void> multiply(const sparse::spgemm& r, lane& where, std::int64_t* reply,
                      late_failure failure) {
  using device = device_t<T>;
  using working = decltype(widened(std::declval<device>()));
  const sparse::sparse_factors of(r);
  const factor_patterns f(of);
  const std::int64_t capacity = r.c.indices.extent(0);
  working alpha{};
  if constexpr (std::is_same_v<working, float>) {
    alpha = r.alpha.as<float>();
  } else {
    alpha = value_of(r.alpha.as<T>());
  }
  const cudaStream_t stream = where.stream();
  return run(f, capacity, r.nnz, reply, failure, where,
             [&](const sorted_products& sorted, const std::int64_t* ends) {
               return in_order(
                   [&] {
                     return launch(write_offsets, blocks_for(f.rows() + 1, where), threads, stream,
                                   f, sorted, index_sink(r.c.offsets));
                   },
                   [&] {
                     if (sorted.count == 0) return result<void>();
                     return launch(write_elements<device, working>, blocks_for(sorted.count, where),
                                   threads, stream, f, ends, sorted,
                                   on_device(of.left.values.template data<T>()),
                                   on_device(of.right.values.template data<T>()), alpha, capacity,
                                   index_sink(r.c.indices),
                                   on_device(r.c.values.template data<T>()));
                   });
             });
}

result<void> run_spgemm(const sparse::spgemm& r, lane& where, std::int64_t* reply,
                        late_failure failure) {
  switch (r.a.values.type()) {
    case dtype::f64:
      return multiply<double>(r, where, reply, failure);
    case dtype::f16:
      return multiply<f16>(r, where, reply, failure);
    case dtype::bf16:
      return multiply<bf16>(r, where, reply, failure);
    case dtype::c64:
      return multiply<std::complex<float>>(r, where, reply, failure);
    case dtype::c128:
      return multiply<std::complex<double>>(r, where, reply, failure);
    default:
      return multiply<float>(r, where, reply, failure);
  }
}

result<void> run_size(const sparse::spgemm_size& r, lane& where, std::int64_t* reply,
                      late_failure failure) {
  return run(factor_patterns(sparse::sparse_factors(r)), std::numeric_limits<std::int64_t>::max(),
             r.nnz, reply, failure, where,
             [](const sorted_products&, const std::int64_t*) { return result<void>(); });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::spgemm>(table, run_spgemm, effort::blocks_host);
  add<sparse::spgemm_size>(table, run_size, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
