#include <troupe/ops/fault/inject.hpp>

#include <fmt/format.h>

namespace troupe::fault {

std::string_view to_string(kind what) noexcept {
  switch (what) {
    case kind::segmentation_fault:
      return "segmentation_fault";
    case kind::abort:
      return "abort";
    case kind::exit:
      return "exit";
    case kind::kill:
      return "kill";
    case kind::hang:
      return "hang";
    case kind::out_of_memory:
      return "out_of_memory";
    case kind::exception:
      return "exception";
    case kind::write_frozen:
      return "write_frozen";
    case kind::spin:
      return "spin";
    case kind::trap:
      return "trap";
    case kind::stack_overflow:
      return "stack_overflow";
    case kind::unmapped_address:
      return "unmapped_address";
    case kind::misaligned_address:
      return "misaligned_address";
    case kind::failed_assertion:
      return "failed_assertion";
    case kind::invalid_launch:
      return "invalid_launch";
    case kind::withdraw:
      return "withdraw";
  }
  return "unknown kind";
}

void inject::describe(field_visitor& fields) {
  fields.option("what", what, kind::withdraw);
  fields.reads("target", target);
  fields.writes("output", output);
  fields.value("duration_ns", duration_ns);
}

result<void> inject::validate() const {
  const bool aimed = what == kind::write_frozen || what == kind::withdraw;
  if (aimed && (target.null() || target.empty())) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} needs a target", to_string(what))};
  }
  if (duration_ns < 0 || duration_ns > longest_spin_ns) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("duration_ns is {}, not within 0 and {}", duration_ns,
                                        longest_spin_ns)};
  }
  return {};
}

}  // namespace troupe::fault
