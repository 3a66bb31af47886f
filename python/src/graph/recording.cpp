#include "graph/recording.hpp"

#include "binding.hpp"

#include <troupe/lane/marker.hpp>

namespace troupe::python {

thread_local constinit recording* recording::current_ = nullptr;

void recording::expect_none(const device& one) {
  if (on(one) == nullptr) return;
  raise({.code = errc::invalid_argument,
         .message = "this thread records a graph on the device: nothing has run yet, and only "
                    "requests can be recorded"});
}

void recording::begin() {
  if (current_ != nullptr) {
    raise({.code = errc::invalid_argument, .message = "this thread records another graph"});
  }
  current_ = this;
}

void recording::expect_good() const {
  if (const error* const why = recorder_.failure()) raise(*why);
}

sent_request recording::add(const any_request& request, const request_options& options) {
  if (options.deadline || options.run_limit || !options.quarantine) {
    raise({.code = errc::invalid_argument,
           .message = "options are those of the run: gpu.run(graph, deadline=...)",
           .request = std::string(request.type().name)});
  }
  const std::uint64_t number = recorder_.add(request);
  expect_good();
  sent_handle handle;
  handle.recorded = {.request = number, .type = &request.type()};
  return {make_ready_future(any_reply(request_type_of<lane::marker>(), nullptr)),
          std::move(handle)};
}

}  // namespace troupe::python
