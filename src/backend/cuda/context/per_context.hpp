#pragma once

#include "base/try.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace troupe::cuda {

/// One `T` for each CUDA context of the process, from any thread. `Context` names a context: its
/// handle, or its device where that has but one.
///
/// A `T` is never destroyed: its handles belong to the context, which lives as long as the
/// process, and at the end of the process the driver may be gone already. `visit` is for work that
/// must end before that.
template <class T, class Context>
class per_context {
 public:
  constexpr per_context() = default;
  per_context(const per_context&) = delete;
  per_context& operator=(const per_context&) = delete;

  /// That of a context; made by `make()`, a `result<std::unique_ptr<T>>`, if there is none. Takes
  /// no lock if there is one. \errors those of `make`, which the next call makes again
  template <class Make>
  [[nodiscard]] result<T*> of(Context context, Make make) {
    if (T* const known = find(context)) return known;
    const std::lock_guard lock(mutex_);
    if (T* const known = find(context)) return known;
    std::unique_ptr<T> made = TRY(make());
    // Release: a reader that finds the entry finds it complete.
    first_.store(new entry{context, made.release(), first_.load(std::memory_order_relaxed)},
                 std::memory_order_release);
    return first_.load(std::memory_order_relaxed)->value;
  }

  template <class Visitor>
  void visit(Visitor visitor) const {
    for (const entry* one = first_.load(std::memory_order_acquire); one != nullptr; one = one->next)
      visitor(*one->value);
  }

 private:
  /// Entries are only added, at the front, with the mutex.
  struct entry {
    Context context;
    T* value;
    const entry* next;
  };

  [[nodiscard]] T* find(Context context) const noexcept {
    for (const entry* one = first_.load(std::memory_order_acquire); one != nullptr; one = one->next)
      if (one->context == context) return one->value;
    return nullptr;
  }

  std::atomic<const entry*> first_{nullptr};
  std::mutex mutex_;
};

}  // namespace troupe::cuda
