#include "libraries/fft/cuda/callback_plan.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/elementwise/cuda/compiled/compilation.hpp"
#include "libraries/elementwise/cuda/kernel_plan.hpp"
#include "libraries/fft/cuda/operand_moves.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using elementwise::opcode;

static_assert(caller_info::most_words >= 2 * most_callback_words);

/// The inputs of the thread that makes a plan. The tensors only carry types and layouts.
struct plan_order {
  struct callback {
    elementwise::map what;
    callback_program program;
    std::string name;
    cufftXtCallbackType type;
    void* info;
  };
  std::vector<std::unique_ptr<callback>> callbacks;
  fft::transform transform;
  advanced_layout layout;
  int device = 0;
  std::shared_ptr<callback_plan> into;
};

cufftXtCallbackType callback_type(bool loads, dtype precision, bool complex) noexcept {
  if (precision == dtype::f64) {
    if (loads) return complex ? CUFFT_CB_LD_COMPLEX_DOUBLE : CUFFT_CB_LD_REAL_DOUBLE;
    return complex ? CUFFT_CB_ST_COMPLEX_DOUBLE : CUFFT_CB_ST_REAL_DOUBLE;
  }
  if (loads) return complex ? CUFFT_CB_LD_COMPLEX : CUFFT_CB_LD_REAL;
  return complex ? CUFFT_CB_ST_COMPLEX : CUFFT_CB_ST_REAL;
}

result<void> make_plan(const plan_order& order) {
  // Lanes use the device's primary context; this thread does so from now on.
  TRY(check(cudaSetDevice(order.device), "cudaSetDevice"));
  const auto architecture = TRY(current_architecture());
  // Compile both at once, then wait. This thread has nothing else to do.
  std::vector<future<jit::binary>> compiled;
  compiled.reserve(order.callbacks.size());
  for (const auto& one : order.callbacks) {
    compiled.push_back(compile(one->name + ".cu", callback_source(one->program, one->name),
                               architecture, jit::image_kind::lto_ir));
  }
  std::vector<cufft_callback> callbacks;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    auto made = TRY(compiled[i].get_result());
    const plan_order::callback& one = *order.callbacks[i];
    callbacks.push_back({one.name, std::move(made.image), one.type, one.info});
  }
  auto plan = TRY(cufft_plan::make(order.transform, order.layout, nullptr, callbacks));
  order.into->plan.emplace(std::move(plan));
  return {};
}

}  // namespace

void callback_run::add_side(side& to, const callback_program& program) {
  to.given = true;
  to.first = words_.size();
  to.operands = program.operands();
  for (const auto& one : program.request.program.code) {
    if (one.op == opcode::constant) to.constants.emplace_back(one.a, one.type);
  }
  words_.resize(to.first + to.operands + to.constants.size());
}

result<callback_run> callback_run::order(const fft::transform& t, const fft::request_fields& r,
                                         const elementwise::function& store,
                                         const std::shared_ptr<caller_info>& places) {
  auto layout = TRY(callback_layout::of(t, r));
  callback_run made;
  made.layout_ = std::move(layout);
  auto order = std::make_shared<plan_order>();
  const auto add = [&](side& to, const elementwise::function& f, bool loads) -> result<void> {
    if (!fft::given(f)) return {};
    const bool complex = loads ? t.in_is_complex() : t.out_is_complex();
    // The callback is bound to the order's own copy of the map.
    auto held = std::make_unique<plan_order::callback>(
        loads ? fft::map_of(f, r.in, r.load_operands, made.layout_.in)
              : fft::map_of(f, made.layout_.out, r.store_operands, r.out),
        callback_program{}, loads ? "troupe_load" : "troupe_store",
        callback_type(loads, t.precision, complex), nullptr);
    auto program = callback_program::of(held->what, loads);
    if (!program) {
      return error{.code = errc::unsupported,
                   .message = std::string(loads ? "load" : "store") +
                              " has operands that are read or written in tiles, or more than a "
                              "callback takes"};
    }
    held->program = *std::move(program);
    made.add_side(to, held->program);
    order->callbacks.push_back(std::move(held));
    return {};
  };
  TRY(add(made.load_, r.load, true));
  TRY(add(made.store_, store, false));

  TRY(check(cudaGetDevice(&order->device), "cudaGetDevice"));
  long* const place = places->take();
  if (place == nullptr) {
    return error{.code = errc::out_of_memory, .message = "all places for callbacks are taken"};
  }
  made.plan_ = std::make_shared<callback_plan>(places, place);
  for (const auto& one : order->callbacks) {
    const side& of = one->program.loads ? made.load_ : made.store_;
    one->info = place + of.first;
  }
  order->transform = made.layout_.what;
  order->layout = made.layout_.layout;
  order->into = made.plan_;
  run_in_background([order] {
    const result<void> outcome = make_plan(*order);
    if (!outcome) order->into->failure = outcome.error().to_string();
    using enum callback_plan::state;
    order->into->now.store(outcome ? ready : failed, std::memory_order_release);
    order->into->now.notify_all();
  });
  return made;
}

void callback_run::set_words(const side& of, const elementwise::map& what, bool loads) {
  const std::size_t own = loads ? what.inputs.size() : 0;  // the numbers are not in memory
  std::size_t k = 0;
  for (const auto* const list : {&what.inputs, &what.outputs}) {
    for (const any_tensor& t : *list) {
      words_[of.first + k] = k == own ? 0 : reinterpret_cast<long>(t.address());
      ++k;
    }
  }
  for (std::size_t i = 0; i < of.constants.size(); ++i) {
    const auto [n, type] = of.constants[i];
    words_[of.first + of.operands + i] = bits_of(type, elementwise::constant_of(what.what, n));
  }
}

result<void> callback_run::run(const fft::transform& t, const fft::request_fields& r,
                               const elementwise::function& store, lane& where) {
  cufft_plan& plan = *plan_->plan;
  if (!on_stream_) {
    TRY(plan.set_stream(where.stream()));
    on_stream_ = true;
  }
  const callback_layout& as = layout_;
  call_frame c(where);
  const auto room_out = c.bytes(as.room_out ? bytes_of(as.out) : 0);
  // Numbers that load computes have no address. cuFFT gets an address that differs from its output:
  // equal addresses would mean in place.
  constexpr std::int64_t nowhere = 256;
  const bool loads_apart = r.loads() && !as.in_place;
  const auto room_in = c.bytes(as.room_in ? bytes_of(as.in) : loads_apart ? nowhere : 0);
  c.share(plan.work_bytes());
  TRY(c.begin());
  const any_tensor source = as.room_in || loads_apart ? packed_like(as.in, room_in) : r.in;
  const any_tensor target = as.room_out ? packed_like(as.out, room_out) : r.out;
  if (as.copy_in) TRY(enqueue_copy(r.in, source, where.stream()));
  if (load_.given) set_words(load_, fft::load_map(r, source), true);
  if (store_.given) set_words(store_, fft::map_of(store, target, r.store_operands, r.out), false);
  if (words_ != written_) {
    TRY(enqueue_words(words_, plan_->place, where.stream()));
    written_ = words_;
  }
  TRY(plan.run(source.address(), target.address(), as.what.direction, c.shared()));
  return store_.given ? result<void>() : enqueue_finish(t, r, target, as.copy_out, where);
}

}  // namespace troupe::cuda
