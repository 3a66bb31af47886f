#pragma once

#include "wire/codec.hpp"

#include <troupe/tensor/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A request with every kind of field, and what it takes to send it to and fro without a device.
namespace troupe::testing_wire {

enum class colour : std::uint8_t { red, green, blue };

struct every_field {
  using reply = std::int64_t;
  static constexpr std::string_view name = "test.every_field";

  any_tensor read{};
  any_tensor written{};
  any_tensor updated{};  ///< not read where `beta`, which comes later, is zero
  any_tensor absent{};
  std::vector<any_tensor> list{};
  scalar beta = 1;
  std::int64_t integer = 0;
  double real = 0.0;
  bool flag = false;
  colour shade = colour::red;
  std::string text{};
  std::vector<std::int64_t> numbers{};
  std::vector<scalar> scalars{};

  static void describe(description<every_field>& d) {
    using self = every_field;
    d.about("Has every kind of field.");
    d.reads("read", &self::read, {}, "tensor that is read").optional();
    d.writes("written", &self::written, {}, "tensor that is written").optional();
    d.updates("updated", &self::updated, {}, "tensor that is updated")
        .optional()
        .old_content_unless(d.zero(&self::beta));
    d.reads("absent", &self::absent, {}, "tensor that is not given").optional();
    d.reads("list", &self::list, {}, "tensors that are read").optional();
    d.value("beta", &self::beta, "factor of the old content");
    d.value("integer", &self::integer, "number");
    d.value("real", &self::real, "number");
    d.value("flag", &self::flag, "yes or no");
    d.value("shade", &self::shade, "choice");
    d.value("text", &self::text, "words");
    d.value("numbers", &self::numbers, "list of numbers");
    d.value("scalars", &self::scalars, "list of numbers");
  }
};

/// A device's memory, host memory and the memory of a peer, and tensors in them.
class three_pools final : public wire::operand_source {
 public:
  static constexpr std::size_t bytes = 4096;

  [[nodiscard]] any_tensor tensor(std::size_t offset, dtype type, const shape& extents,
                                  std::span<const std::int64_t> strides = {}) {
    return any_tensor::unowned(device_.data() + offset, type, extents, strides);
  }
  [[nodiscard]] any_tensor host_tensor(std::size_t offset, dtype type, const shape& extents) {
    return any_tensor::unowned(host_.data() + offset, type, extents);
  }
  /// The numbers of buffers in a peer's memory are its own: here they are those of the device.
  [[nodiscard]] any_tensor peer_tensor(std::size_t offset, dtype type, const shape& extents) {
    return any_tensor::unowned(peer_.data() + offset, type, extents);
  }
  [[nodiscard]] wire::address_ranges ranges() {
    wire::address_ranges all{};
    all[wire::device_pool] = {device_.data(), bytes};
    all[wire::host_pool] = {host_.data(), bytes};
    all[peer] = {peer_.data(), bytes};
    return all;
  }
  [[nodiscard]] result<place> locate(std::string_view field, const any_tensor& t,
                                     access role) override {
    located.emplace_back(std::string(field), role);
    if (field == refused_field) return error{.code = errc::stale_buffer, .message = "for the test"};
    const auto at = [&](wire::pool_number pool, std::uint32_t buffer, const auto& memory) {
      return place{.buffer = buffer,
                   .pool = pool,
                   .offset = static_cast<std::uint64_t>(t.address() - memory.data())};
    };
    const auto is_in = [&](const auto& memory) {
      return t.address() >= memory.data() && t.address() < memory.data() + bytes;
    };
    if (is_in(host_)) return at(wire::host_pool, 5, host_);
    if (is_in(peer_)) return at(peer, 4, peer_);
    return at(wire::device_pool, 4, device_);
  }

  /// A request with something in every field.
  [[nodiscard]] every_field filled() {
    every_field r;
    r.read = tensor(64, dtype::f32, {2, 3});
    const std::array<std::int64_t, 2> strides{1, 4};
    r.written = tensor(256, dtype::c128, {4, 2}, strides);
    r.updated = host_tensor(128, dtype::i8, {});
    r.list = {tensor(512, dtype::bf16, {7}), any_tensor{}, host_tensor(0, dtype::f64, {0, 3})};
    r.beta = scalar(std::complex(1.5, -2.0));
    r.integer = -77;
    r.real = 0.1;
    r.flag = true;
    r.shade = colour::green;
    r.text = "words";
    r.numbers = {1, -2, 3};
    r.scalars = {scalar(1), scalar(2.5)};
    return r;
  }

  std::vector<std::pair<std::string, access>> located;
  std::string refused_field;
  wire::pool_number peer = wire::first_peer_pool;  ///< there is no other

 private:
  alignas(64) std::array<std::byte, bytes> device_{};
  alignas(64) std::array<std::byte, bytes> host_{};
  alignas(64) std::array<std::byte, bytes> peer_{};
};

[[nodiscard]] inline std::vector<std::byte> encoded(every_field& r, three_pools& spaces) {
  std::vector<std::byte> room(8192);
  const auto used = wire::encode(request_type_of<every_field>(), &r, room, spaces);
  room.resize(used ? *used : 0);
  return room;
}

}  // namespace troupe::testing_wire
