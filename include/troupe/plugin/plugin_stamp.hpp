#pragma once

#include <troupe/base/version.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/request/argument_checks.hpp>
#include <troupe/request/request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

namespace detail {

/// A hash of the sizes of the types shared between a plugin and its worker. A compiler, standard
/// library or setting with a different layout gives another value.
[[nodiscard]] consteval std::uint64_t interface_layout() noexcept {
  // Increment for each change that no size shows: a virtual function, the meaning of a field.
  constexpr std::size_t interface = 5;
  constexpr std::array numbers{
      interface,
      sizeof(std::string),
      sizeof(std::vector<int>),
      sizeof(std::shared_ptr<void>),
      sizeof(error),
      sizeof(result<void>),
      sizeof(result<std::span<std::byte>>),
      sizeof(any_tensor),
      alignof(any_tensor),
      sizeof(scalar),
      alignof(scalar),
      sizeof(request_type),
      sizeof(operation),
      sizeof(operation_table),
      sizeof(lane_context),
      sizeof(extent),
      sizeof(condition),
      sizeof(argument_checks),
      sizeof(detail::group_list_type),
      reply_capacity_bytes,
      static_cast<std::size_t>(max_rank),
  };
  std::array<char, 2 * numbers.size()> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(numbers[i / 2] >> i % 2 * 8 & 0xff);
  return hash_of({bytes.data(), bytes.size()});
}

}  // namespace detail

/// The build that a plugin was made for. A worker reads it before it calls anything in the plugin,
/// so the layout of this struct must never change.
struct plugin_stamp {
  char version[32]{};
  std::uint64_t layout = 0;

  /// The stamp of the headers included here.
  [[nodiscard]] static consteval plugin_stamp of_this_build() noexcept {
    plugin_stamp stamp{.layout = detail::interface_layout()};
    static_assert(library_version.size() < sizeof(stamp.version));
    library_version.copy(stamp.version, library_version.size());
    return stamp;
  }
};

}  // namespace troupe
