// The solver's own kernels on the host, for the executors that need nothing else.

#include "base/try.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cuda/kernels/banded.cuh"
#include "libraries/solver/cuda/kernels/hermitian_solve.cuh"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/pivoted_qr.cuh"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/shared/block_pivots.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

namespace troupe::cuda {
namespace {

/// The threads of a block, one after the other, in another order at each step: if one reads in a
/// step in which another one writes, results change.
class emulated_block {
 public:
  template <class Step>
  void each(const Step& step) const {
    order_ = order_ * 5 + 3;
    for (unsigned i = 0; i < matrix_threads; ++i)
      step(static_cast<int>((i * (2 * order_ + 1) + order_) % matrix_threads));
  }

 private:
  mutable unsigned order_ = 0;
};

std::string text_of(const late_words& words) {
  struct content {
    char letters[63];
    std::uint8_t count;
  };
  const auto plain = std::bit_cast<content>(words);
  return {plain.letters, plain.count};
}

void copy_places(const strided_map& map, const std::byte* from, std::byte* to, int d,
                 std::size_t bytes) {
  if (d < 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  const strided_map::dimension& along = map.dimensions[d];
  for (std::int64_t i = 0; i < along.extent; ++i)
    copy_places(map, from + i * along.from, to + i * along.to, d - 1, bytes);
}

/// Calls `f` with a block, its memory, and a value of the type of elements in kernels.
template <class F>
result<void> in_block(dtype type, const F& f) {
  return for_classic_type(type, [&]<class T>(T) -> result<void> {
    using D = device_t<T>;
    const auto shared = std::make_unique<block_memory<D>>();
    f(emulated_block(), *shared, D{});
    return {};
  });
}

}  // namespace

result<void> factor_pivoted(const matrices& a, const pivoted_arrays& to, lane&) {
  return in_block(a.type, [&]<class D>(const emulated_block& block, block_memory<D>& shared, D) {
    for (std::int64_t b = 0; b < a.count; ++b)
      factor_by_block(block, shared, pivoted_columns<D>(a, to, b));
  });
}

result<void> solve_by_lu(const band_systems& s, lane&) {
  return in_block(s.x.type, [&]<class D>(const emulated_block& block, block_memory<D>& shared, D) {
    for (std::int64_t b = 0; b < s.x.count; ++b)
      s.info[b] = solve_by_lu(block, shared, band_system<D>(s.band, s.x, s.kl, s.ku, b));
  });
}

result<void> solve_by_cholesky(const band_systems& s, bool upper, lane&) {
  return in_block(s.x.type, [&]<class D>(const emulated_block& block, block_memory<D>& shared, D) {
    for (std::int64_t b = 0; b < s.x.count; ++b) {
      const band_system<D> one(s.band, s.x, s.kl, s.ku, b);
      s.info[b] = upper ? solve_by_cholesky<true>(block, shared, one)
                        : solve_by_cholesky<false>(block, shared, one);
    }
  });
}

result<void> factor_hermitian(const matrices& a, bool upper, std::int64_t* pivots,
                              std::int32_t* info, lane&) {
  return in_block(a.type, [&]<class D>(const emulated_block& block, block_memory<D>& shared, D) {
    for (std::int64_t b = 0; b < a.count; ++b)
      info[b] = factor_hermitian(block, shared, hermitian_matrix<D>(a, upper, pivots, b));
  });
}

result<void> solve_indefinite(const matrices& factor, indefinite_form form, std::int64_t* pivots,
                              const matrices& x, lane&) {
  return in_block(x.type, [&]<class D>(const emulated_block& block, block_memory<D>& shared, D) {
    for (std::int64_t b = 0; b < x.count; ++b) {
      const hermitian_matrix<D> a(factor, form.upper, pivots, b, form.symmetric);
      solve_forward(block, a, right_sides<D>(x, b));
      solve_backward(block, shared, a, right_sides<D>(x, b));
    }
  });
}

// The executors of these kernels ask for no other change.
result<void> shape_triangle(const matrices& m, const triangle_shape& as, lane&) {
  return for_classic_type(m.type, [&]<class T>(T) -> result<void> {
    for (std::int64_t b = 0; b < m.count; ++b) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        for (std::int64_t i = 0; i < m.rows; ++i) {
          if (as.upper ? i > j : i < j) m.at<T>(b)[j * m.ld + i] = T{};
        }
      }
    }
    return {};
  });
}

result<void> admit_block_pivots(const any_tensor& pivots, std::int64_t* to,
                                std::uint64_t* first_bad, lane&) {
  const std::int64_t n = pivots.extent(pivots.rank() - 1);
  const auto* const given = pivots.data<std::int64_t>();
  *first_bad = ~std::uint64_t{0};
  for (std::int64_t first = 0; first < pivots.count(); first += n) {
    const std::int64_t bad = solver::first_bad_block_pivot(given + first, n);
    for (std::int64_t i = 0; i < n; ++i)
      to[first + i] = bad == n ? given[first + i] : i + 1;
    if (bad < n) *first_bad = std::min(*first_bad, static_cast<std::uint64_t>(first + bad));
  }
  return {};
}

result<void> report_block_pivots(const any_tensor& pivots, const std::uint64_t* first_bad,
                                 late_failure, lane&) {
  if (*first_bad == ~std::uint64_t{0}) return {};
  const auto flat = static_cast<std::int64_t>(*first_bad);
  const std::int64_t n = pivots.extent(pivots.rank() - 1);
  return error{.code = errc::invalid_argument,
               .message = (pivots.rank() > 1 ? "matrix " + std::to_string(flat / n) + ": " : "") +
                          "pivots[" + std::to_string(flat % n) + "] is " +
                          std::to_string(pivots.data<std::int64_t>()[flat]) +
                          ", not within 1 and " + std::to_string(n) +
                          std::string(solver::not_a_pair)};
}

result<void> clear(const any_tensor& t, lane&) {
  if (!t.null())
    std::memset(t.address(), 0, static_cast<std::size_t>(t.count() * size_of(t.type())));
  return {};
}

// The executor itself fails, which is its last work.
result<void> report(const outcomes& found, const any_tensor& info, const any_tensor& a,
                    late_failure, lane&) {
  const std::string before = text_of(found.words.before);
  const std::string after = text_of(found.words.after);
  cpu::outcomes ended(a, info);
  for (std::int64_t b = 0; b < found.count; ++b)
    ended.note(b, found.info[b], {.before = before, .after = after});
  return ended.verdict();
}

result<void> enqueue_copy(const strided_map& map, unit moved, const std::byte* from, std::byte* to,
                          cudaStream_t) {
  copy_places(map, from, to, map.rank - 1, static_cast<std::size_t>(moved.bytes));
  return {};
}

}  // namespace troupe::cuda
