#pragma once

#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::model {

/// The request of the simulated device: to use some places. Two of one number are the same request.
struct use {
  using reply = std::int64_t;  ///< ten times the number
  static constexpr std::string_view name = "model.use";

  std::int64_t number = 0;
  std::vector<any_tensor> reads{};
  std::vector<any_tensor> writes{};
  std::vector<any_tensor> updates{};

  static void describe(description<use>& d) {
    d.about("Uses some places.");
    d.value("number", &use::number, "number of the request");
    d.reads("reads", &use::reads, {}, "places that are read");
    d.writes("writes", &use::writes, {}, "places that are written");
    d.updates("updates", &use::updates, {}, "places that are updated");
  }
};

constexpr std::int32_t buffers = 3;
constexpr std::int32_t cells = 4;  ///< in a buffer
constexpr std::int32_t lanes = 3;

/// Some cells of a buffer.
struct place {
  std::int32_t buffer = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;

  [[nodiscard]] bool overlaps(const place& other) const noexcept {
    return buffer == other.buffer && begin < other.end && other.begin < end;
  }
  [[nodiscard]] bool covers(std::int32_t of_buffer, std::int32_t cell) const noexcept {
    return buffer == of_buffer && begin <= cell && cell < end;
  }
};

/// The same, said in numbers.
struct use_plan {
  std::int64_t number = 0;
  std::int32_t lane = 0;
  std::vector<place> reads{};
  std::vector<place> writes{};
  std::vector<place> updates{};
};

}  // namespace troupe::model
