#include "random_sparse.hpp"

#include <troupe/sparse/conversions.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/sparse/sparse_products.hpp>
#include <troupe/sparse/structured.hpp>
#include <troupe/sparse/triangular.hpp>
#include <troupe/sparse/validation.hpp>

#include <algorithm>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

constexpr dtype value_types[] = {dtype::f64,  dtype::f32,  dtype::f16,
                                 dtype::bf16, dtype::c128, dtype::c64};

class sparse_drawing {
 public:
  sparse_drawing(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views), type_(value_types[from(0, 5)]) {}

  void fill(sparse::spmv& r) {
    draw(r.a);
    r.x = view(type_, {columns_of(r)});
    r.y = view(type_, {rows_of(r)});
    make_real(r.alpha, r.beta);
  }
  void fill(sparse::spmm& r) {
    draw(r.a);
    const std::int64_t n = from(0, 3);
    r.b = view(type_, {columns_of(r), n});
    r.c = view(type_, {rows_of(r), n});
    make_real(r.alpha, r.beta);
  }
  void fill(sparse::sddmm& r) {
    draw(r.c);
    const std::int64_t k = from(0, 3);
    r.a = view(type_, {r.c.rows, k});
    r.b = view(type_, {k, r.c.columns});
    make_real(r.alpha, r.beta);
  }
  void fill(sparse::validate& r) { draw(r.a); }
  void fill(sparse::to_dense& r) {
    draw(r.a);
    r.b = view(type_, {r.a.rows, r.a.columns});
  }
  void fill(sparse::from_dense& r) {
    draw(r.b, sparse_format::coo);
    r.a = view(type_, {r.b.rows, r.b.columns});
  }
  void fill(sparse::convert& r) {
    draw(r.b, sparse_format::coo);
    const std::int64_t rows = r.b.rows;
    const std::int64_t columns = r.b.columns;
    do {
      draw(r.a);
    } while (r.a.rows != rows || r.a.columns != columns);
  }
  void fill(sparse::slice& r) {
    draw(r.b, sparse_format::coo);
    do {
      draw(r.a);
    } while (r.a.rows < r.b.rows || r.a.columns < r.b.columns);
    r.first_row = from(0, r.a.rows - r.b.rows);
    r.first_column = from(0, r.a.columns - r.b.columns);
  }
  void fill(sparse::add& r) {
    draw(r.c, sparse_format::coo);
    for (sparse_matrix* const one : {&r.a, &r.b}) {
      do {
        draw(*one);
      } while (one->rows != r.c.rows || one->columns != r.c.columns);
    }
    make_real(r.alpha, r.beta);
  }
  void fill(sparse::spsv& r) {
    draw_triangle(r);
    r.b = view(type_, {r.a.rows});
    r.x = view(type_, {r.a.rows});
  }
  void fill(sparse::spsm& r) {
    draw_triangle(r);
    const std::int64_t nrhs = from(0, 3);
    r.b = view(type_, {r.a.rows, nrhs});
    r.x = view(type_, {r.a.rows, nrhs});
  }
  void fill(sparse::spgemm& r) {
    draw_factors(r);
    do {
      draw(r.c, sparse_format::csc);
    } while (r.c.format != r.a.format || r.c.rows != r.a.rows || r.c.columns != r.b.columns);
    scalar unused = 0;
    make_real(r.alpha, unused);
  }
  void fill(sparse::spgemm_size& r) { draw_factors(r); }
  void fill(sparse::structured_compress& r) {
    constexpr dtype types[] = {dtype::f16, dtype::bf16, dtype::i8, dtype::e4m3};
    const dtype type = types[from(0, 3)];
    const std::int64_t n = from(0, 5);
    const std::int64_t k = 4 * from(0, 3);
    r.x = view(type, {n, k});
    r.compressed = view(dtype::u8, {sparse::structured_bytes(n, k, size_of(type))});
  }

 private:
  template <class R>
  void draw_triangle(R& r) {
    do {
      type_ = value_types[from(0, 5)];
    } while (size_of(type_) == 2);
    do {
      draw(r.a, sparse_format::csc);
    } while (r.a.rows != r.a.columns);
    scalar unused = 0;
    make_real(r.alpha, unused);
  }
  template <class R>
  void draw_factors(R& r) {
    draw(r.a, sparse_format::csc);
    do {
      draw(r.b, sparse_format::csc);
    } while (r.b.format != r.a.format || r.b.rows != r.a.columns);
  }
  [[nodiscard]] std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  [[nodiscard]] any_tensor view(dtype type, const numbers& extents) {
    return views_(type, shape(std::span(extents)), {}, memory_space::device);
  }
  template <class R>
  [[nodiscard]] static std::int64_t rows_of(const R& r) {
    return turns(r.op_a) ? r.a.columns : r.a.rows;
  }
  template <class R>
  [[nodiscard]] static std::int64_t columns_of(const R& r) {
    return turns(r.op_a) ? r.a.rows : r.a.columns;
  }
  [[nodiscard]] static bool turns(blas::storage_op op) {
    return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
  }
  void make_real(scalar& alpha, scalar& beta) const {
    if (is_complex(type_)) return;
    if (alpha.has_imaginary()) alpha = 2.0;
    if (beta.has_imaginary()) beta = 0.0;
  }

  void draw(sparse_matrix& a, sparse_format most = sparse_format::sliced_ell) {
    a = sparse_matrix();
    a.format = static_cast<sparse_format>(from(0, static_cast<std::int64_t>(most)));
    const dtype index = from(0, 1) == 0 ? dtype::i32 : dtype::i64;
    const std::int64_t nnz = from(0, 4);
    const std::int64_t block = from(1, 2);
    a.rows = from(0, 4);
    a.columns = from(0, 4);
    a.indices = view(index, {nnz});
    a.values = view(type_, {nnz});
    switch (a.format) {
      case sparse_format::csr:
        a.offsets = view(index, {a.rows + 1});
        break;
      case sparse_format::csc:
        a.offsets = view(index, {a.columns + 1});
        break;
      case sparse_format::coo:
        a.row_indices = view(index, {nnz});
        break;
      case sparse_format::bsr:
        a.offsets = view(index, {a.rows + 1});
        a.values = view(type_, {nnz, block, 3});
        a.rows *= block;
        a.columns *= 3;
        break;
      case sparse_format::blocked_ell:
        a.indices = view(index, {a.rows, nnz});
        a.rows *= block;
        a.columns *= block;
        a.values = view(type_, {a.rows, nnz * block});
        break;
      case sparse_format::sliced_ell:
        a.slice_rows = from(1, 3);
        a.offsets = view(index, {(a.rows + a.slice_rows - 1) / a.slice_rows + 1});
        break;
    }
  }

  std::mt19937_64& random_;
  const view_source& views_;
  dtype type_;
};

}  // namespace

bool draw_sparse(const request_type& type, void* request, std::mt19937_64& random,
                 const view_source& views) {
  return drawn_by<sparse_drawing, sparse::spmv, sparse::spmm, sparse::sddmm, sparse::validate,
                  sparse::to_dense, sparse::from_dense, sparse::convert, sparse::slice, sparse::add,
                  sparse::spsv, sparse::spsm, sparse::spgemm, sparse::spgemm_size,
                  sparse::structured_compress>(type, request, random, views);
}

}  // namespace troupe::testing_requests
