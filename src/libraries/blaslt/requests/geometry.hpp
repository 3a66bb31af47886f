#pragma once

#include "libraries/blaslt/requests/combinations.hpp"
#include "request/matrix_layout.hpp"

#include <troupe/blaslt/matmul.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// The parameters of a request for cuBLASLt. Shared by validation and the backends, so that the
/// accepted and the executed request cannot differ.
namespace troupe::blaslt {

[[nodiscard]] constexpr bool has_bias(epilogue e) noexcept {
  return e == epilogue::bias || e == epilogue::relu_bias || e == epilogue::gelu_bias ||
         e == epilogue::relu_aux_bias || e == epilogue::gelu_aux_bias;
}
[[nodiscard]] constexpr bool writes_aux(epilogue e) noexcept {
  return e == epilogue::relu_aux || e == epilogue::gelu_aux || e == epilogue::relu_aux_bias ||
         e == epilogue::gelu_aux_bias;
}
[[nodiscard]] constexpr bool reads_aux(epilogue e) noexcept {
  return e == epilogue::drelu || e == epilogue::dgelu || e == epilogue::drelu_bgrad ||
         e == epilogue::dgelu_bgrad;
}
[[nodiscard]] constexpr bool has_aux(epilogue e) noexcept { return writes_aux(e) || reads_aux(e); }
/// Relu or its derivative.
[[nodiscard]] constexpr bool is_relu(epilogue e) noexcept {
  return e == epilogue::relu || e == epilogue::relu_bias || e == epilogue::relu_aux ||
         e == epilogue::relu_aux_bias || e == epilogue::drelu || e == epilogue::drelu_bgrad;
}
/// The gradient of a bias that was added along d's last extent.
[[nodiscard]] constexpr bool sums_rows(epilogue e) noexcept {
  return e == epilogue::drelu_bgrad || e == epilogue::dgelu_bgrad;
}
[[nodiscard]] constexpr bool sums_operand(epilogue e) noexcept {
  return e == epilogue::bgrad_a || e == epilogue::bgrad_b;
}

/// As a request writes it.
[[nodiscard]] constexpr std::string_view epilogue_name(epilogue e) noexcept {
  constexpr std::array<std::string_view, 16> names{
      "none",        "relu",        "gelu",          "bias",          "relu_bias", "gelu_bias",
      "relu_aux",    "gelu_aux",    "relu_aux_bias", "gelu_aux_bias", "drelu",     "dgelu",
      "drelu_bgrad", "dgelu_bgrad", "bgrad_a",       "bgrad_b"};
  const auto place = static_cast<std::size_t>(e);
  return place < names.size() ? names[place] : "unknown";
}

/// A matrix as it is stored, column-major; `transposed` says that it is used the other way round.
struct stored_matrix {
  std::int64_t ld = 0;        ///< 0: it cannot be taken
  std::int64_t distance = 0;  ///< from one product's to the next one's
  bool transposed = false;
};

/// A product as cuBLASLt takes it: d [m, n] column-major. A row-major d is a column-major one the
/// other way round, with b and a in the places of a and b.
struct column_major_product {
  bool swapped = false;  ///< d is row-major: the left factor is b
  std::int64_t m = 0;    ///< d's contiguous extent
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  stored_matrix left, right, c, d;

  [[nodiscard]] bool empty() const noexcept { return m == 0 || n == 0 || batch == 0; }
};

/// From one matrix of a batch to the next, in elements.
[[nodiscard]] inline std::int64_t distance_of(const any_tensor& t) noexcept {
  return t.rank() == 3 && t.extent(0) > 1 ? t.stride(0) : 0;
}
/// The order of a factor whose view fits both: k contiguous for types for which cuBLASLt requires
/// it,
/// and transposed if it is conjugated.
[[nodiscard]] inline blas::order preferred_order(const matmul& r, bool is_a,
                                                 blas::order of_d) noexcept {
  const blas::op op = is_a ? r.op_a : r.op_b;
  if (is_complex(r.a.type())) return op == blas::op::none ? of_d : blas::other(of_d);
  const bool summed = r.epilogue == (is_a ? epilogue::bgrad_a : epilogue::bgrad_b);
  const bool k_contiguous = size_of(r.a.type()) == 1 && !summed;
  return k_contiguous == is_a ? blas::order::row_major : blas::order::column_major;
}

/// How cuBLASLt takes a request whose shapes fit, with d in that order; an operand that it cannot
/// take has no leading dimension.
[[nodiscard]] inline column_major_product lay_out(const matmul& r, blas::order of_d) noexcept {
  const int rows = r.d.rank() - 2;
  column_major_product p;
  p.swapped = of_d == blas::order::row_major;
  p.m = r.d.extent(p.swapped ? rows + 1 : rows);
  p.n = r.d.extent(p.swapped ? rows : rows + 1);
  p.k = r.a.extent(rows + 1);
  p.batch = r.d.rank() == 3 ? r.d.extent(0) : 1;
  const auto factor = [&](const any_tensor& t, bool is_a) {
    const auto as = blas::layout_of(t, preferred_order(r, is_a, of_d));
    return stored_matrix{as.ld, distance_of(t), as.order != of_d};
  };
  p.left = p.swapped ? factor(r.b, false) : factor(r.a, true);
  p.right = p.swapped ? factor(r.a, true) : factor(r.b, false);
  p.d = {blas::leading_dimension(r.d, of_d), distance_of(r.d), false};
  p.c =
      r.c.null() ? p.d : stored_matrix{blas::leading_dimension(r.c, of_d), distance_of(r.c), false};
  return p;
}

/// The type of c where cuBLASLt is to be told one: c's own, or what gelu keeps of a d in fp8.
[[nodiscard]] inline std::optional<dtype> type_of_c(const matmul& r) noexcept {
  if (!r.c.null()) return r.c.type();
  if (!is_fp8(r.d.type()) || r.aux.null() || is_relu(r.epilogue)) return std::nullopt;
  return r.aux.type();
}
/// The types of a request.
[[nodiscard]] inline std::optional<combination> types_of(const matmul& r) noexcept {
  const any_tensor& vector = has_bias(r.epilogue) ? r.bias : r.bgrad;
  return combination_of(r.a.type(), r.b.type(), type_of_c(r), r.d.type(),
                        vector.null() ? std::nullopt : std::optional(vector.type()));
}

[[nodiscard]] constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) noexcept {
  return (n + to - 1) / to * to;
}
/// Bytes of one column of relu's mask, for `p` elements. Source: cuBLAS documentation,
/// CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD.
[[nodiscard]] constexpr std::int64_t mask_bytes(std::int64_t p) noexcept {
  return round_up(p, 128) / 8;
}
/// Leading dimension of aux in its own elements, in d's order; 0 where it lies in the other one.
[[nodiscard]] inline std::int64_t aux_leading_dimension(const any_tensor& aux, bool row_major,
                                                        bool mask) noexcept {
  const std::int64_t ld =
      blas::leading_dimension(aux, row_major ? blas::order::row_major : blas::order::column_major);
  const int outer = row_major ? aux.rank() - 2 : aux.rank() - 1;
  // With one column any will do, and a view's stride says nothing.
  return ld != 0 && aux.extent(outer) <= 1 ? round_up(ld, mask ? 16 : 8) : ld;
}
/// The extents of aux, as d's, but for relu's bits.
struct aux_extents {
  std::int64_t rows, columns;

  aux_extents(const column_major_product& p, bool mask) noexcept
      : rows(p.swapped ? p.n : p.m), columns(p.swapped ? p.m : p.n) {
    if (mask) (p.swapped ? columns : rows) = mask_bytes(p.m);
  }
};
/// True where aux lies in d's order, as cuBLASLt needs it; its extents are not looked at.
[[nodiscard]] inline bool aux_is_laid_out(const matmul& r, const column_major_product& p) noexcept {
  const bool mask = is_relu(r.epilogue);
  const std::int64_t unit = mask ? 16 : 8;
  const std::int64_t ld = aux_leading_dimension(r.aux, p.swapped, mask);
  return r.aux.empty() || (ld != 0 && ld % unit == 0 && distance_of(r.aux) % unit == 0);
}
/// The number that k, d's contiguous extent and leading dimensions must be multiples of.
[[nodiscard]] constexpr std::int64_t extent_unit(arithmetic computed) noexcept {
  if (computed == arithmetic::fp8) return 16;
  return computed == arithmetic::i32 || computed == arithmetic::i32_scaled ? 4 : 1;
}
/// cuBLASLt conjugates only what it transposes.
[[nodiscard]] inline bool can_conjugate(const any_tensor& t, blas::op op,
                                        const stored_matrix& as) noexcept {
  return op == blas::op::none || !is_complex(t.type()) || as.transposed;
}
/// True where what depends on the order of d is as cuBLASLt needs it: operands of the epilogue,
/// conjugation, and extents that are multiples. Operands may still be refused for other reasons.
[[nodiscard]] inline bool takes_in_order(const matmul& r, blas::order of_d) noexcept {
  const column_major_product p = lay_out(r, of_d);
  if (!p.swapped && (has_bias(r.epilogue) || sums_rows(r.epilogue))) return false;
  if (has_aux(r.epilogue) && r.aux.rank() == r.d.rank()) {
    const aux_extents wanted(p, is_relu(r.epilogue));
    const int rows = r.aux.rank() - 2;
    if (r.aux.extent(rows) != wanted.rows || r.aux.extent(rows + 1) != wanted.columns ||
        !aux_is_laid_out(r, p)) {
      return false;
    }
  }
  const auto types = types_of(r);
  return can_conjugate(r.a, r.op_a, p.swapped ? p.right : p.left) &&
         can_conjugate(r.b, r.op_b, p.swapped ? p.left : p.right) &&
         (!types || p.m % extent_unit(types->computed) == 0);
}

/// The order of d, which c has too. Nothing where neither will do. An extent of one fits both: then
/// the one in which cuBLASLt takes all of the request, and of two such the one along the longer
/// extent, where kernels find more to do side by side.
[[nodiscard]] inline std::optional<blas::order> order_of_d(const matmul& r) noexcept {
  const auto fits = [&](blas::order o) {
    return blas::leading_dimension(r.d, o) != 0 &&
           (r.c.null() || blas::leading_dimension(r.c, o) != 0);
  };
  const bool both = fits(blas::order::row_major) && fits(blas::order::column_major);
  if (!both) {
    if (fits(blas::order::row_major)) return blas::order::row_major;
    if (fits(blas::order::column_major)) return blas::order::column_major;
    return std::nullopt;
  }
  const int rows = r.d.rank() - 2;
  const auto longer =
      r.d.extent(rows + 1) >= r.d.extent(rows) ? blas::order::row_major : blas::order::column_major;
  return takes_in_order(r, longer) || !takes_in_order(r, blas::other(longer)) ? longer
                                                                              : blas::other(longer);
}
/// How cuBLASLt takes a request whose shapes fit.
[[nodiscard]] inline column_major_product lay_out(const matmul& r) noexcept {
  return lay_out(r, order_of_d(r).value_or(blas::order::row_major));
}

}  // namespace troupe::blaslt
