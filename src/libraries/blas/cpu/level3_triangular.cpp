#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/cpu/triangular.hpp"
#include "libraries/blas/requests/triangle_blocks.hpp"

#include <troupe/blas/level3_triangular.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_trmm(const blas::trmm& r, lane_context&) {
  if (!r.b.empty()) with_triangle(r, []<class T>(T) { return routines<T>::trmm; });
  return {};
}

result<void> run_trsm(const blas::trsm& r, lane_context&) {
  if (!r.b.empty()) with_triangle(r, []<class T>(T) { return routines<T>::trsm; });
  return {};
}

/// c = product + beta · c in one triangle; `product` is packed.
template <class T>
void add_triangle(const any_tensor& c, blas::uplo uplo, T beta, const T* product) {
  const std::int64_t n = c.extent(0);
  const bool upper = uplo == blas::uplo::upper;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = upper ? i : 0; j < (upper ? n : i + 1); ++j) {
      T& place = c.data<T>()[i * c.stride(0) + j * c.stride(1)];
      place = product[i * n + j] + scaled(beta, place);
    }
  }
}

result<void> run_gemmt(const blas::gemmt& r, lane_context& lane) {
  constexpr std::int64_t side = 128;
  if (r.c.empty()) return {};
  auto memory = lane.workspace(static_cast<std::size_t>(side * side * size_of(r.c.type())));
  if (!memory) return std::move(memory).error();
  const auto run = [&](const blas::product_block& p, const any_tensor& c, const scalar& beta) {
    return multiply({p.a, p.b, c, r.alpha, beta, r.op_a, r.op_b}, p.a.address(), p.b.address(),
                    c.address(), lane);
  };
  return blas::for_each_triangle_block(
      r, side, [&](const blas::product_block& p) { return run(p, p.c, r.beta); },
      [&](const blas::product_block& p) -> result<void> {
        const any_tensor whole =
            any_tensor::unowned(memory->data(), r.c.type(), shape(p.c.extents()));
        auto done = run(p, whole, 0);
        if (!done) return done;
        for_classic_type(r.c.type(), [&]<class T>(T) {
          add_triangle(p.c, r.uplo, r.beta.as<T>(), whole.data<T>());
        });
        return {};
      });
}

const plugin_operations level3_triangular_operations([](operation_table& table) {
  table.add<blas::trmm>(run_trmm, effort::by_size);
  table.add<blas::trsm>(run_trsm, effort::by_size);
  table.add<blas::gemmt>(run_gemmt, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
