#include "device/endpoint.hpp"
#include "device/graph/recorded_graph.hpp"

#include <troupe/device/unsent.hpp>
#include <troupe/request/fields.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

/// Taints after everything sent so far, before everything to come.
class unsent_outputs {
 public:
  unsent_outputs(const device& on, std::string_view request, const error& why)
      : writer_{.device = &on.core()->memory(),
                .ticket = std::max<std::uint64_t>(on.core()->next_ticket(), 1) - 1},
        cause_(std::make_shared<failed_writer>(failed_writer{std::string(request), why})) {}

  void taint(const any_tensor& t, access role) const {
    if (role != access::write || !t.buffer()) return;
    auto& pool = static_cast<memory_pool&>(*t.buffer()->owner);
    const any_tensor::byte_range reach = t.reach();
    const std::int64_t first = t.address() - t.buffer()->address;
    pool.taints().taint(*t.buffer().get(),
                        {.begin = static_cast<std::uint64_t>(first + reach.begin),
                         .end = static_cast<std::uint64_t>(first + reach.end)},
                        writer_, cause_);
  }

 private:
  const taint_book::request writer_;
  const std::shared_ptr<failed_writer> cause_;
};

}  // namespace

void taint_unsent(const device& on, any_request& r, const error& why) {
  const unsent_outputs outputs(on, r.type().name, why);
  for_each_tensor(r.type(), r.data(), [&](std::string_view, const any_tensor& t, access role) {
    outputs.taint(t, role);
  });
}

void taint_unsent(const device& on, const request_graph& graph,
                  const std::vector<graph_argument>& arguments, const error& why) {
  const auto roots = graph.recorded()->with(arguments);
  if (!roots) return;
  const unsent_outputs outputs(on, graph.name(), why);
  for (std::size_t i = 0; i < roots->size(); ++i)
    outputs.taint((*roots)[i], graph.recorded()->what.roots[i].role);
}

result<void> check_unsent(const request_graph& graph,
                          const std::vector<graph_argument>& arguments) {
  if (auto roots = graph.recorded()->with(arguments); !roots) return std::move(roots).error();
  if (auto values = graph.recorded()->values_with(arguments); !values) {
    return std::move(values).error();
  }
  return {};
}

}  // namespace troupe
