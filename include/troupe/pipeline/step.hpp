#pragma once

#include <troupe/core/task.hpp>
#include <troupe/pipeline/turns.hpp>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::detail {

/// The work that a stage has begun: requests on their way, which the next stage does not wait for,
/// and a task, for which it does.
struct pipeline_step {
  std::vector<future<void>> sent;
  future<void> rest;
};

template <class T>
future<void> without_value(future<T> one) {
  if constexpr (std::is_void_v<T>) {
    return one;
  } else {
    return std::move(one).then([](T&&) {});
  }
}

template <class F, class Frame, class In>
decltype(auto) call_stage(F& f, Frame& frame, In& in) {
  if constexpr (std::is_invocable_v<F&, Frame&, In&>) {
    return f(frame, in);
  } else {
    return f(frame);
  }
}

template <class F, class Frame, class In>
pipeline_step begin_stage(F& f, Frame& frame, In& in) {
  using returned = decltype(call_stage(f, frame, in));
  pipeline_step step;
  if constexpr (std::is_void_v<returned>) {
    call_stage(f, frame, in);
  } else if constexpr (is_task<returned>) {
    step.rest = without_value(start(call_stage(f, frame, in)));
  } else if constexpr (is_future<returned>) {
    step.sent.push_back(without_value(call_stage(f, frame, in)));
  } else if constexpr (is_result<returned>) {
    call_stage(f, frame, in).value();
  } else {
    static_assert(std::is_same_v<returned, std::vector<future<void>>>,
                  "a stage returns nothing, a result, a future, a std::vector<future<void>> or a "
                  "task");
    step.sent = call_stage(f, frame, in);
  }
  return step;
}

template <class Frame, class In>
struct pipeline_stage {
  std::string name;
  std::function<pipeline_step(Frame&, In&)> begin;
  pipeline_turns turns;
};

}  // namespace troupe::detail
