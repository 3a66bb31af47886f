#include "libraries/fft/cuda/advanced_layout.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using fft::loop;
using fft::transform;

// Copies to workspace and back cost less than many calls that each do a part of the batch.
constexpr std::int64_t most_calls = 16;

using strides_of = std::int64_t loop::*;

bool is_complex(const transform& t, strides_of side) noexcept {
  return side == &loop::in ? t.in_is_complex() : t.out_is_complex();
}

/// The axes of one operand, if each steps over whole rows of the next.
std::optional<advanced_side> embedded(const transform& t, strides_of side) noexcept {
  const bool complex = is_complex(t, side);
  const auto axis = [&](int d) -> const loop& { return t.axes[static_cast<std::size_t>(d)]; };
  const int last = t.rank - 1;
  advanced_side made;
  made.stride = t.extent(last, complex) > 1 ? axis(last).*side : 1;
  // Halves that are real must lie side by side. Source: cuFFT documentation, "Half Precision cuFFT
  // Transforms".
  if (made.stride < 1 || (made.stride > 1 && !complex && fft::is_half(t.precision))) {
    return std::nullopt;
  }
  // The coefficients of an r2c of two bf16 come out side by side, whatever their stride. Seen with
  // cuFFT 12.0, on an H200.
  const bool forced_together = t.kind == fft::kind::r2c && t.precision == dtype::bf16 &&
                               side == &loop::out && axis(last).n == 2;
  if (forced_together && made.stride > 1) return std::nullopt;
  std::int64_t inner = made.stride;  // between neighbours of the axis within
  for (int d = last; d > 0; --d) {
    const std::int64_t extent = t.extent(d, complex);
    const std::int64_t step = axis(d - 1).n > 1 ? axis(d - 1).*side : inner * extent;
    const auto place = static_cast<std::size_t>(d);
    made.embed[place] = step / inner;
    if (step % inner != 0 || made.embed[place] < extent) return std::nullopt;
    inner = step;
  }
  made.embed[0] = t.extent(0, complex);
  return made;
}

/// All transforms of this operand lie at one distance from each other.
bool equidistant(const transform& t, strides_of side) noexcept {
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.batches); ++d) {
    if (t.batch[d].*side < 1) return false;
    if (d > 0 && t.batch[d - 1].*side != t.batch[d].*side * t.batch[d].n) return false;
  }
  return true;
}

/// cuFFT wants real numbers where a complex one could lie, too. Source: cuFFT documentation,
/// cufftExecR2C.
bool stays_aligned(const transform& t, const loop& calls) noexcept {
  return (t.in_is_complex() || calls.in % 2 == 0) && (t.out_is_complex() || calls.out % 2 == 0);
}

}  // namespace

bool input_fits(const transform& t) noexcept {
  return embedded(t, &loop::in).has_value() && equidistant(t, &loop::in);
}
bool output_fits(const transform& t) noexcept {
  return embedded(t, &loop::out).has_value() && equidistant(t, &loop::out);
}

bool writes_behind_rows(const transform& t) noexcept {
  const auto last = t.axes.begin() + (t.rank - 1);
  if (t.kind != fft::kind::c2r) return false;
  const std::int64_t in_place = 2 * (last->n / 2 + 1);
  // Rows alone are written so, whichever dimension counts them; of a batch of matrices it is none.
  const auto counts_rows = [&](const loop& one) { return one.n > 1 && one.out == in_place; };
  const bool one_row =
      std::all_of(t.axes.begin(), last, [](const loop& one) { return one.n == 1; });
  return std::any_of(t.axes.begin(), last, counts_rows) ||
         (one_row && std::any_of(t.batch.begin(), t.batch.begin() + t.batches, counts_rows));
}

std::optional<advanced_layout> advanced_layout_of(const transform& t) noexcept {
  const auto in = embedded(t, &loop::in);
  const auto out = embedded(t, &loop::out);
  if (!in || !out) return std::nullopt;
  advanced_layout made{.in = *in, .out = *out};
  if (t.batches == 0) return made;
  // The longest one goes into the plan.
  const auto loops = t.batch.begin();
  const auto longest = std::max_element(loops, loops + t.batches,
                                        [](const loop& a, const loop& b) { return a.n < b.n; });
  if (longest->in < 1) return std::nullopt;
  made.batch = longest->n;
  made.in.distance = longest->in;
  made.out.distance = longest->out;
  std::int64_t calls = 1;
  for (auto one = loops; one != loops + t.batches; ++one) {
    if (one == longest) continue;
    calls *= one->n;
    if (calls > most_calls || !stays_aligned(t, *one)) return std::nullopt;
    made.outer[static_cast<std::size_t>(made.outer_rank++)] = *one;
  }
  return made;
}

}  // namespace troupe::cuda
