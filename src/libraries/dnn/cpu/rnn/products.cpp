#include "libraries/dnn/cpu/rnn/products.hpp"

#include "backend/operation_of.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <array>
#include <span>

namespace troupe::cpu::rnn {
namespace {

// The operation that multiplies. Set once, while the plugin is loaded.
operation_of<blas::gemm> run_gemm;
const plugin_operations finds_gemm([](operation_table& table) { run_gemm.find_in(table); });

template <class R>
any_tensor view_of(R* at, std::int64_t rows, std::int64_t columns, std::int64_t step, turned how) {
  using T = std::remove_const_t<R>;
  // Only c is written.
  auto* const address = reinterpret_cast<std::byte*>(const_cast<T*>(at));
  const std::array<std::int64_t, 2> strides{step, 1};
  const any_tensor view = any_tensor::unowned(address, dtype_of<T>, shape({rows, columns}),
                                              std::span<const std::int64_t>(strides));
  return how == turned::yes ? view.transpose() : view;
}

}  // namespace

template <class R>
result<void> multiply(const matrix<const R>& a, turned a_turned, const matrix<const R>& b,
                      turned b_turned, const matrix<R>& c, bool add, lane_context& lane) {
  const bool depth = a_turned == turned::yes ? a.rows > 0 : a.columns > 0;
  if (!depth && add) return {};
  return run_gemm({.a = view_of(a.at, a.rows, a.columns, a.step, a_turned),
                   .b = view_of(b.at, b.rows, b.columns, b.step, b_turned),
                   .c = view_of(c.at, c.rows, c.columns, c.step, turned::no),
                   .beta = add ? 1 : 0},
                  lane);
}
template result<void> multiply(const matrix<const float>& a, turned a_turned,
                               const matrix<const float>& b, turned b_turned,
                               const matrix<float>& c, bool add, lane_context& lane);
template result<void> multiply(const matrix<const double>& a, turned a_turned,
                               const matrix<const double>& b, turned b_turned,
                               const matrix<double>& c, bool add, lane_context& lane);

}  // namespace troupe::cpu::rnn
