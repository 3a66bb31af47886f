#include "answer.hpp"

#include "binding.hpp"

namespace troupe::python {

carried_object::~carried_object() {
  // A process that ends frees its memory by itself.
  if (object_ == nullptr || python_ends()) return;
  with_gil([this] { Py_DECREF(object_); });
}

bool pending_answer::ready() {
  if (arrived_.load(std::memory_order_acquire)) return true;
  // While another thread waits for the C++ future, it takes the answer.
  if (attached_ || blocked_ > 0 || !future_ready()) return false;
  arrive(answer_of_future());
  return true;
}

bool pending_answer::wait_until(std::chrono::steady_clock::time_point deadline) {
  if (ready()) return true;
  if (!attached_) {
    ++blocked_;
    bool has_come = false;
    {
      const gil_released released;
      has_come = wait_for_future(deadline);
    }
    // The last thread to leave takes the answer, or has it brought to those who came meanwhile.
    if (--blocked_ == 0) {
      if (ready()) return true;
      if (!listeners_.empty() && !std::exchange(attached_, true)) attach();
      return false;
    }
    if (!has_come) return false;
  }
  const gil_released released;
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return arrived_.load(); });
}

void pending_answer::listen(std::unique_ptr<listener> one) {
  if (!ready()) {
    const std::lock_guard lock(mutex_);
    if (!arrived_.load(std::memory_order_relaxed)) {
      listeners_.push_back(std::move(one));
    }
  }
  if (one) {
    listener* const now = one.get();
    now->hear(std::move(one));
  } else if (blocked_ == 0 && !std::exchange(attached_, true)) {
    attach();
  }
}

void pending_answer::arrive(answer a) {
  std::vector<std::unique_ptr<listener>> all;
  {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(a);
    arrived_.store(true, std::memory_order_release);
    all.swap(listeners_);
  }
  changed_.notify_all();
  for (std::unique_ptr<listener>& one : all) {
    listener* const heard = one.get();
    heard->hear(std::move(one));
  }
}

}  // namespace troupe::python
