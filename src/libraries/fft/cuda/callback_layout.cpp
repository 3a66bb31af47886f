#include "libraries/fft/cuda/callback_layout.hpp"

#include "libraries/fft/cuda/limits.hpp"
#include "libraries/fft/cuda/operand_moves.hpp"

#include <string>
#include <utility>

namespace troupe::cuda {
namespace {

error refusal(std::string why) {
  return error{.code = errc::unsupported, .message = std::move(why)};
}

bool lay_out(callback_layout& made, const fft::transform& t, const any_tensor& in,
             const any_tensor& out) {
  made.what = fft::lay_out(t, in, out);
  const auto fitting = advanced_layout_of(made.what);
  // A callback's offset is relative to its call.
  if (!fitting || fitting->outer_rank > 0) return false;
  made.layout = *fitting;
  return true;
}

}  // namespace

result<callback_layout> callback_layout::of(const fft::transform& t, const fft::request_fields& r) {
  callback_layout made;
  made.in_place = fft::in_place(r.in, r.out);
  if (made.in_place) {
    // In place, one call must transform the views as they are: there are no temporary numbers.
    made.in = r.in;
    made.out = r.out;
    if (aligned(t, r.in) && aligned(t, r.out) && lay_out(made, t, r.in, r.out)) return made;
    return refusal("cuFFT does not transform it in place in one call");
  }
  const auto numbers = [&](const any_tensor& view, bool complex) {
    return fft::packed_numbers(fft::number_type(t.precision, complex), view, nullptr);
  };
  made.in = r.loads() ? numbers(r.in, t.in_is_complex()) : r.in;
  made.out = r.stores() ? numbers(r.out, t.out_is_complex()) : r.out;
  // The passes name the source of both rules.
  const bool loses_input = t.kind == fft::kind::c2r;
  const bool must_copy_in = !r.loads() && (loses_input || !aligned(t, r.in));
  const bool must_copy_out =
      !r.stores() && (!aligned(t, r.out) ||
                      (t.kind == fft::kind::c2r &&
                       !limits::cufft::accepts_inverse_rows(fft::lay_out(t, made.in, made.out))));
  const auto fits = [&](bool copy_in, bool copy_out) {
    made.copy_in = copy_in;
    made.copy_out = copy_out;
    return lay_out(made, t, copy_in ? packed_like(r.in, nullptr) : made.in,
                   copy_out ? packed_like(r.out, nullptr) : made.out);
  };
  if (!fits(must_copy_in, must_copy_out) && !fits(!r.loads(), !r.stores())) {
    return refusal("cuFFT does not transform it in one call");
  }
  made.room_in = made.copy_in || (r.loads() && loses_input);
  // With several passes, cuFFT writes all but the last to its output, too.
  const bool takes_numbers = r.out.type() == made.out.type() && r.out.packed() && aligned(t, r.out);
  made.room_out = made.copy_out || (r.stores() && !takes_numbers);
  return made;
}

}  // namespace troupe::cuda
