#include "core/actor/actor_cell.hpp"
#include "core/ambient.hpp"

#include <troupe/core/future.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <new>

namespace troupe {

namespace detail {

constinit thread_local ambient_turn ambient;

error abandoned_promise_error() noexcept {
  error none{.code = errc::no_reply};
  try {
    none.message = "the receiver dropped the request";
    if (ambient.ending == nullptr) return none;
    none.message = fmt::format("the actor {} ended before it replied", ambient.cell->path());
    none.cause = as_cause(*ambient.ending);
  } catch (const std::bad_alloc&) {
    // Destructors of promises call this.
  }
  return none;
}

error no_future_error() {
  return error{.code = errc::invalid_argument,
               .message =
                   "the future must have a state; it is default-constructed, moved from or used "
                   "up (get, get_result, then, timeout and co_await use it up)"};
}

void throw_no_future() { throw failure(no_future_error()); }

void yield_thread() noexcept { ::sched_yield(); }

error timed_out_error(std::chrono::nanoseconds timeout) {
  const double milliseconds = std::chrono::duration<double, std::milli>(timeout).count();
  return error{.code = errc::timed_out,
               .message = fmt::format("no reply within {:g} ms", milliseconds)};
}

}  // namespace detail

future<void> make_ready_future() {
  promise<void> source;
  future<void> ready = source.get_future();
  source.set_value();
  return ready;
}

}  // namespace troupe
