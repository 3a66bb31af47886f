
#include <troupe/blas/level3.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <array>
#include <new>

namespace troupe::cpu {
namespace {

// Through the table, as a worker runs it.
template <request R>
result<void> run_one(const operation_table& table, const R& r, lane_context& lane) {
  const operation* one = table.find(request_type_of<R>().id);
  return one->run(one->executor, &r, lane, nullptr);
}

// OpenBLAS takes its buffers with its first product.
result<void> warm_up(lane_context& lane) {
  operation_table table;
  plugin_operations::visit([&](auto& add) { add(table); });
  // Large enough for the kernels that pack their operands, small enough for one thread.
  constexpr std::int64_t side = 64;
  std::array<std::array<double, side * side>, 3> workspace{};
  for (const dtype type : {dtype::f32, dtype::f64}) {
    const auto matrix = [&](std::size_t i) {
      return any_tensor::unowned(reinterpret_cast<std::byte*>(workspace[i].data()), type,
                                 {side, side});
    };
    const blas::gemm product{.a = matrix(0), .b = matrix(1), .c = matrix(2)};
    if (auto done = run_one(table, product, lane); !done) return done;
    const memory::copy copy{.from = matrix(0), .to = matrix(1)};
    if (auto done = run_one(table, copy, lane); !done) return done;
  }
  return {};
}

// Without room for a product all else may run: the request that needs it says why it cannot.
result<void> warm_up_as_far_as_there_is_workspace(lane_context& lane) {
  try {
    return warm_up(lane);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

const plugin_warm_up ahead_of_use(warm_up_as_far_as_there_is_workspace);

}  // namespace

}  // namespace troupe::cpu
