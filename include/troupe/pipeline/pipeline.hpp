#pragma once

#include <troupe/pipeline/flow.hpp>
#include <troupe/pipeline/step.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {
namespace detail {

/// The frames, and the way of an item through the stages.
template <class In, class Out, class Frame>
class pipeline_of_frames final : public pipeline_flow<In, Out> {
 public:
  using base = pipeline_flow<In, Out>;
  using item = typename base::item;

  pipeline_of_frames(const pipeline_config& config, std::vector<std::unique_ptr<Frame>> frames,
                     std::vector<pipeline_stage<Frame, In>> stages, std::string last_name,
                     std::function<void(promise<Out>&, Frame&, In&)> last)
      : base(config),
        frames_(std::move(frames)),
        stages_(std::move(stages)),
        last_name_(std::move(last_name)),
        last_(std::move(last)),
        exit_(1) {}

 private:
  struct sent_by {
    const std::string* stage;
    future<void> outcome;
  };

  void begin(item one) override {
    auto self = std::static_pointer_cast<pipeline_of_frames>(this->shared_from_this());
    (void)start(run(std::move(self), std::move(one)));
  }

  static error in_stage(const std::string& name, error why) {
    why.message = "stage " + name + ": " + why.message;
    return why;
  }

  static task<void> run(std::shared_ptr<pipeline_of_frames> self, item one) {
    Frame& frame = *self->frames_[one.frame];
    std::optional<error> failed;
    std::vector<sent_by> sent;
    for (pipeline_stage<Frame, In>& stage : self->stages_) {
      if (failed) {
        stage.turns.skip(one.number);
        continue;
      }
      co_await stage.turns.enter(one.number);
      result<pipeline_step> step = self->begun(stage, frame, one.in);
      result<void> rest;
      if (step) {
        for (future<void>& each : step->sent)
          sent.push_back({&stage.name, std::move(each)});
        if (step->rest.valid()) rest = co_await as_result(std::move(step->rest));
      } else {
        rest = std::move(step).error();
      }
      if (!rest) failed = in_stage(stage.name, std::move(rest).error());
      stage.turns.leave();
    }
    // Nothing of this item uses its frame when that is the next one's. The first failure counts:
    // later ones follow from it, and an aborted request follows from one that ended its worker.
    std::optional<error> first;
    for (sent_by& each : sent) {
      result<void> outcome = co_await as_result(std::move(each.outcome));
      if (outcome || (first && first->code != errc::aborted)) continue;
      first = in_stage(*each.stage, std::move(outcome).error());
    }
    if (first) failed = std::move(first);
    // Apart from co_await: g++ 12 destroys operands twice where that is a branch of `?:`.
    future<Out> made =
        failed ? make_failed_future<Out>(*std::move(failed)) : self->finished(frame, one.in);
    result<Out> outcome = co_await as_result(std::move(made));
    co_await self->exit_.enter(one.number);
    one.sink.set_result(std::move(outcome));
    self->exit_.leave();
    self->release(one.frame);
  }

  result<pipeline_step> begun(pipeline_stage<Frame, In>& stage, Frame& frame, In& in) noexcept {
    try {
      return stage.begin(frame, in);
    } catch (...) {
      return current_exception_error();
    }
  }
  future<Out> finished(Frame& frame, In& in) {
    promise<Out> sink;
    future<Out> made = sink.get_future();
    last_(sink, frame, in);
    return std::move(made).then([this](result<Out> outcome) -> result<Out> {
      if (!outcome) return in_stage(last_name_, std::move(outcome).error());
      return outcome;
    });
  }

  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<pipeline_stage<Frame, In>> stages_;
  std::string last_name_;
  std::function<void(promise<Out>&, Frame&, In&)> last_;
  pipeline_turns exit_;
};

}  // namespace detail

/// Items that go through the same stages, several at once, see `pipeline_of`. Results come in the
/// order of `push`. Thread-safe. The destructor drops the items that wait (`errc::cancelled`) and
/// waits for those that have begun.
template <class In, class Out>
class pipeline {
 public:
  explicit pipeline(std::shared_ptr<detail::pipeline_flow<In, Out>> flow)
      : flow_(std::move(flow)) {}
  pipeline(pipeline&&) noexcept = default;
  pipeline& operator=(pipeline&&) = delete;
  ~pipeline() {
    if (flow_ != nullptr) flow_->close(true).wait();
  }

  /// \errors of the future: the first failure of one of its stages, whose name the message begins
  /// with; `mailbox_full` where there is no room; `cancelled` once closed
  [[nodiscard]] future<Out> push(In in) { return flow_->push(std::move(in)); }
  /// Takes no more items; ready when all that it has taken have ended.
  [[nodiscard]] future<void> close() { return flow_->close(false); }

 private:
  std::shared_ptr<detail::pipeline_flow<In, Out>> flow_;
};

/// Stages of a pipeline that is being made.
template <class In, class Frame>
class pipeline_stages {
 public:
  pipeline_stages(pipeline_config config, std::vector<std::unique_ptr<Frame>> frames)
      : config_(config), frames_(std::move(frames)) {}

  /// `f(frame)` or `f(frame, item)` runs for one item after the other, in their order, and for
  /// `at_once` items at the same time if it returns a task. It returns nothing, a `result<void>`,
  /// futures of what it has sent, or a task. The next stage does not wait for futures: requests of
  /// a device that use the same tensors are in order there. It does wait for a task. An exception
  /// or an error ends the item; the others go on. Throws `failure` (`errc::invalid_argument`) for
  /// `at_once` below 1.
  template <class F>
  pipeline_stages&& stage(std::string name, F f, int at_once = 1) && {
    if (at_once < 1) {
      throw failure({.code = errc::invalid_argument,
                     .message = "pipeline: stage " + name + " lets " + std::to_string(at_once) +
                                " items in"});
    }
    stages_.push_back({std::move(name),
                       [f = std::move(f)](Frame& frame, In& in) mutable {
                         return detail::begin_stage(f, frame, in);
                       },
                       detail::pipeline_turns(at_once)});
    return std::move(*this);
  }

  /// `f(frame)` or `f(frame, item)` makes the result: a value, a `result`, a future or a task. It
  /// runs when everything that the stages have sent for the item has ended well; for several items
  /// at the same time, on any threads.
  template <class F>
  auto last(std::string name, F f) && {
    using returned = std::remove_cvref_t<decltype(detail::call_stage(f, std::declval<Frame&>(),
                                                                     std::declval<In&>()))>;
    using out = typename detail::flattened<returned>::type;
    auto call = [f = std::move(f)](promise<out>& sink, Frame& frame, In& in) mutable {
      detail::answer_with<out>(sink, [&] {
        if constexpr (detail::is_task<returned>) {
          return start(detail::call_stage(f, frame, in));
        } else {
          return detail::call_stage(f, frame, in);
        }
      });
    };
    return pipeline<In, out>(std::make_shared<detail::pipeline_of_frames<In, out, Frame>>(
        config_, std::move(frames_), std::move(stages_), std::move(name), std::move(call)));
  }

 private:
  pipeline_config config_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<detail::pipeline_stage<Frame, In>> stages_;
};

/// A pipeline for items of type `In`. Each of the `in_flight` items has a frame, which `make` makes
/// once: the tensors that its stages use, so that nothing is allocated later and no item waits for
/// another one's memory.
///
///     struct frame { tensor<float> image, edges; };
///     auto p = pipeline_of<photo>({.in_flight = 4}, [&] { return frame{…}; })
///         .stage("upload", [&](frame& f, photo& p) { return gpu.copy(p.pixels(), f.image); })
///         .stage("edges", [&](frame& f) { return gpu.ask(edges_of{.x = f.image, .y = f.edges}); })
///         .last("sum", [&](frame& f) { return gpu.ask(sum{.x = f.edges}); });
///     future<double> one = p.push(std::move(photo));
///
/// Throws `failure` (`errc::invalid_argument`) for `in_flight` below 1, and what `make` throws.
template <class In, class Make>
auto pipeline_of(pipeline_config config, Make make) {
  using frame = std::invoke_result_t<Make&>;
  if (config.in_flight < 1) {
    throw failure({.code = errc::invalid_argument,
                   .message = "pipeline: in_flight is " + std::to_string(config.in_flight) +
                              "; at least one item has to be in it"});
  }
  std::vector<std::unique_ptr<frame>> frames;
  frames.reserve(static_cast<std::size_t>(config.in_flight));
  for (int i = 0; i < config.in_flight; ++i)
    frames.push_back(std::make_unique<frame>(make()));
  return pipeline_stages<In, frame>(config, std::move(frames));
}

}  // namespace troupe
