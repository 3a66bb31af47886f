#include <troupe/device/request_tracer.hpp>

namespace troupe {

void tracer_list::before_enqueue(const traced_request& r) noexcept {
  for (const auto& one : all_)
    one->before_enqueue(r);
}

void tracer_list::after_enqueue(const traced_request& r, const error* refused) noexcept {
  for (const auto& one : all_)
    one->after_enqueue(r, refused);
}

void tracer_list::before_completion(const traced_request& r) noexcept {
  for (const auto& one : all_)
    one->before_completion(r);
}

void tracer_list::after_completion(const traced_request& r, const request_times& times,
                                   const error* failure) noexcept {
  for (const auto& one : all_)
    one->after_completion(r, times, failure);
}

void tracer_list::on_event(const device_event& e) noexcept {
  for (const auto& one : all_)
    one->on_event(e);
}

}  // namespace troupe
