// cuFFT as documented, and the kernels beside it, on the processor and by definition: tests the
// executors' calls on any machine. Unkind if allowed: it uses its work area, and overwrites
// everything that it may.

#include "libraries/fft/cuda/cufft.hpp"

#include "conformance/element.hpp"
#include "conformance/fft/fourier_reference.hpp"
#include "libraries/fft/cuda/callbacks.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

using conformance::number;

struct planned {
  fft::transform what;
  advanced_layout as;
};
/// Every plan there ever was, for all lanes: a plan's handle is its number.
class planned_list {
 public:
  cufftHandle add(const planned& p) {
    const std::lock_guard held(lock_);
    all_.push_back(p);
    return static_cast<cufftHandle>(all_.size() - 1);
  }
  const planned& operator[](cufftHandle handle) {
    const std::lock_guard held(lock_);
    return all_[static_cast<std::size_t>(handle)];
  }

 private:
  std::mutex lock_;
  std::deque<planned> all_;  // so that elements do not move
};
planned_list& all_planned() {
  static planned_list all;
  return all;
}

constexpr std::size_t work_area = 300;  // no multiple of any alignment

std::vector<std::int64_t> extents_of(const fft::transform& t, bool complex) {
  std::vector<std::int64_t> extents;
  extents.reserve(static_cast<std::size_t>(t.rank));
  for (int d = 0; d < t.rank; ++d)
    extents.push_back(t.extent(d, complex));
  return extents;
}

/// One operand of a plan: the places and the type of its numbers.
class operand_of_plan {
 public:
  operand_of_plan(const planned& p, bool complex, const advanced_side& lies, std::byte* first)
      : lies_(lies),
        extents_(extents_of(p.what, complex)),
        precision_(p.what.precision),
        complex_(complex),
        first_(first) {
    expect_documented(p.as.batch);
  }

  [[nodiscard]] std::vector<number> load(std::int64_t transform) const {
    std::vector<number> values;
    for_each(transform, [&](std::byte* at) {
      const std::int64_t part = size_of(precision_);
      const double real = conformance::load(precision_, at).real();
      values.emplace_back(real, complex_ ? conformance::load(precision_, at + part).real() : 0);
    });
    return values;
  }

  void store(std::int64_t transform, const std::vector<number>& values) const {
    std::size_t next = 0;
    for_each(transform, [&](std::byte* at) {
      const number value = values[next++];
      conformance::store(precision_, at, value.real());
      if (complex_) conformance::store(precision_, at + size_of(precision_), value.imag());
      const std::int64_t n = extents_.back();
      if (!whole_rows_ || static_cast<std::int64_t>(next) % n != 0) return;
      for (std::int64_t behind = 1; behind <= in_place_row(n) - n; ++behind)
        conformance::store(precision_, at + behind * size_of(precision_), 0);
    });
  }

  /// cuFFT's behaviour out of place: rows of real numbers that are as far apart as in place are
  /// stored with the padding behind them.
  void store_rows_as_in_place(const planned& p) {
    const std::int64_t row = in_place_row(extents_.back());
    const bool among_axes = p.what.rank > 1 && lies_.embed[extents_.size() - 1] == row;
    const bool one_row = std::all_of(extents_.begin(), extents_.end() - 1,
                                     [](std::int64_t extent) { return extent == 1; });
    const bool among_batch = one_row && p.as.batch > 1 && lies_.distance == row;
    whole_rows_ = !complex_ && lies_.stride == 1 && (among_axes || among_batch);
  }

 private:
  static std::int64_t in_place_row(std::int64_t n) { return 2 * (n / 2 + 1); }

  void expect_documented(std::int64_t batch) const {
    const auto aligned = static_cast<std::uintptr_t>(2 * size_of(precision_));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first_) % aligned, 0u);
    EXPECT_GE(lies_.stride, 1);
    EXPECT_TRUE(batch <= 1 || lies_.distance >= 1);
    for (std::size_t d = 1; d < extents_.size(); ++d)
      EXPECT_GE(lies_.embed[d], extents_[d]);
    EXPECT_TRUE(!fft::is_half(precision_) || complex_ || lies_.stride == 1);
  }

  template <class F>
  void for_each(std::int64_t transform, F f) const {
    std::int64_t count = 1;
    for (const std::int64_t n : extents_)
      count *= n;
    for (std::int64_t flat = 0; flat < count; ++flat) {
      std::int64_t rest = flat;
      std::int64_t place = 0;
      std::int64_t step = 1;
      for (std::size_t d = extents_.size(); d-- > 0;) {
        place += rest % extents_[d] * step;
        rest /= extents_[d];
        step *= lies_.embed[d];
      }
      const std::int64_t at = transform * lies_.distance + place * lies_.stride;
      f(first_ + at * fft::number_bytes(precision_, complex_));
    }
  }

  const advanced_side& lies_;
  std::vector<std::int64_t> extents_;
  dtype precision_;
  bool complex_;
  bool whole_rows_ = false;
  std::byte* first_;
};

std::vector<number> transformed(const planned& p, const std::vector<number>& x,
                                fft::direction direction) {
  const std::vector<std::int64_t> all = extents_of(p.what, false);
  switch (p.what.kind) {
    case fft::kind::c2c:
      return conformance::transformed(x, all, p.what.rank, direction);
    case fft::kind::r2c:
      return conformance::halved(
          conformance::transformed(x, all, p.what.rank, fft::direction::forward), all);
    case fft::kind::c2r:
      return conformance::transformed(conformance::completed(x, all, p.what.rank), all, p.what.rank,
                                      fft::direction::inverse);
  }
  return {};
}

/// In place, each number of one operand lies where it lies in the other, a real one on half of a
/// complex one.
void expect_on_each_other(const planned& p) {
  const bool halved = p.what.kind != fft::kind::c2c;
  const advanced_side& complex = p.what.in_is_complex() ? p.as.in : p.as.out;
  const advanced_side& other = p.what.in_is_complex() ? p.as.out : p.as.in;
  EXPECT_EQ(other.stride, complex.stride);
  EXPECT_TRUE(!halved || complex.stride == 1);
  EXPECT_TRUE(p.as.batch == 1 || other.distance == complex.distance * (halved ? 2 : 1));
  const auto last = static_cast<std::size_t>(p.what.rank - 1);
  for (std::size_t d = 1; d <= last; ++d) {
    const bool stepped_over = p.what.axes[d - 1].n > 1;
    EXPECT_TRUE(!stepped_over ||
                other.embed[d] == complex.embed[d] * (halved && d == last ? 2 : 1));
  }
}

template <class F>
void for_each_place(const strided_map& map, const std::byte* from, std::byte* to, int d, F f) {
  if (d < 0) return f(from, to);
  for (std::int64_t i = 0; i < map.dimensions[d].extent; ++i) {
    for_each_place(map, from + i * map.dimensions[d].from, to + i * map.dimensions[d].to, d - 1, f);
  }
}

}  // namespace

result<cufft_plan> cufft_plan::make(const fft::transform& t, const advanced_layout& as,
                                    cudaStream_t stream, std::span<const cufft_callback>) {
  cufft_plan made(all_planned().add({t, as}), stream);
  made.work_bytes_ = work_area;
  return made;
}

cufft_plan::~cufft_plan() { handle_ = CUFFT_PLAN_NULL; }

result<void> cufft_plan::run(std::byte* in, std::byte* out, fft::direction direction,
                             std::byte* work) const {
  const planned& p = all_planned()[handle_];
  const operand_of_plan from(p, p.what.in_is_complex(), p.as.in, in);
  operand_of_plan to(p, p.what.out_is_complex(), p.as.out, out);
  if (in == out) {
    expect_on_each_other(p);
  } else {
    to.store_rows_as_in_place(p);
  }
  std::memset(work, 0xAB, work_area);
  // All at once, as on a device: none is stored before the last one is loaded.
  std::vector<std::vector<number>> results;
  for (std::int64_t i = 0; i < p.as.batch; ++i) {
    const std::vector<number> x = from.load(i);
    results.push_back(transformed(p, x, direction));
    if (p.what.kind == fft::kind::c2r && in != out) {
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      from.store(i, std::vector<number>(x.size(), number(nan, nan)));
    }
  }
  for (std::int64_t i = 0; i < p.as.batch; ++i)
    to.store(i, results[static_cast<std::size_t>(i)]);
  return {};
}

result<const cufft_plan*> plan_for(lane& where, const fft::transform& t,
                                   const advanced_layout& as) {
  thread_local std::optional<cufft_plan> last;
  auto made = cufft_plan::make(t, as, where.stream());
  last.emplace(*std::move(made));
  return &*last;
}

// Callbacks are code for a GPU.
result<void> run_with_functions(const fft::transform& t, const fft::request_fields& r, lane& where,
                                transform_executor in_passes) {
  return in_passes(t, r, where);
}

result<void> enqueue_copy(const strided_map& map, unit moved, const std::byte* from, std::byte* to,
                          cudaStream_t) {
  for_each_place(map, from, to, map.rank - 1, [&](const std::byte* source, std::byte* target) {
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(source) % static_cast<std::uintptr_t>(moved.alignment),
        0u);
    std::memcpy(target, source, static_cast<std::size_t>(moved.bytes));
  });
  return {};
}

result<void> enqueue_scale(const any_tensor& t, double factor, cudaStream_t) {
  const strided_map map(elementwise::strided_loops(t, t), false);
  for_each_place(map, t.address(), t.address(), map.rank - 1, [&](const std::byte*, std::byte* at) {
    conformance::store(t.type(), at, conformance::load(t.type(), at) * factor);
  });
  return {};
}

}  // namespace troupe::cuda
