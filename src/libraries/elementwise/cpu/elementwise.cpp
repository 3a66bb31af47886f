#include "libraries/elementwise/cpu/elementwise.hpp"

#include "libraries/elementwise/cpu/interpreter.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe::cpu {
namespace {

// Less work for each thread is done sooner by one: elements, times instructions.
constexpr std::int64_t work_per_thread = std::int64_t{1} << 20;

// Divides [0, count) among threads; `share` gets its bounds. If no thread can be started, this one
// does its part.
template <class Share>
void shared_out(std::int64_t count, std::int64_t work, Share share) {
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t threads = std::clamp<std::int64_t>(std::min(work / work_per_thread, count), 1,
                                                        std::max<std::int64_t>(processors, 1));
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < threads; ++i) {
    const auto part = [=] { share(count * i / threads, count * (i + 1) / threads); };
    try {
      others.emplace_back(part);
    } catch (const std::system_error&) {
      part();
    }
  }
  share(0, count / threads);
}

template <class R>
result<void> run(const R& r) {
  auto bound = elementwise::bind(r);
  if (!bound) return std::move(bound).error();
  if (r.outputs.empty()) return {};
  const auto over = elementwise::loops::of(bound->over, r.inputs, r.outputs, r.what);
  // A row may be empty, and still have a sum.
  if (over.outer_count == 0 || (over.row_count == 0 && bound->over.reduced == 0)) return {};
  const std::int64_t work =
      over.outer_count * over.row_count * static_cast<std::int64_t>(bound->program.code.size());
  if (bound->over.is_map) {
    // Whole blocks, so that no two threads write to one cache line.
    const std::int64_t blocks = (over.row_count - 1) / interpreter::block + 1;
    shared_out(blocks, work, [&](std::int64_t first, std::int64_t last) {
      constexpr std::int64_t block = interpreter::block;
      interpreter(*bound, over, r.what)
          .run(0, first * block, std::min(last * block, over.row_count));
    });
    return {};
  }
  shared_out(over.outer_count, work, [&](std::int64_t first, std::int64_t last) {
    interpreter rows(*bound, over, r.what);
    for (std::int64_t row = first; row < last; ++row)
      rows.run(row, 0, over.row_count);
  });
  return {};
}

}  // namespace

result<void> run_elementwise(const elementwise::map& r, lane_context&) { return run(r); }
result<void> run_elementwise(const elementwise::rows& r, lane_context&) { return run(r); }

}  // namespace troupe::cpu
