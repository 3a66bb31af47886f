#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/loading.hpp"
#include "libraries/memory/cuda/copy.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <troupe/memory/convert.hpp>

namespace troupe::cuda {
namespace {

// Below this count, a second launch for the elements after the last whole vector costs more than
// vectors save.
constexpr std::int64_t least_packed_count = 1 << 15;

/// True if a conversion to the same type keeps all bits. Small floats have many NaNs and produce
/// only one; a bool that is neither 0 nor 1 becomes 1.
bool keeps_bits(dtype type) noexcept {
  return is_integer(type) || is_complex(type) || type == dtype::f32 || type == dtype::f64;
}

bool aligned(const std::byte* address, std::int64_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

result<void> run_convert(const memory::convert& r, lane& where) {
  const dtype from = r.from.type();
  const dtype to = r.to.type();
  if (r.to.same_view(r.from)) return {};
  if (from == to && keeps_bits(to)) return copy_elements(r.from, r.to, where);
  elementwise::strided_loops loops(r.from, r.to);
  if (loops.empty) return {};
  const std::byte* source = r.from.address();
  std::byte* target = r.to.address();

  auto& inner = loops.dimensions[static_cast<std::size_t>(loops.rank - 1)];
  const std::int64_t at_once = packed_elements(from, to);
  if (loops.rank == 1 && inner.from == size_of(from) && inner.to == size_of(to) && at_once > 1 &&
      inner.extent >= least_packed_count && aligned(source, at_once * size_of(from)) &&
      aligned(target, at_once * size_of(to))) {
    const std::int64_t whole = inner.extent / at_once * at_once;
    auto enqueued = enqueue_packed_convert(whole, from, source, to, target, where.stream());
    if (!enqueued || whole == inner.extent) return enqueued;
    source += whole * size_of(from);
    target += whole * size_of(to);
    inner.extent -= whole;
  }
  return enqueue_convert(strided_map(loops, true), from, source, to, target, where.stream());
}

const kernel_loading convert_kernels(load_convert_kernels);
const plugin_operations convert_operations([](operation_table& table) {
  add<memory::convert>(table, run_convert);
});

}  // namespace

}  // namespace troupe::cuda
