// Operands of every request, in pools of memory that are there and that are not.
#include "random_requests.hpp"
#include "request/built_in_requests.hpp"
#include "wire/codec.hpp"
#include "worker/intake/job.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

/// Says of all of them that they are at the start of one pool.
class in_one_pool final : public wire::operand_source {
 public:
  explicit in_one_pool(wire::pool_number pool) : pool_(pool) {}
  result<place> locate(std::string_view, const any_tensor&, access) override {
    ++located;
    return place{.buffer = 1, .pool = pool_, .offset = 0};
  }

  std::size_t located = 0;

 private:
  wire::pool_number pool_;
};

TEST(OperandPools, AWorkerTakesThoseThatItHasAndNoOther) {
  constexpr wire::pool_number peer = 40;
  wire::address_ranges ranges{};
  for (const wire::pool_number there : {wire::device_pool, wire::host_pool, peer}) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): never accessed
    ranges[there] = {reinterpret_cast<std::byte*>((there + std::uint64_t{1}) << 40),
                     std::uint64_t{1} << 40};
  }
  testing_requests::random_requests draw(20261127);
  std::size_t with_operands = 0;
  for (const request_type* type : built_in_requests()) {
    worker::request_storage sent;
    draw.fill(*type, sent.emplace(*type));
    for (unsigned pool = 0; pool < 256; ++pool) {
      in_one_pool source(static_cast<wire::pool_number>(pool));
      std::vector<std::byte> bytes(1 << 16);
      const auto used = wire::encode(*type, sent.get(), bytes, source);
      ASSERT_TRUE(used && *used <= bytes.size()) << type->name;
      if (source.located == 0) break;
      with_operands += pool == 0 ? 1 : 0;

      worker::request_storage received;
      std::vector<wire::operand> operands;
      auto decoded = wire::decode(*type, received.emplace(*type), std::span(bytes).first(*used),
                                  ranges, operands);
      if (pool <= wire::host_pool || pool == peer) {
        ASSERT_TRUE(decoded) << type->name << ": " << decoded.error().message;
        ASSERT_EQ(operands.size(), source.located) << type->name;
        for (const wire::operand& o : operands)
          EXPECT_EQ(o.pool, pool) << type->name;
      } else {
        ASSERT_FALSE(decoded) << type->name;
        EXPECT_EQ(decoded.error().code, errc::protocol_violation) << type->name;
        EXPECT_TRUE(decoded.error().message.ends_with(": memory pool " + std::to_string(pool)))
            << decoded.error().message;
      }
    }
  }
  EXPECT_GT(with_operands, 100u);
}

}  // namespace
}  // namespace troupe
