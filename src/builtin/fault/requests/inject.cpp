#include <troupe/fault/inject.hpp>
#include <troupe/request/argument_checks.hpp>

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

void inject::describe(description<inject>& d) {
  d.about("Injects a fault into the worker.");
  d.value("what", &inject::what, "what the worker is made to do");
  d.reads("target", &inject::target, {}, "tensor that the fault is aimed at").optional();
  d.writes("output", &inject::output, {}, "tensor that is undefined after the fault")
      .optional()
      .may_share(&inject::target)
      .may_repeat();
  d.value("duration_ns", &inject::duration_ns, "time of a spin").range(0, longest_spin_ns);
  d.rule("target has elements if what is write_frozen or withdraw",
         [](argument_checks& check, const inject& r) {
           const bool aimed = r.what == kind::write_frozen || r.what == kind::withdraw;
           check.rule(!aimed || (!r.target.null() && !r.target.empty()), errc::invalid_argument,
                      [&] { return fmt::format("{} needs a target", to_string(r.what)); });
         });
}

}  // namespace troupe::fault
