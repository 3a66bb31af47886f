#include <troupe/base/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace troupe {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::shape_mismatch:
      return "shape_mismatch";
    case errc::type_mismatch:
      return "type_mismatch";
    case errc::layout_unsupported:
      return "layout_unsupported";
    case errc::aliasing:
      return "aliasing";
    case errc::size_overflow:
      return "size_overflow";
    case errc::unsupported:
      return "unsupported";
    case errc::stale_buffer:
      return "stale_buffer";
    case errc::tainted_buffer:
      return "tainted_buffer";
    case errc::frozen_buffer:
      return "frozen_buffer";
    case errc::foreign_buffer:
      return "foreign_buffer";
    case errc::out_of_memory:
      return "out_of_memory";
    case errc::capacity_exceeded:
      return "capacity_exceeded";
    case errc::mailbox_full:
      return "mailbox_full";
    case errc::cancelled:
      return "cancelled";
    case errc::timed_out:
      return "timed_out";
    case errc::deadline_exceeded:
      return "deadline_exceeded";
    case errc::no_reply:
      return "no_reply";
    case errc::actor_stopped:
      return "actor_stopped";
    case errc::handler_failed:
      return "handler_failed";
    case errc::device_fault:
      return "device_fault";
    case errc::aborted:
      return "aborted";
    case errc::poisonous:
      return "poisonous";
    case errc::device_stopped:
      return "device_stopped";
    case errc::device_unavailable:
      return "device_unavailable";
    case errc::device_condemned:
      return "device_condemned";
    case errc::worker_not_found:
      return "worker_not_found";
    case errc::version_mismatch:
      return "version_mismatch";
    case errc::protocol_violation:
      return "protocol_violation";
    case errc::library_missing:
      return "library_missing";
    case errc::library_error:
      return "library_error";
    case errc::numerical:
      return "numerical";
    case errc::system_error:
      return "system_error";
  }
  return "unknown";
}

namespace {

std::string without_cause(const error& e) {
  std::string text;
  if (!e.library.empty()) text += e.library + ' ';
  if (!e.call.empty()) {
    text += e.call;
    if (!e.code_name.empty() || e.vendor_code != 0) {
      text += fmt::format(": {} ({})", e.code_name, e.vendor_code);
    }
    text += ", ";
  }
  text += to_string(e.code);
  if (!e.request.empty() || !e.message.empty()) {
    text += fmt::format("\n  {}{}{}", e.request, e.request.empty() || e.message.empty() ? "" : ": ",
                        e.message);
  }
  if (e.device >= 0) text += fmt::format("\n  device {}, generation {}", e.device, e.generation);
  return text;
}

}  // namespace

std::string error::to_string() const {
  std::string text = without_cause(*this);
  for (const error* e = cause.get(); e != nullptr; e = e->cause.get())
    text += "\ncaused by " + without_cause(*e);
  return text;
}

error system_failure(std::string_view call, int errno_value, std::string_view what) {
  const char* name = ::strerrorname_np(errno_value);
  const char* description = ::strerrordesc_np(errno_value);
  return error{.code = errc::system_error,
               .message = fmt::format("{}{}{}", what, what.empty() ? "" : ": ",
                                      description != nullptr ? description : "unknown error"),
               .call = std::string(call),
               .code_name = name != nullptr ? name : "",
               .vendor_code = errno_value};
}

failure::failure(troupe::error e) : error_(std::move(e)), text_(error_.to_string()) {}
failure::failure(const failure&) = default;
failure::~failure() = default;

const char* failure::what() const noexcept { return text_.c_str(); }

}  // namespace troupe
