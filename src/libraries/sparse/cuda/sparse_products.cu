#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/sparse/cuda/in_order.hpp"
#include "libraries/sparse/cuda/kernels/sparse_products.cuh"
#include "libraries/sparse/shared/pattern_faults.hpp"
#include "libraries/sparse/shared/sparse_factors.hpp"

#include <troupe/sparse/sparse_products.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace troupe::cuda {
namespace {

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

  [[nodiscard]] result<void> take(std::int64_t slots, std::int64_t products, int bits,
                                  lane& where) {
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
        return check(cudaMemcpyAsync(&bad, room.bad(), sizeof bad, cudaMemcpyDeviceToHost, stream),
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
                     return launch(
                         write_elements<device, working>, blocks_for(sorted.count, where), threads,
                         stream, f, ends, sorted, on_device(of.left.values.template data<T>()),
                         on_device(of.right.values.template data<T>()), alpha, capacity,
                         index_sink(r.c.indices), on_device(r.c.values.template data<T>()));
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
