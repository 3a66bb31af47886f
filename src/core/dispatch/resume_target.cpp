#include <troupe/core/resume_target.hpp>

#include <utility>

namespace troupe::detail {
namespace {

/// The state of `resume`, on its stack.
struct resumption {
  std::coroutine_handle<> now;
  std::coroutine_handle<> next = nullptr;
};
constinit thread_local resumption* innermost = nullptr;

}  // namespace

void resume(std::coroutine_handle<> first) noexcept {
  resumption here{first};
  resumption* const outer = std::exchange(innermost, &here);
  for (; here.now; here.now = std::exchange(here.next, nullptr))
    here.now.resume();
  innermost = outer;
}

// Another thread may have resumed the suspending coroutine, without `resume`, or with one for
// another coroutine, and may rely on `next` having run.
void hand_over(std::coroutine_handle<> suspends, std::coroutine_handle<> next) noexcept {
  if (innermost == nullptr || innermost->now != suspends) return resume(next);
  innermost->next = next;
}

suspended_wait* suspended_wait::make(std::coroutine_handle<> waiter, resume_target* home) {
  return make_pooled<suspended_wait>(waiter, home);
}

suspended_wait::suspended_wait(std::coroutine_handle<> waiter, resume_target* home) noexcept
    : waiter_(waiter), home_(home) {
  continuation::run = &future_completed;
  in_vain = &has_left;
  turn_work::run = &resume_in_turn;
  if (home_ != nullptr) home_->retain_home();
}

suspended_wait::~suspended_wait() {
  if (completed_ != nullptr) completed_->destroy();
  if (home_ != nullptr) home_->release_home();
}

bool suspended_wait::has_left(const continuation& self, int) noexcept {
  return static_cast<const suspended_wait&>(self).stage_.load(std::memory_order_relaxed) ==
         stage::left;
}

void suspended_wait::future_completed(continuation& self, future_state_base& state) noexcept {
  auto& me = static_cast<suspended_wait&>(self);
  me.completed_ = &state;
  if (me.home_ != nullptr) {
    me.home_->post(me);
  } else {
    me.resume();
  }
}

void suspended_wait::resume_in_turn(turn_work& self) noexcept {
  static_cast<suspended_wait&>(self).resume();
}

void suspended_wait::resume() noexcept {
  if (stage_.exchange(stage::resumed, std::memory_order_acq_rel) == stage::waiting) {
    detail::resume(waiter_);
  }
  release();
}

void suspended_wait::leave() noexcept {
  stage_.exchange(stage::left, std::memory_order_acq_rel);
  release();
}

void suspended_wait::release() noexcept {
  // acq_rel: the last owner destroys what the other wrote.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) drop_pooled(this);
}

}  // namespace troupe::detail
