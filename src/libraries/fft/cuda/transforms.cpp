#include "libraries/fft/cuda/transforms.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/cuda/callbacks.hpp"
#include "libraries/fft/cuda/cufft.hpp"
#include "libraries/fft/cuda/limits.hpp"
#include "libraries/fft/cuda/operand_moves.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe::cuda {
namespace {

/// A transform as cuFFT does it: which operands are in workspace, and their layouts.
struct preparation {
  bool copy_in = false;
  bool copy_out = false;
  bool in_target = false;  ///< load stores its results in the target, where they are transformed
  any_tensor in;           ///< the operands, or their shape if functions compute them
  any_tensor out;
  fft::transform what;
  advanced_layout layout;

  preparation(const fft::transform& t, const fft::request_fields& r) noexcept
      : in(r.loads() ? numbers(t, r.in, t.in_is_complex()) : r.in),
        out(r.stores() ? numbers(t, r.out, t.out_is_complex()) : r.out) {
    const bool other_type = r.out.type() != out.type();
    if (r.stores() && !other_type) out = r.out;
    in_target = r.loads() && t.kind == fft::kind::c2c;
    if (in_target) in = out;
    const fft::transform wanted = fft::lay_out(t, in, out);
    const bool apart_c2r = t.kind == fft::kind::c2r && !fft::in_place(r.in, r.out);
    // A c2r overwrites its input. Source: cuFFT documentation, "Fourier Transform Types".
    const bool loses_input = apart_c2r && !r.loads();
    const bool must_in = loses_input || (r.loads() && !in_target);
    const bool must_out = other_type || (apart_c2r && !limits::cufft::accepts_inverse_rows(wanted));
    copy_in = must_in || !aligned(t, in) || !input_fits(wanted);
    copy_out = must_out || !aligned(t, out) || !output_fits(wanted);
    if (in_target) copy_in = copy_out = copy_in || copy_out;
    // Prefer a few calls without copies, then one copy. If each operand's layout is suitable but
    // the two differ, copy both: that always fits.
    const bool may_stay = !must_in && !must_out && aligned(t, in) && aligned(t, out);
    if (may_stay && lay_out(t, false, false)) return;
    if (lay_out(t, copy_in, copy_out)) return;
    (void)lay_out(t, true, true);
  }

 private:
  static any_tensor numbers(const fft::transform& t, const any_tensor& view,
                            bool complex) noexcept {
    return fft::packed_numbers(fft::number_type(t.precision, complex), view, nullptr);
  }
  bool lay_out(const fft::transform& t, bool move_in, bool move_out) noexcept {
    const fft::transform moved = fft::lay_out(t, move_in ? packed_like(in, nullptr) : in,
                                              move_out ? packed_like(out, nullptr) : out);
    const auto fitting = advanced_layout_of(moved);
    if (!fitting) return false;
    copy_in = move_in;
    copy_out = move_out;
    what = moved;
    layout = *fitting;
    return true;
  }
};

/// Runs the plan once for each index of the outer loops.
result<void> run_all(const cufft_plan& plan, const preparation& as, std::byte* in, std::byte* out,
                     std::byte* work) {
  const auto ranks = static_cast<std::size_t>(as.layout.outer_rank);
  const std::int64_t in_bytes = fft::number_bytes(as.what.precision, as.what.in_is_complex());
  const std::int64_t out_bytes = fft::number_bytes(as.what.precision, as.what.out_is_complex());
  std::array<std::int64_t, max_rank> at{};
  for (;;) {
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (std::size_t d = 0; d < ranks; ++d) {
      from += at[d] * as.layout.outer[d].in;
      to += at[d] * as.layout.outer[d].out;
    }
    TRY(plan.run(in + from * in_bytes, out + to * out_bytes, as.what.direction, work));
    std::size_t d = ranks;
    while (d > 0 && ++at[d - 1] == as.layout.outer[d - 1].n)
      at[--d] = 0;
    if (d == 0) return {};
  }
}

/// Runs functions as passes before and after the transform.
result<void> run_in_passes(const fft::transform& t, const fft::request_fields& r, lane& where) {
  const preparation as(t, r);
  const auto plan = TRY(plan_for(where, as.what, as.layout));

  // Functions run as maps, which need no workspace.
  call_frame c(where);
  const bool own_in = as.copy_in && !as.in_target;
  const auto own_target = c.bytes(as.copy_out ? bytes_of(as.out) : 0);
  const auto own_source = c.bytes(own_in ? bytes_of(as.in) : 0);
  c.share(plan->work_bytes());
  TRY(c.begin());
  const any_tensor target = as.copy_out ? packed_like(as.out, own_target) : r.out;
  const any_tensor source = as.in_target ? target : own_in ? packed_like(as.in, own_source) : r.in;
  if (r.loads()) {
    TRY(enqueue_map(fft::load_map(r, source), where));
  } else if (own_in)
    TRY(enqueue_copy(r.in, source, where.stream()));
  TRY(run_all(*plan, as, source.address(), target.address(), c.shared()));
  return enqueue_finish(t, r, target, as.copy_out, where);
}

}  // namespace

result<void> transform_all(const fft::transform& t, const fft::request_fields& r, lane& where) {
  if (t.empty) return {};
  if (!r.loads() && !r.stores()) return run_in_passes(t, r, where);
  return run_with_functions(t, r, where, run_in_passes);
}

}  // namespace troupe::cuda
