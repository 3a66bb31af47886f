#pragma once

#include <troupe/core/future.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace troupe {

namespace detail {

/// The driver that all futures share, or null: one driver cannot wait for another's completions.
template <class T>
completion_driver* shared_driver(const std::vector<future<T>>& all) noexcept {
  completion_driver* driver = nullptr;
  for (const future<T>& f : all) {
    if (f.driver() == nullptr || f.driver() == driver) continue;
    if (driver != nullptr) return nullptr;
    driver = f.driver();
  }
  return driver;
}

template <class T>
using gathered = std::conditional_t<std::is_void_v<T>, void, std::vector<stored<T>>>;

/// Collects outcomes by position. The count is acq_rel, so that the last to arrive sees every slot.
template <class T>
struct gathering {
  gathering(std::size_t count, promise<gathered<T>> s)
      : slots(count), missing(count), sink(std::move(s)) {}

  void arrive(std::size_t index, result<T> outcome) {
    slots[index].emplace(std::move(outcome));
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();
  }

  void finish() {
    for (auto& slot : slots) {
      if (!*slot) return sink.set_error(std::move(*slot).error());
    }
    if constexpr (std::is_void_v<T>) {
      sink.set_value();
    } else {
      std::vector<T> values;
      values.reserve(slots.size());
      for (auto& slot : slots)
        values.push_back(**std::move(slot));
      sink.set_value(std::move(values));
    }
  }

  std::vector<std::optional<result<T>>> slots;
  std::atomic<std::size_t> missing;
  promise<gathered<T>> sink;
};

template <class T>
stored<T> value_of(result<T>& outcome) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(outcome);
  }
}

}  // namespace detail

/// Ready when every future is: all values in order, or the error of the first one, by position,
/// that failed.
template <class T>
future<detail::gathered<T>> when_all(std::vector<future<T>> all) {
  promise<detail::gathered<T>> sink(detail::shared_driver(all));
  auto done = sink.get_future();
  auto state = std::make_shared<detail::gathering<T>>(all.size(), std::move(sink));
  if (all.empty()) state->finish();
  for (std::size_t i = 0; i < all.size(); ++i) {
    (void)std::move(all[i]).then(
        [state, i](result<T> outcome) { state->arrive(i, std::move(outcome)); });
  }
  return done;
}

/// The index and value of the future that completed first in `when_any`.
template <class T>
struct first_of {
  std::size_t index = 0;
  T value;
};
template <>
struct first_of<void> {
  std::size_t index = 0;
};

/// The outcome of the first future that completes, even if it is an error. The others are dropped.
template <class T>
future<first_of<T>> when_any(std::vector<future<T>> all) {
  struct contest {
    std::atomic<bool> decided{false};
    promise<first_of<T>> sink;
  };
  promise<first_of<T>> sink(detail::shared_driver(all));
  auto first = sink.get_future();
  auto state = std::make_shared<contest>();
  state->sink = std::move(sink);
  for (std::size_t i = 0; i < all.size(); ++i) {
    (void)std::move(all[i]).then([state, i](result<T> outcome) {
      // Relaxed: the sink publishes its own value.
      if (state->decided.exchange(true, std::memory_order_relaxed)) return;
      if (!outcome) return state->sink.set_error(std::move(outcome).error());
      if constexpr (std::is_void_v<T>) {
        state->sink.set_value(first_of<void>{i});
      } else {
        state->sink.set_value(first_of<T>{i, *std::move(outcome)});
      }
    });
  }
  return first;
}

/// Like the other `when_all`, for futures of different types. A void value is an empty struct.
template <class... Ts>
  requires(sizeof...(Ts) > 0)
future<std::tuple<detail::stored<Ts>...>> when_all(future<Ts>... all) {
  using values = std::tuple<detail::stored<Ts>...>;
  struct rendezvous {  // as `gathering`
    std::tuple<std::optional<result<Ts>>...> slots;
    std::atomic<std::size_t> missing{sizeof...(Ts)};
    promise<values> sink;

    void finish() {
      const error* failed = nullptr;
      std::apply(
          [&](auto&... slot) {
            ((failed = failed == nullptr && !*slot ? &slot->error() : failed), ...);
          },
          slots);
      if (failed != nullptr) return sink.set_error(*failed);
      std::apply([&](auto&... slot) { sink.set_value(values(detail::value_of(*slot)...)); }, slots);
    }
  };
  promise<values> sink;
  auto done = sink.get_future();
  auto state = std::make_shared<rendezvous>();
  state->sink = std::move(sink);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((void)std::move(all).then([state](result<Ts> outcome) {
      std::get<I>(state->slots).emplace(std::move(outcome));
      if (state->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) state->finish();
    }),
     ...);
  }(std::index_sequence_for<Ts...>{});
  return done;
}

}  // namespace troupe
