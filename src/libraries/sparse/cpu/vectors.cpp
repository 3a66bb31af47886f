#include "libraries/sparse/cpu/elements.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/vectors.hpp>

namespace troupe::cpu {
namespace {

/// Calls `f(k, i)` for each element and its index in y. \errors `invalid_argument` for an index
/// outside; then `f` has been called for those before it
template <class R, class F>
result<void> for_each_element(const R& r, F f) {
  return with_index(r.indices.type(), [&]<class I>(I) -> result<void> {
    const I* const indices = r.indices.template data<I>();
    const std::int64_t step = r.indices.stride(0);
    const std::int64_t n = r.y.extent(0);
    for (std::int64_t k = 0; k < r.indices.extent(0); ++k) {
      const std::int64_t i = indices[k * step];
      if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(n))
        return index_outside(k, i, n);
      f(k, i);
    }
    return {};
  });
}

result<scalar> run_spvv(const sparse::spvv& r, lane_context&) {
  return with_value(r.y.type(), [&]<class T>(T) -> result<scalar> {
    using work = working_type<T>;
    const dense_elements<const T> x(r.values);
    const dense_elements<const T> y(r.y);
    const bool conjugates = r.op_x == blas::op::conjugate;
    work sum{};
    auto done = for_each_element(r, [&](std::int64_t k, std::int64_t i) {
      const work v = widened(x(k, 0));
      sum += times(conjugates ? conjugated(v) : v, widened(y(i, 0)));
    });
    if (!done) return std::move(done).error();
    const T answer = elementwise::narrowed<T>(sum);
    if (r.result.null()) return scalar(answer);
    *r.result.template data<T>() = answer;
    return scalar();
  });
}

result<void> run_axpby(const sparse::axpby& r, lane_context&) {
  return with_value(r.y.type(), [&]<class T>(T) -> result<void> {
    using work = working_type<T>;
    const dense_elements<const T> x(r.values);
    const dense_elements<T> y(r.y);
    const auto beta = r.beta.as<work>();
    if (beta != work(1)) {
      for (std::int64_t i = 0; i < y.rows; ++i)
        y(i, 0) = r.beta.is_zero() ? T{} : elementwise::narrowed<T>(times(beta, widened(y(i, 0))));
    }
    if (r.alpha.is_zero()) return {};
    const auto alpha = r.alpha.as<work>();
    return for_each_element(r, [&](std::int64_t k, std::int64_t i) {
      y(i, 0) = elementwise::narrowed<T>(widened(y(i, 0)) + times(alpha, widened(x(k, 0))));
    });
  });
}

result<void> run_gather(const sparse::gather& r, lane_context&) {
  return with_value(r.y.type(), [&]<class T>(T) {
    const dense_elements<T> x(r.values);
    const dense_elements<const T> y(r.y);
    return for_each_element(r, [&](std::int64_t k, std::int64_t i) { x(k, 0) = y(i, 0); });
  });
}

result<void> run_scatter(const sparse::scatter& r, lane_context&) {
  return with_value(r.y.type(), [&]<class T>(T) {
    const dense_elements<const T> x(r.values);
    const dense_elements<T> y(r.y);
    return for_each_element(r, [&](std::int64_t k, std::int64_t i) { y(i, 0) = x(k, 0); });
  });
}

result<void> run_rot(const sparse::rot& r, lane_context&) {
  return with_value(r.y.type(), [&]<class T>(T) {
    using work = working_type<T>;
    const dense_elements<T> x(r.values);
    const dense_elements<T> y(r.y);
    const auto c = r.c.as<work>();
    const auto s = r.s.as<work>();
    return for_each_element(r, [&](std::int64_t k, std::int64_t i) {
      const work from_x = widened(x(k, 0));
      const work from_y = widened(y(i, 0));
      x(k, 0) = elementwise::narrowed<T>(times(c, from_x) + times(s, from_y));
      y(i, 0) = elementwise::narrowed<T>(times(c, from_y) - times(s, from_x));
    });
  });
}

const plugin_operations vectors_operations([](operation_table& table) {
  table.add<sparse::spvv>(run_spvv, effort::by_size);
  table.add<sparse::axpby>(run_axpby, effort::by_size);
  table.add<sparse::gather>(run_gather, effort::by_size);
  table.add<sparse::scatter>(run_scatter, effort::by_size);
  table.add<sparse::rot>(run_rot, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
