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

/// A reduction, whichever ranks get results.
struct reducing {
  const std::vector<any_tensor>& x;
  const std::vector<any_tensor>& y;
  const world_part& part;
  reduction op{};
  double factor = 1.0;
  const std::vector<any_tensor>& factors;
  bool is_scattered = false;  ///< each rank gets its part of the result only
  bool is_for_all = false;    ///< all ranks get the same result
};

// All ranks decide alike.
wire::algorithm algorithm_of(const reducing& r) {
  std::int64_t bytes = 0;
  bool in_place = false;
  for (std::size_t k = 0; k < r.x.size(); ++k) {
    in_place = in_place || (!r.y[k].null() && r.y[k].address() == r.x[k].address());
    bytes += r.x[k].count() * size_of(r.x[k].type());
  }
  // Without elements there would be no step; and what NCCL has made is verified.
  if (bytes == 0 || r.part.connection != 0) return wire::algorithm::direct;
  if (r.is_scattered && !r.part.through_host) return wire::algorithm::direct;
  return wire::algorithm_for(true, r.part.ranks(), bytes / r.part.ranks(), in_place,
                             r.part.through_host, r.is_for_all);
}

// `first`: the index of the item's tensor of rank 0.
void add_item(const reducing& r, std::size_t first, reduced_items& to) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  const dtype type = r.x[first].type();
  const any_tensor& y = r.y[first + static_cast<std::size_t>(r.part.rank)];
  const std::int64_t halves = size_of(type) / size_of(real_type_of(type));
  const std::int64_t count = r.is_scattered ? y.count() : r.x[first].count();
  const auto item = static_cast<std::size_t>(to.items++);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    to.x[item * ranks + rank] = r.x[first + rank].address();
    to.outputs[item * ranks + rank] = r.is_for_all ? r.y[first + rank].address() : nullptr;
  }
  to.y[item] = y.null() ? nullptr : y.address();
  to.counts[item] = count * halves;
  to.firsts[item] = r.is_scattered ? r.part.rank * count * halves : 0;
  to.x_counts[item] = r.x[first].count() * halves;
}

void add_factors(const reducing& r, reduced_items& to) {
  to.has_factors = !r.factors.empty();
  for (std::size_t rank = 0; rank < r.factors.size(); ++rank) {
    to.factors[rank] = r.factors[rank].address();
    if (r.factors[rank].type() == dtype::f64) to.wide_factors |= std::uint64_t{1} << rank;
  }
}

std::uint64_t steps_of_all(const part_launch& of, const reduced_items& what, dtype type) {
  const std::int64_t element = size_of(real_type_of(type));
  const bool is_sliced = what.how == wire::algorithm::sliced;
  if (!is_sliced && what.how != wire::algorithm::staged) return 2;
  std::uint64_t steps = is_sliced ? 1 : 0;
  for (int item = 0; item < what.items; ++item) {
    const std::int64_t count = what.x_counts[item];
    steps += is_sliced ? steps_of(count, elements_of_piece(of, element))
                       : staged_steps(of, count, element, what.has_factors);
  }
  return steps;
}

result<void> run(const reducing& r, const part_lane& on) {
  part_launch of = on.launch_of(r.part);
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const auto most = most_tensors / of.ranks;
  const wire::algorithm how = algorithm_of(r);
  for (std::size_t k = 0; k < r.x.size();) {
    const dtype type = r.x[k].type();
    reduced_items what;
    what.op = r.op;
    what.factor = r.factor;
    add_factors(r, what);
    what.how = how;
    for (; k < r.x.size() && r.x[k].type() == type && what.items < most; k += ranks)
      add_item(r, k, what);
    of.is_last = k == r.x.size();
    TRY(enqueue_reduction(of, what, type, on.failure, on.stream()));
    of.step += steps_of_all(of, what, type);
  }
  return {};
}

template <class R>
result<void> run_reduction(const R& r, const part_lane& on) {
  return run({.x = r.x,
              .y = r.y,
              .part = r.part,
              .op = r.op,
              .factor = r.factor,
              .factors = r.factors,
              .is_scattered = std::same_as<R, collective::reduce_scatter>,
              .is_for_all = std::same_as<R, collective::all_reduce>},
             on);
}

const kernel_loading reduction_kernels(load_reduction_kernels);
const plugin_operations reductions([](operation_table& table) {
  add_part<collective::all_reduce, run_reduction>(table);
  add_part<collective::reduce, run_reduction>(table);
  add_part<collective::reduce_scatter, run_reduction>(table);
});

}  // namespace
}  // namespace troupe::cuda
