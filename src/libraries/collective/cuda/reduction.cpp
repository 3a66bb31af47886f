#include "backend/cuda/context/loading.hpp"
#include "libraries/collective/cuda/launches.hpp"

#include <troupe/collective/reduction.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda {
namespace {

using collective::reduction;

// Longer operations out of place read their peers' tensors, which costs another wait and saves a
// copy. Measured on two H200.
constexpr std::int64_t most_staged_bytes = std::int64_t{1} << 20;

/// A reduction, whichever ranks get results.
struct reducing {
  const std::vector<any_tensor>& x;
  const std::vector<any_tensor>& y;
  const world_part& part;
  reduction op{};
  double factor = 1.0;
  const std::vector<any_tensor>& factors;
  bool is_scattered = false;  ///< each rank gets its part of the result only
};

// All ranks decide alike.
bool is_staged(const reducing& r) {
  std::int64_t bytes = 0;
  bool in_place = false;
  for (std::size_t k = 0; k < r.x.size(); ++k) {
    in_place = in_place || (!r.y[k].null() && r.y[k].address() == r.x[k].address());
    bytes += r.x[k].count() * size_of(r.x[k].type());
  }
  // Without elements there would be no step.
  return !r.is_scattered && bytes > 0 && (in_place || bytes <= most_staged_bytes);
}

// `first`: the index of the item's tensor of rank 0.
void add_item(const reducing& r, std::size_t first, reduced_items& to) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  const dtype type = r.x[first].type();
  const any_tensor& y = r.y[first + static_cast<std::size_t>(r.part.rank)];
  const std::int64_t count = r.is_scattered ? y.count() : r.x[first].count();
  const std::int64_t from = r.is_scattered ? r.part.rank * count * size_of(type) : 0;
  const auto item = static_cast<std::size_t>(to.items++);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    to.x[item * ranks + rank] = r.x[first + rank].address() + from;
  to.y[item] = y.null() ? nullptr : y.address();
  to.counts[item] = count * (size_of(type) / size_of(real_type_of(type)));
}

void add_factors(const reducing& r, reduced_items& to) {
  to.has_factors = !r.factors.empty();
  for (std::size_t rank = 0; rank < r.factors.size(); ++rank) {
    to.factors[rank] = r.factors[rank].address();
    if (r.factors[rank].type() == dtype::f64) to.wide_factors |= std::uint64_t{1} << rank;
  }
}

std::uint64_t steps_of(const part_launch& of, const reduced_items& what, dtype type) {
  if (!what.is_staged) return 1;
  std::uint64_t steps = 0;
  for (int item = 0; item < what.items; ++item)
    steps += staged_steps(of, what.counts[item], size_of(real_type_of(type)), what.has_factors);
  return steps;
}

result<void> run(const reducing& r, lane& where, late_failure failure) {
  part_launch of(r.part, where);
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const auto most = most_tensors / of.ranks;
  const bool staged = is_staged(r);
  for (std::size_t k = 0; k < r.x.size();) {
    const dtype type = r.x[k].type();
    reduced_items what;
    what.op = r.op;
    what.factor = r.factor;
    add_factors(r, what);
    what.is_staged = staged;
    for (; k < r.x.size() && r.x[k].type() == type && what.items < most; k += ranks)
      add_item(r, k, what);
    of.is_last = k == r.x.size();
    TRY(enqueue_reduction(of, what, type, failure, where.stream()));
    of.step += steps_of(of, what, type);
  }
  return {};
}

template <class R>
result<void> run_reduction(const R& r, lane& where, late_failure failure) {
  return run({.x = r.x,
              .y = r.y,
              .part = r.part,
              .op = r.op,
              .factor = r.factor,
              .factors = r.factors,
              .is_scattered = std::same_as<R, collective::reduce_scatter>},
             where, failure);
}

const kernel_loading reduction_kernels(load_reduction_kernels);
const plugin_operations reductions([](operation_table& table) {
  add<collective::all_reduce>(table, run_reduction<collective::all_reduce>);
  add<collective::reduce>(table, run_reduction<collective::reduce>);
  add<collective::reduce_scatter>(table, run_reduction<collective::reduce_scatter>);
});

}  // namespace
}  // namespace troupe::cuda
