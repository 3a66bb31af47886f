#include "libraries/fft/cuda/operand_moves.hpp"

#include "backend/cuda/context/executor.hpp"
#include "backend/operation_of.hpp"
#include "base/try.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <optional>
#include <utility>

namespace troupe::cuda {
namespace {

// The operation that runs maps. Set once, while the plugin is loaded.
operation_of<elementwise::map> run_map;
const plugin_operations finds_map([](operation_table& table) { run_map.find_in(table); });

}  // namespace

result<void> enqueue_copy(const any_tensor& from, const any_tensor& to, cudaStream_t stream) {
  elementwise::strided_loops loops(from, to);
  const unit moved = choose_unit(loops, size_of(to.type()), from.address(), to.address());
  return enqueue_copy(strided_map(loops, true), moved, from.address(), to.address(), stream);
}

result<void> enqueue_map(const elementwise::map& what, lane& where) { return run_map(what, where); }

result<void> enqueue_finish(const fft::transform& t, const fft::request_fields& r,
                            const any_tensor& target, bool copies, lane& where) {
  std::optional<elementwise::function> scaled;
  if (t.factor != 1) {
    if (r.stores()) scaled = fft::scaled_store(r, t.factor, t.out_is_complex());
    if (!scaled) TRY(enqueue_scale(target, t.factor, where.stream()));
  }
  if (r.stores()) {
    elementwise::map last = fft::store_map(r, target);
    if (scaled) last.what = *std::move(scaled);
    return run_map(last, where);
  }
  return copies ? enqueue_copy(target, r.out, where.stream()) : result<void>();
}

}  // namespace troupe::cuda
