#include "libraries/fft/cuda/advanced_layout.hpp"

#include "libraries/fft/cuda/limits.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using fft::loop;
using fft::transform;

// Beyond this many calls for parts of the batch, copies to workspace and back are cheaper.
constexpr std::int64_t most_calls = 16;

using strides_of = std::int64_t loop::*;

bool is_complex(const transform& t, strides_of side) noexcept {
  return side == &loop::in ? t.in_is_complex() : t.out_is_complex();
}

/// The axes of one operand, if the stride of each covers a whole number of rows of the next.
std::optional<advanced_side> embedded(const transform& t, strides_of side) noexcept {
  const bool complex = is_complex(t, side);
  const auto axis = [&](int d) -> const loop& { return t.axes[static_cast<std::size_t>(d)]; };
  const int last = t.rank - 1;
  advanced_side made;
  made.stride = t.extent(last, complex) > 1 ? axis(last).*side : 1;
  if (made.stride < 1 ||
      !limits::cufft::accepts_stride(t, side == &loop::out, complex, axis(last).n, made.stride)) {
    return std::nullopt;
  }
  std::int64_t inner = made.stride;  // between neighbours of the inner axis
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

/// True if all transforms of this operand are equally far apart.
bool equidistant(const transform& t, strides_of side) noexcept {
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.batches); ++d) {
    if (t.batch[d].*side < 1) return false;
    if (d > 0 && t.batch[d - 1].*side != t.batch[d].*side * t.batch[d].n) return false;
  }
  return true;
}

/// cuFFT needs real numbers aligned like complex ones. Source: cuFFT documentation, cufftExecR2C.
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

std::optional<advanced_layout> advanced_layout_of(const transform& t) noexcept {
  const auto in = embedded(t, &loop::in);
  const auto out = embedded(t, &loop::out);
  if (!in || !out) return std::nullopt;
  advanced_layout made{.in = *in, .out = *out};
  if (t.batches == 0) return made;
  // The plan takes the longest loop.
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
