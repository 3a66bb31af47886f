#include "libraries/blas/cpu/matrix_vector.hpp"
#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/cpu/thin/thin_product.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_gemm(const blas::gemm& r, lane_context& lane) {
  return multiply({r.a, r.b, r.c, r.alpha, r.beta, r.op_a, r.op_b}, r.a.address(), r.b.address(),
                  r.c.address(), lane);
}

/// A matrix of any strides, for the operations that OpenBLAS has no routine for.
template <class T>
struct strided_matrix {
  T* first;
  std::int64_t row_stride;
  std::int64_t column_stride;
  explicit strided_matrix(const any_tensor& t)
      : first(t.data<T>()), row_stride(t.stride(0)), column_stride(t.stride(1)) {}
  T& operator()(std::int64_t i, std::int64_t j) const noexcept {
    return first[i * row_stride + j * column_stride];
  }
};

template <class T, class Element>
void for_each_element(const any_tensor& c, Element element) {
  // The inner loop runs along c's unit stride.
  if (blas::leading_dimension(c, blas::order::row_major) != 0) {
    for (std::int64_t i = 0; i < c.extent(0); ++i) {
      for (std::int64_t j = 0; j < c.extent(1); ++j)
        element(i, j);
    }
  } else {
    for (std::int64_t j = 0; j < c.extent(1); ++j) {
      for (std::int64_t i = 0; i < c.extent(0); ++i)
        element(i, j);
    }
  }
}

result<void> run_geam(const blas::geam& r, lane_context&) {
  for_classic_type(r.c.type(), [&]<class T>(T) {
    const strided_matrix<T> a(r.a), b(r.b), c(r.c);
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    const bool conjugate_a = r.op_a == blas::op::conjugate;
    const bool conjugate_b = r.op_b == blas::op::conjugate;
    const auto term = [](const strided_matrix<T>& m, T factor, bool conjugated, std::int64_t i,
                         std::int64_t j) {
      return product_of(factor, conjugated ? conjugate(m(i, j)) : m(i, j));
    };
    const bool without_a = alpha == T{};
    const bool without_b = beta == T{};
    if (without_a && without_b) {
      for_each_element<T>(r.c, [&](auto i, auto j) { c(i, j) = T{}; });
    } else if (without_b) {
      for_each_element<T>(r.c,
                          [&](auto i, auto j) { c(i, j) = term(a, alpha, conjugate_a, i, j); });
    } else if (without_a) {
      for_each_element<T>(r.c, [&](auto i, auto j) { c(i, j) = term(b, beta, conjugate_b, i, j); });
    } else {
      for_each_element<T>(r.c, [&](auto i, auto j) {
        c(i, j) = term(a, alpha, conjugate_a, i, j) + term(b, beta, conjugate_b, i, j);
      });
    }
  });
  return {};
}

result<void> run_dgmm(const blas::dgmm& r, lane_context&) {
  for_classic_type(r.c.type(), [&]<class T>(T) {
    const strided_matrix<T> a(r.a), c(r.c);
    const T* x = r.x.data<T>();
    const std::int64_t step = blas::increment(r.x);
    const bool left = r.side == blas::side::left;
    for_each_element<T>(
        r.c, [&](auto i, auto j) { c(i, j) = product_of(a(i, j), x[(left ? i : j) * step]); });
  });
  return {};
}

/// The last two dimensions of `t`, from that address on.
any_tensor matrix_at(const any_tensor& t, const std::byte* first) {
  const auto last_two = [](auto all) { return all.last(2); };
  return any_tensor::unowned(const_cast<std::byte*>(first), t.type(), shape(last_two(t.extents())),
                             last_two(t.strides()));
}
/// Row or column 0 of a matrix along `dimension`.
any_tensor vector_at(const any_tensor& t, const std::byte* first, int dimension) {
  const std::int64_t stride[] = {t.stride(dimension)};
  return any_tensor::unowned(const_cast<std::byte*>(first), t.type(), {t.extent(dimension)},
                             stride);
}

/// Computes a product of one row or one column as a matrix-vector product, which takes OpenBLAS a
/// quarter of the time. False if the shape is another, or the vector would have to be conjugated.
bool multiply_vector(const product& p, const std::byte* a, const std::byte* b, std::byte* c) {
  const int rows = p.c.rank() - 2;
  const auto plain = [&](blas::op op) { return op == blas::op::none || !is_complex(p.c.type()); };
  if (p.c.extent(rows + 1) == 1 && plain(p.op_b)) {
    multiply({matrix_at(p.a, a), vector_at(p.b, b, rows), vector_at(p.c, c, rows), p.alpha, p.beta,
              p.op_a});
    return true;
  }
  if (p.c.extent(rows) == 1 && plain(p.op_a)) {
    multiply({matrix_at(p.b, b).transpose(), vector_at(p.a, a, rows + 1),
              vector_at(p.c, c, rows + 1), p.alpha, p.beta, p.op_b});
    return true;
  }
  return false;
}

/// Computes a product of a few packed rows with contiguous columns. False if the shape is another.
bool multiply_thin(const product& p, const std::byte* a, const std::byte* b, std::byte* c) {
  const int rows = p.c.rank() - 2;
  const std::int64_t m = p.c.extent(rows);
  const std::int64_t n = p.c.extent(rows + 1);
  const std::int64_t k = p.a.extent(rows + 1);
  const auto packed = [&](const any_tensor& t, std::int64_t width) {
    return t.stride(rows) == width && t.stride(rows + 1) == 1;
  };
  if (p.a.type() != dtype::f32 || !is_thin(m, n, k, dtype::f32, p.b.stride(rows)) ||
      !packed(p.a, k) || !packed(p.c, n) || p.alpha.as<float>() != 1.F || p.beta.as<float>() != 0.F)
    return false;
  run({.m = m,
       .n = n,
       .k = k,
       .a = reinterpret_cast<const float*>(a),
       .type = dtype::f32,
       .b = b,
       .step = p.b.stride(rows + 1),
       .sum = reinterpret_cast<float*>(c)});
  return true;
}

}  // namespace

result<void> multiply(const product& p, const std::byte* a, const std::byte* b, std::byte* c,
                      lane_context& lane) {
  const int rows = p.c.rank() - 2;
  const std::int64_t m = p.c.extent(rows);
  const std::int64_t n = p.c.extent(rows + 1);
  // OpenBLAS's kernels for small matrices multiply by an alpha of zero, and NaNs would stay.
  const std::int64_t k = blas::vanishes(p.alpha, p.c.type()) ? 0 : p.a.extent(rows + 1);
  if (m == 0 || n == 0) return {};
  const dtype type = p.a.type();
  if (type == dtype::f16 || type == dtype::bf16) return multiply_half(p, a, b, c, lane);
  if (type == dtype::i8) return multiply_i8(p, a, b, c, lane);
  if (multiply_vector(p, a, b, c) || multiply_thin(p, a, b, c)) return {};

  const auto c_layout = blas::layout_of(p.c);
  const auto a_layout = blas::layout_of(p.a, c_layout.order);
  const auto b_layout = blas::layout_of(p.b, c_layout.order);
  for_classic_type(type, [&]<class T>(T) {
    const T alpha = p.alpha.as<T>();
    const T beta = p.beta.as<T>();
    routines<T>::gemm(as_cblas(c_layout.order),
                      transposition(a_layout.order, c_layout.order, p.op_a),
                      transposition(b_layout.order, c_layout.order, p.op_b), m, n, k, by(alpha),
                      reinterpret_cast<const T*>(a), a_layout.ld, reinterpret_cast<const T*>(b),
                      b_layout.ld, by(beta), reinterpret_cast<T*>(c), c_layout.ld);
  });
  return {};
}

namespace {

const plugin_operations level3_operations([](operation_table& table) {
  table.add<blas::gemm>(run_gemm, effort::by_size);
  table.add<blas::geam>(run_geam, effort::by_size);
  table.add<blas::dgmm>(run_dgmm, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
