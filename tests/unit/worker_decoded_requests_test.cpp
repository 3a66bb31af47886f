#include "wire/codec.hpp"
#include "worker/decoded_requests.hpp"

#include <troupe/ops/request.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace troupe::worker {
namespace {

/// Long enough to be recognised.
struct numbers {
  static constexpr std::string_view name = "test.numbers";
  using reply = void;

  std::array<std::int64_t, 12> all{};

  void describe(field_visitor& fields) {
    for (std::int64_t& one : all)
      fields.value("number", one);
  }
  [[nodiscard]] result<void> validate() const {
    if (all[0] >= 0) return {};
    return error{.code = errc::invalid_argument, .message = "negative"};
  }
};

class no_operands final : public wire::operand_source {
 public:
  result<place> locate(std::string_view, any_tensor&, access) override {
    return error{.code = errc::foreign_buffer};
  }
};

class WorkerDecodedRequests : public testing::Test {
 protected:
  static std::vector<std::byte> bytes_of(std::int64_t number) {
    numbers r;
    r.all.fill(number);
    std::vector<std::byte> bytes(sizeof r.all);
    no_operands none;
    EXPECT_EQ(wire::encode(request_type_of<numbers>(), &r, bytes, none).value(), bytes.size());
    return bytes;
  }
  decoded_requests::entry* find(std::int64_t number) {
    return requests_.find(operation_, bytes_of(number), {});
  }
  /// The same, let go of at once.
  bool finds(std::int64_t number) {
    decoded_requests::entry* const found = find(number);
    if (found == nullptr) return false;
    EXPECT_EQ(static_cast<const numbers*>(found->what().request.get())->all[11], number);
    found->let_go();
    return true;
  }

  operation operation_{.type = &request_type_of<numbers>()};
  decoded_requests requests_;
};

TEST_F(WorkerDecodedRequests, AreFoundFromTheSecondTimeOn) {
  EXPECT_FALSE(finds(1));
  EXPECT_TRUE(finds(1));
  EXPECT_TRUE(finds(1));
  EXPECT_FALSE(finds(2));
  EXPECT_TRUE(finds(1));
}

TEST_F(WorkerDecodedRequests, OfALoopStay) {
  constexpr std::int64_t loop = 64;
  // Some drive others out at first, which then find other places.
  for (int round = 0; round < 8; ++round) {
    for (std::int64_t i = 0; i < loop; ++i)
      (void)finds(i);
  }
  for (std::int64_t i = 0; i < loop; ++i)
    EXPECT_TRUE(finds(i)) << i;
}

TEST_F(WorkerDecodedRequests, ThatAreNotValidAreNoneOfThem) {
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(finds(-1));
}

TEST_F(WorkerDecodedRequests, AreNotOverwrittenWhileSomebodyRunsThem) {
  (void)finds(1);
  decoded_requests::entry* const held = find(1);
  ASSERT_NE(held, nullptr);
  for (std::int64_t i = 2; i < 2000; ++i) {
    (void)finds(i);
    (void)finds(i);
  }
  EXPECT_EQ(static_cast<const numbers*>(held->what().request.get())->all[0], 1);
  held->let_go();
}

}  // namespace
}  // namespace troupe::worker
