#include "libraries/fft/cpu/fftw.hpp"

#include "libraries/fft/shared/plan_cache.hpp"

#include <array>
#include <mutex>
#include <utility>

namespace troupe::cpu {
namespace {

template <class Real>
typename fftw_of<Real>::complex* complex_at(std::byte* address) noexcept {
  return reinterpret_cast<typename fftw_of<Real>::complex*>(address);
}
template <class Real>
Real* real_at(std::byte* address) noexcept {
  return reinterpret_cast<Real*>(address);
}

/// The planner of one precision and the plans it has made, for all lanes. FFTW allows one thread at
/// a time to make or destroy plans, so both are done under the lock; plans run without it.
template <class Real>
struct planner {
  // Recursive, because a plan that the cache drops is destroyed while another one is added.
  std::recursive_mutex lock;
  fft::plan_cache<fftw_plan_of<Real>> plans;
};

template <class Real>
planner<Real>& the_planner() {
  // Never destroyed: a lane's thread may still hold a plan when the program's statics end.
  static planner<Real>& one = *new planner<Real>;
  return one;
}

bool aligned(int off) noexcept { return off == 0; }

template <class Real>
typename fftw_of<Real>::plan make_plan(const fft::transform& t, std::byte* in, std::byte* out,
                                       unsigned flags) {
  using library = fftw_of<Real>;
  std::array<fftw_iodim64, 3> axes{};
  std::array<fftw_iodim64, max_rank> batch{};
  const auto dimension_of = [](const fft::loop& one) {
    return fftw_iodim64{.n = one.n, .is = one.in, .os = one.out};
  };
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.rank); ++d)
    axes[d] = dimension_of(t.axes[d]);
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.batches); ++d)
    batch[d] = dimension_of(t.batch[d]);
  switch (t.kind) {
    case fft::kind::c2c:
      return library::plan_c2c(
          t.rank, axes.data(), t.batches, batch.data(), complex_at<Real>(in), complex_at<Real>(out),
          t.direction == fft::direction::forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    case fft::kind::r2c:
      return library::plan_r2c(t.rank, axes.data(), t.batches, batch.data(), real_at<Real>(in),
                               complex_at<Real>(out), flags);
    case fft::kind::c2r:
      return library::plan_c2r(t.rank, axes.data(), t.batches, batch.data(), complex_at<Real>(in),
                               real_at<Real>(out), flags);
  }
  return nullptr;
}

}  // namespace

template <class Real>
fftw_plan_of<Real> plan_for(const fft::transform& t, std::byte* in, std::byte* out,
                            input afterwards) {
  // Nothing is measured: the request waits, and memory must not be touched before it runs.
  unsigned flags = FFTW_ESTIMATE;
  flags |= afterwards == input::kept ? FFTW_PRESERVE_INPUT : FFTW_DESTROY_INPUT;
  const auto alignment_of = fftw_of<Real>::alignment_of;
  if (!aligned(alignment_of(real_at<Real>(in))) || !aligned(alignment_of(real_at<Real>(out)))) {
    flags |= FFTW_UNALIGNED;
  }
  fft::plan_key key;
  key.add(t);
  key.add(static_cast<std::int64_t>(flags));
  key.add(static_cast<std::int64_t>(in == out));

  planner<Real>& here = the_planner<Real>();
  const std::lock_guard held(here.lock);
  if (const fftw_plan_of<Real>* kept = here.plans.find(key)) return *kept;
  auto* const made = make_plan<Real>(t, in, out, flags);
  if (made == nullptr) return nullptr;
  fftw_plan_of<Real> plan(made, [](auto* dropped) {
    const std::lock_guard planner_held(the_planner<Real>().lock);
    fftw_of<Real>::destroy(dropped);
  });
  return here.plans.add(key, std::move(plan), fft::plan_bytes(t));
}

template <class Real>
void run(const fftw_plan_of<Real>& plan, const fft::transform& t, std::byte* in, std::byte* out) {
  using library = fftw_of<Real>;
  switch (t.kind) {
    case fft::kind::c2c:
      return library::run_c2c(plan.get(), complex_at<Real>(in), complex_at<Real>(out));
    case fft::kind::r2c:
      return library::run_r2c(plan.get(), real_at<Real>(in), complex_at<Real>(out));
    case fft::kind::c2r:
      return library::run_c2r(plan.get(), complex_at<Real>(in), real_at<Real>(out));
  }
}

template fftw_plan_of<float> plan_for<float>(const fft::transform&, std::byte*, std::byte*, input);
template fftw_plan_of<double> plan_for<double>(const fft::transform&, std::byte*, std::byte*,
                                               input);
template void run<float>(const fftw_plan_of<float>&, const fft::transform&, std::byte*, std::byte*);
template void run<double>(const fftw_plan_of<double>&, const fft::transform&, std::byte*,
                          std::byte*);

}  // namespace troupe::cpu
