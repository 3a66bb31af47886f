#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/sparse/cuda/in_order.hpp"
#include "libraries/sparse/cuda/kernels/sparse_products.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"
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
  std::size_t faults_at = all.add(2 * sizeof(place));
  std::size_t ends_at;
  std::size_t keys_at[2];
  std::size_t numbers_at[2];
  std::size_t scratch_at;
  std::size_t scratch_bytes = 0;
  std::byte* first = nullptr;

  /// The first fault of each factor's pattern.
  [[nodiscard]] place* faults() const noexcept {
    return reinterpret_cast<place*>(first + faults_at);
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
  if (f.left.slots == 0) return {};
  if (auto done = launch(count_products, blocks_for(f.left.slots, where), threads, where.stream(),
                         f, room.ends());
      !done) {
    return done;
  }
  return sum_up(room.ends(), f.left.slots, room, where);
}

/// What the host has to know of a product.
struct known_product {
  bool good = false;  ///< else the request has been made to fail
  std::int64_t products = 0;
};

/// Waits for it.
result<known_product> look_at(const sparse::sparse_factors& factors, const factor_patterns& f,
                              late_failure failure, lane& where) {
  constexpr auto claim = sparse::pattern_claim::places;
  work room;
  if (auto taken = room.take(f.left.slots, 0, 1, where); !taken) return std::move(taken).error();
  const cudaStream_t stream = where.stream();
  place faults[2] = {};
  known_product known;
  const auto read = [&](auto& to, const auto* from) {
    return check(cudaMemcpyAsync(&to, from, sizeof to, cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
  };
  auto done = in_order(
      [&] { return enqueue_pattern_check(factors.left, claim, room.faults(), stream); },
      [&] { return enqueue_pattern_check(factors.right, claim, room.faults() + 1, stream); },
      [&] { return find_ends(f, room, where); }, [&] { return read(faults, room.faults()); },
      [&] {
        return f.left.slots == 0 ? result<void>()
                                 : read(known.products, room.ends() + f.left.slots - 1);
      },
      [&] { return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); });
  if (!done) return std::move(done).error();
  for (const int which : {0, 1}) {
    if (static_cast<std::int64_t>(faults[which]) == no_fault) continue;
    const sparse_matrix& wrong = which == 0 ? factors.left : factors.right;
    if (auto told = enqueue_pattern_report(wrong, claim, room.faults() + which, failure, stream);
        !told) {
      return std::move(told).error();
    }
    return known;
  }
  known.good = true;
  return known;
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
                      room.numbers(0));
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
result<void> run(const sparse::sparse_factors& factors, std::int64_t capacity,
                 const any_tensor& nnz, std::int64_t* reply, late_failure failure, lane& where,
                 Write write) {
  const factor_patterns f(factors);
  auto known = look_at(factors, f, failure, where);
  if (!known) return std::move(known).error();
  if (!known->good) return {};
  const auto last = static_cast<place>(std::max<std::int64_t>(f.rows() * f.columns(), 1) - 1);
  const int bits = std::max(1, static_cast<int>(std::bit_width(last)));
  work room;
  if (auto taken = room.take(f.left.slots, known->products, bits, where); !taken) return taken;
  if (auto done = find_ends(f, room, where); !done) return done;
  sorted_products sorted{};
  if (known->products > 0) {
    auto found = sort_products(f, room, known->products, bits, where);
    if (!found) return std::move(found).error();
    sorted = *found;
  }
  if (auto done = write(sorted, room.ends()); !done) return done;
  return launch(conclude, 1, 1, where.stream(), sorted, capacity, address_of_count(nnz), reply,
                failure);
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
  return run(of, capacity, r.nnz, reply, failure, where,
             [&](const sorted_products& sorted, const std::int64_t* ends) {
               return in_order(
                   [&] {
                     return launch(write_offsets, blocks_for(f.rows() + 1, where), threads, stream,
                                   f, sorted, made_list(r.c.offsets));
                   },
                   [&] {
                     if (sorted.count == 0) return result<void>();
                     return launch(
                         write_elements<device, working>, blocks_for(sorted.count, where), threads,
                         stream, f, ends, sorted, on_device(of.left.values.template data<T>()),
                         on_device(of.right.values.template data<T>()), alpha, capacity,
                         made_list(r.c.indices), on_device(r.c.values.template data<T>()));
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
  return run(sparse::sparse_factors(r), std::numeric_limits<std::int64_t>::max(), r.nnz, reply,
             failure, where,
             [](const sorted_products&, const std::int64_t*) { return result<void>(); });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::spgemm>(table, run_spgemm, effort::blocks_host);
  add<sparse::spgemm_size>(table, run_size, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
