#include "device/endpoint.hpp"
#include "memory/memory_pool.hpp"
#include "request/description/text.hpp"

#include <troupe/device/device.hpp>
#include <troupe/request/outputs.hpp>

#include <fmt/format.h>

namespace troupe::detail {

void allocate_and_send(const std::shared_ptr<device_endpoint>& to, const request_type& type,
                       void* request, std::span<const std::size_t> also,
                       const request_options& options, std::uint8_t lane, completion done) {
  device on(to);
  std::vector<any_tensor> allocated;
  const auto allocate = [&](dtype element, const shape& extents) {
    auto made = on.allocate(element, extents);
    if (made) allocated.push_back(*made);
    return made;
  };
  result<void> sent;
  if (auto outputs = allocate_outputs(type, request, allocate, also)) {
    sent = send(*to, type, request, options, lane, std::move(done));
  } else {
    error why = std::move(outputs).error();
    why.device = to->ordinal();
    why.request = print(type, request);
    sent = why;
    done(nullptr, &why);
  }
  if (sent) return;
  // Nothing will write them, and the caller may pass them on without looking at the answer.
  const auto culprit = std::make_shared<failed_writer>(
      failed_writer{fmt::format("{}, which was refused,", type.name), sent.error()});
  for (const any_tensor& t : allocated)
    to->memory().taints().taint(*t.buffer().get(), {.end = t.buffer()->bytes}, {}, culprit);
}

}  // namespace troupe::detail
