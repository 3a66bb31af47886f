// The solver's own kernels on the host, for the executors that need nothing else.

#include "base/try.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cuda/kernels/banded.cuh"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/pivoted_qr.cuh"

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
