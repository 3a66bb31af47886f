#include "sending/sending.hpp"

#include "binding.hpp"
#include "device/device_handle.hpp"
#include "graph/recording.hpp"
#include "sending/unretrieved.hpp"

#include <troupe/device/unsent.hpp>

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::python {
namespace {

bool in_event_loop() {
  const nb::dict modules = nb::borrow<nb::dict>(PyImport_GetModuleDict());
  return modules.contains("asyncio.events") &&
         !modules["asyncio.events"].attr("_get_running_loop")().is_none();
}

template <class Reply>
void answer_with(promise<Reply>&& answer, future<Reply>&& coming) {
  (void)std::move(coming).then([to = std::move(answer)](result<Reply> r) mutable {
    if (!r && to.abandoned()) note_unretrieved(r.error());
    to.set_result(std::move(r));
  });
}

}  // namespace

std::optional<error> queued_sending::wear_down(request_options& options,
                                               std::string_view request) const {
  if (!options.deadline) return std::nullopt;
  *options.deadline -= std::chrono::steady_clock::now() - since_;
  if (*options.deadline > std::chrono::nanoseconds::zero()) return std::nullopt;
  return error{.code = errc::deadline_exceeded,
               .message = "the deadline passed while the request waited for space in the mailbox",
               .request = std::string(request)};
}

void queued_request::send() {
  const std::lock_guard lock(mutex_);
  if (!answer_.pending()) return;  // cancelled
  if (auto late = wear_down(options_, request_.type().name)) return fail(*std::move(late));
  future<any_reply> coming = to_.ask(request_, options_, sent_);
  if (coming.ready()) {
    result<any_reply> outcome = coming.get_result();
    if (outcome) return answer_.set_value(*std::move(outcome));
    if (answer_.abandoned()) note_unretrieved(outcome.error());
    return fail(std::move(outcome).error());
  }
  answer_with(std::move(answer_), std::move(coming));
}

void queued_run::send() {
  if (auto late = wear_down(options_, "graph.run " + graph_.name())) {
    taint_unsent(on_, graph_, arguments_, *late);
    return answer_.set_error(*std::move(late));
  }
  future<graph_replies> coming = on_.run(graph_, arguments_, options_);
  if (coming.ready()) {
    result<graph_replies> outcome = coming.get_result();
    if (!outcome) taint_unsent(on_, graph_, arguments_, outcome.error());
    if (!outcome && answer_.abandoned()) note_unretrieved(outcome.error());
    return answer_.set_result(std::move(outcome));
  }
  answer_with(std::move(answer_), std::move(coming));
}

bool queued_request::cancel() {
  const std::lock_guard lock(mutex_);
  if (!answer_.pending()) return sent_.cancel_and_wait();
  fail({.code = errc::cancelled,
        .message = "cancelled before it was sent",
        .request = std::string(request_.type().name)});
  return true;
}

// Requests that were asked behind it count on what it was to write.
void queued_request::fail(error why) {
  taint_unsent(on_, request_, why);
  answer_.set_error(std::move(why));
}

void sending_queue::add(std::shared_ptr<queued_sending> one) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(one));
    if (in_use_.exchange(true, std::memory_order_relaxed)) return;
  }
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_thread = true;
  try {
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  } catch (const std::system_error&) {
    has_thread = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_thread) run();  // rather waits than loses it
}

void sending_queue::run() noexcept {
  for (;;) {
    std::shared_ptr<queued_sending> next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        in_use_.store(false, std::memory_order_release);
        emptied_.notify_all();
        return;
      }
      next = waiting_.front();
    }
    next->send();
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
  }
}

void sending_queue::flush() {
  if (is_empty()) return;
  without_gil([this] {
    std::unique_lock lock(mutex_);
    emptied_.wait(lock, [this] { return is_empty(); });
  });
}

void sent_handle::cancel() const {
  if (queued_) {
    (void)queued_->cancel();
  } else {
    sent.cancel();
  }
}

bool sent_handle::cancel_and_wait() const {
  return queued_ ? queued_->cancel() : sent.cancel_and_wait();
}

bool goes_to_queue(const device_handle& device, const library_actor& actor) {
  return recording::on(device.device) != nullptr || !device.queue->is_empty() ||
         (actor.would_wait() && in_event_loop());
}

sent_request send(const device_handle& device, const library_actor& actor, any_request request,
                  const request_options& options) {
  if (recording* const here = recording::on(device.device)) [[unlikely]]
    return here->add(request, options);
  // Validate first: an invalid request is refused at once.
  if (goes_to_queue(device, actor) && request.type().validate(request.data())) [[unlikely]] {
    auto queued =
        std::make_shared<queued_request>(device.device, actor, std::move(request), options);
    future<any_reply> answer = queued->get_future();
    without_gil([&] { device.queue->add(queued); });
    return {std::move(answer), sent_handle(std::move(queued))};
  }
  sent_handle handle;
  future<any_reply> answer = without_gil([&] { return actor.ask(request, options, handle.sent); });
  return {std::move(answer), std::move(handle)};
}

future<graph_replies> send(const device_handle& device, const request_graph& graph,
                           std::vector<graph_argument> arguments, const request_options& options) {
  const library_actor actor = device.device.library("graph");
  if (goes_to_queue(device, actor) && check_unsent(graph, arguments)) [[unlikely]] {
    auto queued = std::make_shared<queued_run>(device.device, graph, std::move(arguments), options);
    future<graph_replies> answer = queued->get_future();
    without_gil([&] { device.queue->add(std::move(queued)); });
    return answer;
  }
  return without_gil([&] { return device.device.run(graph, arguments, options); });
}

}  // namespace troupe::python
