#include "device/endpoint.hpp"

#include <troupe/device/bound_tensors.hpp>

#include <fmt/format.h>

namespace troupe {

result<void> bind_tensors(const device& on, const any_tensor& table, std::string set,
                          std::vector<std::pair<std::string, any_tensor>> tensors) {
  device_endpoint& core = *on.core();
  if (!table.buffer() || table.buffer()->owner != &core.host_memory()) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("the table of the bound set {} must be a host tensor of "
                                        "the device's system",
                                        set)};
  }
  for (const auto& [name, tensor] : tensors) {
    if (tensor.buffer() && tensor.buffer()->owner == &core.memory()) continue;
    const std::string where = tensor.buffer() ? static_cast<memory_pool&>(*tensor.buffer()->owner)
                                                    .belongs_to_another_than(core.memory())
                                              : "is not in memory that Troupe handed out";
    return error{.code = errc::foreign_buffer,
                 .message = fmt::format("{} of the bound set {} {}", name, set, where)};
  }
  bound_sets& sets = core.host_memory().sets();
  auto made = std::make_shared<bound_set>();
  made->name = std::move(set);
  made->of = core.memory().shared_from_this();
  made->tensors = std::move(tensors);
  sets.add(*table.buffer().get(), std::move(made));
  if (auto sound = sets.use(*table.buffer().get(), core.memory()); !sound) {
    return std::move(sound).error();
  }
  return {};
}

}  // namespace troupe
