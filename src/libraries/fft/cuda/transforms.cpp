#include "libraries/fft/cuda/transforms.hpp"

#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "backend/operation_of.hpp"
#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/cuda/cufft.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe::cuda {
namespace {

// What runs functions. Set once, while the plugin is loaded.
operation_of<elementwise::map> run_map;
const plugin_operations finds_map([](operation_table& table) { run_map.find_in(table); });

/// cuFFT loads real numbers two at a time, as it does complex ones. Source: cuFFT documentation,
/// cufftExecR2C.
bool aligned(const fft::transform& t, const any_tensor& view) noexcept {
  const auto wanted = static_cast<std::uintptr_t>(fft::number_bytes(t.precision, true));
  return reinterpret_cast<std::uintptr_t>(view.address()) % wanted == 0;
}

/// An operand's elements side by side, row-major.
any_tensor packed_like(const any_tensor& t, std::byte* at) noexcept {
  return any_tensor::unowned(at, t.type(), shape(t.extents()));
}
std::int64_t bytes_of(const any_tensor& t) noexcept { return t.count() * size_of(t.type()); }

result<void> enqueue_copy(const any_tensor& from, const any_tensor& to, cudaStream_t stream) {
  elementwise::strided_loops loops(from, to);
  const unit moved = choose_unit(loops, size_of(to.type()), from.address(), to.address());
  return enqueue_copy(strided_map(loops, true), moved, from.address(), to.address(), stream);
}

/// A transform as cuFFT will do it: which operands it finds in workspace, and how they lie.
struct preparation {
  bool copy_in = false;
  bool copy_out = false;
  bool in_target = false;  ///< what load gives is transformed where the results are to be
  any_tensor in;           ///< the operands, or the shape of what functions make of them
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
    const bool must_out = other_type || (apart_c2r && writes_behind_rows(wanted));
    copy_in = must_in || !aligned(t, in) || !input_fits(wanted);
    copy_out = must_out || !aligned(t, out) || !output_fits(wanted);
    if (in_target) copy_in = copy_out = copy_in || copy_out;
    // A few calls that copy nothing are the best; then one copy. Where each operand is well laid
    // out but not as the other is, both are copied: that always fits.
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

/// Calls the plan once for each index of the outer loops.
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
    if (auto done = plan.run(in + from * in_bytes, out + to * out_bytes, as.what.direction, work);
        !done) {
      return done;
    }
    std::size_t d = ranks;
    while (d > 0 && ++at[d - 1] == as.layout.outer[d - 1].n)
      at[--d] = 0;
    if (d == 0) return {};
  }
}

/// Scales the sums, has store compute of them, and moves them to `out`.
result<void> enqueue_finish(const fft::transform& t, const fft::request_fields& r,
                            const any_tensor& target, bool copies, lane& where) {
  std::optional<elementwise::function> scaled;
  if (t.factor != 1) {
    if (r.stores()) scaled = fft::scaled_store(r, t.factor, t.out_is_complex());
    if (!scaled) {
      if (auto done = enqueue_scale(target, t.factor, where.stream()); !done) return done;
    }
  }
  if (r.stores()) {
    elementwise::map last = fft::store_map(r, target);
    if (scaled) last.what = *std::move(scaled);
    return run_map(last, where);
  }
  return copies ? enqueue_copy(target, r.out, where.stream()) : result<void>();
}

}  // namespace

result<void> transform_all(const fft::transform& t, const fft::request_fields& r, lane& where) {
  if (t.empty) return {};
  const preparation as(t, r);
  auto plan = plan_for(where, as.what, as.layout);
  if (!plan) return std::move(plan).error();

  // One piece for all: functions run as maps, which ask for no workspace of their own.
  pieces all;
  const std::size_t work_at = all.add(static_cast<std::int64_t>((*plan)->work_bytes()));
  const std::size_t out_at = all.add(as.copy_out ? bytes_of(as.out) : 0);
  const bool own_in = as.copy_in && !as.in_target;
  const std::size_t in_at = all.add(own_in ? bytes_of(as.in) : 0);
  std::byte* room = nullptr;
  if (all.bytes() > 0) {
    auto memory = where.workspace(all.bytes());
    if (!memory) return std::move(memory).error();
    room = memory->data();
  }
  const any_tensor target = as.copy_out ? packed_like(as.out, room + out_at) : r.out;
  const any_tensor source = as.in_target ? target
                            : own_in     ? packed_like(as.in, room + in_at)
                                         : r.in;
  if (r.loads()) {
    if (auto done = run_map(fft::load_map(r, source), where); !done) return done;
  } else if (own_in) {
    if (auto done = enqueue_copy(r.in, source, where.stream()); !done) return done;
  }
  if (auto done = run_all(**plan, as, source.address(), target.address(), room + work_at); !done) {
    return done;
  }
  return enqueue_finish(t, r, target, as.copy_out, where);
}

}  // namespace troupe::cuda
