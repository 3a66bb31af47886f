#pragma once

#include <troupe/serving/replicas.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe::serving {

/// An answer, and the version of the model that has given all of it.
template <class Out>
struct versioned {
  Out answer;
  std::uint64_t version = 0;
};

/// One version of a model after the other, without an item that fails. Thread-safe.
template <class In, class Out>
class versions {
 public:
  /// Version 1. `owns` is let go of when the version serves no more and has answered its items:
  /// its weights, its actor.
  explicit versions(model<In, Out> first, std::shared_ptr<void> owns = {})
      : now_(std::make_shared<const loaded>(loaded{std::move(first), 1, std::move(owns)})) {}

  /// The answer of one of the versions that serve.
  future<versioned<Out>> ask(In item, const item_terms& terms = {}) {
    const std::shared_ptr<const loaded> one = choose();
    return one->answer(std::move(item), terms)
        .then([one](result<Out> answer) -> result<versioned<Out>> {
          if (!answer) return std::move(answer).error();
          return versioned<Out>{*std::move(answer), one->version};
        });
  }
  /// The version that serves, or most of it.
  [[nodiscard]] std::uint64_t version() const {
    const std::lock_guard lock(mutex_);
    return now_->version;
  }

  /// The next version serves this share of the items, evenly: 0 to 1. If one is coming already, it
  /// is replaced.
  void bring(model<In, Out> next, std::shared_ptr<void> owns = {}, double share = 0) {
    const auto made = std::make_shared<loaded>(loaded{std::move(next), 0, std::move(owns)});
    std::shared_ptr<const loaded> old;  // ends after the lock
    const std::lock_guard lock(mutex_);
    made->version = now_->version + 1;
    old = std::exchange(next_, made);
    share_ = share;
    owed_ = 0;
  }
  void shift(double share) {
    const std::lock_guard lock(mutex_);
    share_ = share;
  }
  /// All items go to the version that `bring` gave; the old one answers those that it has.
  void finish() {
    std::shared_ptr<const loaded> old;
    const std::lock_guard lock(mutex_);
    if (next_ == nullptr) return;
    old = std::exchange(now_, std::exchange(next_, nullptr));
  }
  /// The coming version gets no more items.
  void give_up() {
    std::shared_ptr<const loaded> old;
    const std::lock_guard lock(mutex_);
    old = std::exchange(next_, nullptr);
  }
  /// The next version serves all items from now on.
  void swap(model<In, Out> next, std::shared_ptr<void> owns = {}) {
    bring(std::move(next), std::move(owns));
    finish();
  }

 private:
  struct loaded {
    model<In, Out> answer;
    std::uint64_t version;
    std::shared_ptr<void> owns;
  };

  [[nodiscard]] std::shared_ptr<const loaded> choose() {
    const std::lock_guard lock(mutex_);
    if (next_ == nullptr) return now_;
    owed_ += share_;  // so that any run of items is split evenly
    if (owed_ < 1) return now_;
    owed_ -= 1;
    return next_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const loaded> now_;
  std::shared_ptr<const loaded> next_;
  double share_ = 0;
  double owed_ = 0;
};

}  // namespace troupe::serving
