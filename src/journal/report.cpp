#include <troupe/journal/replay.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe {

std::string replay_report::text() const {
  std::string made = fmt::format(
      "{} requests replayed, {} passed over; compared: {} outcomes, {} elements, {}\n", requests,
      skipped, outcomes, elements, is_exact ? "bit by bit" : "within tolerance");
  for (const std::string& one : remarks)
    made += fmt::format("remark: {}\n", one);
  for (const replay_difference& d : differences) {
    made += fmt::format("device {}, request {}: {}\n  {}{}: recorded {}, replayed {}\n", d.device,
                        d.ticket, d.request, d.field,
                        d.element < 0 ? std::string() : fmt::format("[{}]", d.element), d.recorded,
                        d.replayed);
  }
  made += equal() ? "equal\n" : fmt::format("different: {} requests\n", differing);
  return made;
}

std::string replay_report::json() const {
  std::string made = fmt::format(
      R"({{"equal":{},"requests":{},"skipped":{},"outcomes":{},"elements":{},"differing":{},)"
      R"("exact":{},"remarks":[)",
      equal(), requests, skipped, outcomes, elements, differing, is_exact);
  for (const std::string& one : remarks)
    made += (&one == remarks.data() ? "" : ",") + json_text(one);
  made += R"(],"differences":[)";
  for (const replay_difference& d : differences) {
    made += fmt::format(
        R"({}{{"device":{},"ticket":{},"request":{},"field":{},"element":{},"recorded":{},)"
        R"("replayed":{}}})",
        &d == differences.data() ? "" : ",", d.device, d.ticket, json_text(d.request),
        json_text(d.field), d.element, json_text(d.recorded), json_text(d.replayed));
  }
  return made + "]}";
}

}  // namespace troupe
