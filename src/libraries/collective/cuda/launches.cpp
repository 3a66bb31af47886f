#include "libraries/collective/cuda/launches.hpp"

#include "backend/cuda/context/loading.hpp"

#include <algorithm>
#include <span>

namespace troupe::cuda {
namespace {

bool is_plain(const any_tensor& t) { return t.null() || t.packed(); }

const any_tensor& given(const std::vector<any_tensor>& x, std::size_t first) {
  while (x[first].null())
    ++first;
  return x[first];
}

const kernel_loading pull_kernels(load_pull_kernels);

}  // namespace

result<void> pull_pieces(const part_launch& of, const pulled_pieces& what, late_failure failure,
                         lane& where) {
  // An engine is a fifth faster than a kernel, and two more launches take some microseconds.
  constexpr std::int64_t least_engine_bytes = std::int64_t{8} << 20;
  const auto is_long = [](const auto& one) { return one.bytes >= least_engine_bytes; };
  const std::span pieces(what.all, static_cast<std::size_t>(what.count));
  if (where.is_repeated() || pieces.empty() || !std::ranges::all_of(pieces, is_long)) {
    return enqueue_pull(of, what, failure, where.stream());
  }
  TRY(enqueue_start(of, failure, where.stream()));
  for (const pulled_pieces::piece& one : pieces) {
    TRY(check(cudaMemcpyAsync(one.to, one.from, static_cast<std::size_t>(one.bytes),
                              cudaMemcpyDefault, where.stream()),
              "cudaMemcpyAsync"));
  }
  return enqueue_finish(of, failure, where.stream());
}

result<void> copy_items(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y,
                        const world_part& part, lane& where, late_failure failure) {
  part_launch of(part, where);
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const auto mine = static_cast<std::size_t>(of.rank);
  // All ranks decide alike: with gaps, each item is a launch.
  if (std::ranges::all_of(x, is_plain) && std::ranges::all_of(y, is_plain)) {
    return pull(part, y.size() / ranks, where, failure, [&](std::size_t item, auto add) {
      const any_tensor& to = y[item * ranks + mine];
      if (!to.null()) add(given(x, item * ranks), 0, to, 0, to.count());
    });
  }
  for (std::size_t first = 0; first < y.size(); first += ranks) {
    const any_tensor& to = y[first + mine];
    of.is_last = first + ranks == y.size();
    if (to.null()) {
      TRY(enqueue_pull(of, {}, failure, where.stream()));
    } else {
      const any_tensor& from = given(x, first);
      TRY(enqueue_pull(of, elementwise::strided_loops(from, to), size_of(to.type()), from.address(),
                       to.address(), failure, where.stream()));
    }
    ++of.step;
  }
  return {};
}

}  // namespace troupe::cuda
