#pragma once

// The bodies of what derives one future from another; part of future.hpp.
#include <troupe/base/unique_function.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/timer_service.hpp>

#include <memory>
#include <tuple>

namespace troupe {
namespace detail {

template <class T, class F>
concept takes_result = std::is_invocable_v<F&, result<T>>;

/// The type that `F` returns for a future of T.
template <class T, class F>
struct invoked : std::invoke_result<F, T> {};
template <class F>
struct invoked<void, F> : std::invoke_result<F> {};
template <class T, class F>
using returned_by =
    typename std::conditional_t<takes_result<T, F>, std::invoke_result<F, result<T>>,
                                invoked<T, F>>::type;

template <class U>
struct flattened {
  using type = U;
};
template <class U>
struct flattened<result<U>> {
  using type = U;
};
template <class U>
struct flattened<future<U>> {
  using type = U;
};

/// Forwards the outcome of a future to `sink`, and keeps `kept` alive until then.
template <class T, class... Kept>
struct forward_node final : continuation {
  explicit forward_node(promise<T> s, Kept&&... k) : kept(std::move(k)...), sink(std::move(s)) {
    run = &hand_on;
    in_vain = [](const continuation& self, int links) noexcept {
      return static_cast<const forward_node&>(self).sink.in_vain(links);
    };
  }
  static void hand_on(continuation& self, future_state_base& base) noexcept {
    forward_node& me = static_cast<forward_node&>(self);
    {
      const state_guard guard(base);
      me.sink.set_result(static_cast<future_state<T>&>(base).take());
    }
    drop_pooled(&me);
  }
  [[no_unique_address]] std::tuple<Kept...> kept;
  promise<T> sink;
};

/// Forwards the outcome of `source` to `sink` when it is ready. If the sink's own outcome is only
/// forwarded further, `source` is connected directly to the end of that chain. So functions that
/// return the future of the next such function, as a loop does, keep only the last link alive.
template <class T, class... Kept>
void forward(future<T> source, promise<T> sink, Kept... kept) {
  future_state<T>& from = source.release_state();
  for (continuation* next = sink.attached();
       next != nullptr && next->run == &forward_node<T>::hand_on; next = sink.attached()) {
    auto& passed = static_cast<forward_node<T>&>(*next);
    sink.become(std::move(passed.sink));
    drop_pooled(&passed);
  }
  from.continue_with(*make_pooled<forward_node<T, Kept...>>(std::move(sink), std::move(kept)...));
}

/// Answers `sink` with what `call` returns or throws.
template <class U, class Call>
void answer_with(promise<U>& sink, Call&& call) noexcept {
  using returned = std::invoke_result_t<Call>;
  try {
    if constexpr (is_future<returned>) {
      // In two steps: if the call throws, the sink still exists for the error.
      auto later = call();
      forward(std::move(later), std::move(sink));
    } else if constexpr (is_result<returned>) {
      sink.set_result(call());
    } else if constexpr (std::is_void_v<returned>) {
      call();
      sink.set_value();
    } else {
      sink.set_value(call());
    }
  } catch (...) {
    sink.set_error(current_exception_error());
  }
}

template <class T, class F, class U>
struct then_node final : continuation {
  then_node(F f, promise<U> s) : function(std::move(f)), sink(std::move(s)) {
    run = &apply;
    if constexpr (!std::is_void_v<U>) {
      in_vain = [](const continuation& self, int links) noexcept {
        return static_cast<const then_node&>(self).sink.in_vain(links);
      };
    }
  }

  static void apply(continuation& self, future_state_base& base) noexcept {
    then_node& me = static_cast<then_node&>(self);
    {
      const state_guard guard(base);
      auto& state = static_cast<future_state<T>&>(base);
      if constexpr (takes_result<T, F>) {
        answer_with<U>(me.sink, [&] { return me.function(state.take()); });
      } else if (state.failed()) {
        me.sink.set_error(state.take().error());
      } else if constexpr (std::is_void_v<T>) {
        answer_with<U>(me.sink, [&] { return me.function(); });
      } else {
        answer_with<U>(me.sink, [&] { return me.function(std::move(state.value())); });
      }
    }
    drop_pooled(&me);
  }

  F function;
  promise<U> sink;
};

[[nodiscard]] TROUPE_EXPORT error timed_out_error(std::chrono::nanoseconds timeout);
TROUPE_EXPORT void yield_thread() noexcept;

/// Answers `sink` with the source's outcome or with an error from elsewhere (a timer, a stop
/// token), whichever comes first. The source's completion and each other origin hold one reference.
/// The origin that changes `stage_` from `open` to `decided` owns the sink. When the source's
/// promise checks for waiters, it holds the sink briefly as `observed` (acquire to take it, release
/// to return it).
template <class T>
class race final : public continuation {
 public:
  explicit race(promise<T> sink) : sink_(std::move(sink)) {
    run = &source_completed;
    in_vain = &nobody_waits;
  }

  /// A reference held by an origin of errors; it may be dropped unused.
  class entry {
   public:
    explicit entry(race& r) noexcept : race_(&r) {
      r.references_.fetch_add(1, std::memory_order_relaxed);
    }
    entry(entry&& other) noexcept : race_(std::exchange(other.race_, nullptr)) {}
    entry& operator=(entry&&) = delete;
    ~entry() {
      if (race_ != nullptr) race_->release();
    }
    void lose_to(error e) {
      if (race_->claim()) race_->sink_.set_error(std::move(e));
    }

   private:
    race* race_;
  };

  /// Ends the race with `errc::timed_out` when `timeout` has passed. If no alarm can be set, ends
  /// it now with the reason.
  timer_id lose_after(timer_service& timers, std::chrono::nanoseconds timeout) {
    try {
      return timers.add(
          deadline_after(timers.now(), timeout),
          [own = entry(*this), timeout]() mutable { own.lose_to(timed_out_error(timeout)); });
    } catch (const failure& why) {
      entry(*this).lose_to(why.error());
      return {};
    }
  }

  /// Called when the source completes, to cancel the other origins. Set it before the source is
  /// attached.
  unique_function<void()> call_off;

 private:
  static void source_completed(continuation& self, future_state_base& base) noexcept {
    race& me = static_cast<race&>(self);
    {
      const state_guard guard(base);
      if (me.claim()) me.sink_.set_result(static_cast<future_state<T>&>(base).take());
    }
    if (me.call_off) me.call_off();
    me.release();
  }

  bool claim() noexcept {
    auto seen = stage::open;
    while (!stage_.compare_exchange_weak(seen, stage::decided, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      if (seen == stage::decided) return false;
      if (std::exchange(seen, stage::open) == stage::observed) yield_thread();
    }
    return true;
  }

  static bool nobody_waits(const continuation& self, int links) noexcept {
    const race& me = static_cast<const race&>(self);
    auto seen = stage::open;
    if (!me.stage_.compare_exchange_strong(seen, stage::observed, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return true;
    }
    const bool let_go = me.sink_.in_vain(links);
    me.stage_.store(stage::open, std::memory_order_release);
    return let_go;
  }

  // acq_rel: the last owner destroys what the others wrote.
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) drop_pooled(this);
  }

  std::atomic<std::uint32_t> references_{1};
  enum class stage : std::uint8_t { open, observed, decided };
  mutable std::atomic<stage> stage_{stage::open};
  promise<T> sink_;
};

}  // namespace detail

template <class T>
template <class F>
auto future<T>::then(F&& f) {
  using function = std::remove_cvref_t<F>;
  static_assert(
      detail::takes_result<T, function> || std::is_void_v<T> || std::is_invocable_v<function&, T>,
      "the function given to then() must be callable with result<T> or with T");
  using returned = detail::returned_by<T, function&>;
  using U = typename detail::flattened<returned>::type;
  promise<U> sink(driver());
  future<U> derived = sink.get_future();
  auto* node =
      detail::make_pooled<detail::then_node<T, function, U>>(std::forward<F>(f), std::move(sink));
  release_state().continue_with(*node);
  return derived;
}

template <class T>
future<T> future<T>::timeout(std::chrono::nanoseconds timeout) {
  promise<T> sink(driver());
  future<T> derived = sink.get_future();
  auto* race = detail::make_pooled<detail::race<T>>(std::move(sink));
  std::shared_ptr<timer_service> timers = timer_service::current();
  const timer_id id = race->lose_after(*timers, timeout);
  race->call_off = [timers = std::move(timers), id] { timers->cancel(id); };
  release_state().continue_with(*race);
  return derived;
}

}  // namespace troupe
