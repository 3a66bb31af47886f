#include "worker/intake/decoded_requests.hpp"

#include "wire/codec.hpp"

#include <troupe/request/request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace troupe::worker {
namespace {

struct four_numbers {
  std::int64_t one = 0;
  std::int64_t two = 0;
  std::int64_t three = 0;
  std::int64_t four = 0;

  static void describe(description<four_numbers>& d) {
    d.value("one", &four_numbers::one, "number").at_least(0);
    d.value("two", &four_numbers::two, "number");
    d.value("three", &four_numbers::three, "number");
    d.value("four", &four_numbers::four, "number");
  }
};

/// Long enough to be recognised.
struct numbers {
  static constexpr std::string_view name = "test.numbers";
  using reply = void;

  four_numbers first{};
  four_numbers second{};
  four_numbers third{};

  static void describe(description<numbers>& d) {
    d.about("Twelve numbers.");
    d.group("first", &numbers::first);
    d.group("second", &numbers::second);
    d.group("third", &numbers::third);
  }
};

class no_operands final : public wire::operand_source {
 public:
  result<place> locate(std::string_view, const any_tensor&, access) override {
    return error{.code = errc::foreign_buffer};
  }
};

class WorkerDecodedRequests : public testing::Test {
 protected:
  static std::vector<std::byte> bytes_of(std::int64_t number) {
    const four_numbers same{number, number, number, number};
    numbers r{same, same, same};
    std::vector<std::byte> bytes(sizeof r);
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
    EXPECT_EQ(static_cast<const numbers*>(found->what().request.get())->third.four, number);
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
  EXPECT_EQ(static_cast<const numbers*>(held->what().request.get())->first.one, 1);
  held->let_go();
}

/// Reads one list and writes the other.
struct long_lists {
  static constexpr std::string_view name = "test.long_lists";
  using reply = void;

  std::vector<any_tensor> from{};
  std::vector<any_tensor> to{};
  bool updates = false;

  static void describe(description<long_lists>& d) {
    d.about("Reads one list and writes the other.");
    d.value("updates", &long_lists::updates, "it reads what it writes, too");
    d.reads("from", &long_lists::from, {}, "tensors that are read");
    d.updates("to", &long_lists::to, {}, "tensors that are written")
        .updated_where(d.is(&long_lists::updates));
  }
};

/// All tensors are views of one buffer at `base`.
class one_buffer final : public wire::operand_source {
 public:
  explicit one_buffer(std::byte* base) : base_(base) {}
  result<place> locate(std::string_view, const any_tensor& t, access) override {
    return place{.buffer = 1,
                 .pool = wire::device_pool,
                 .offset = static_cast<std::uint64_t>(t.address() - base_)};
  }

 private:
  std::byte* base_;
};

class RepeatableRequests : public testing::Test {
 protected:
  any_tensor piece(std::size_t number) {
    return any_tensor::unowned(memory_.data() + number * piece_bytes, dtype::u8, {piece_bytes});
  }
  bool is_repeatable(long_lists sent) {
    std::vector<std::byte> bytes(4u << 20);
    one_buffer source(memory_.data());
    const auto& type = request_type_of<long_lists>();
    const auto used = wire::encode(type, &sent, bytes, source);
    EXPECT_TRUE(used) << used.error().to_string();
    wire::address_ranges ranges{};
    ranges[wire::device_pool] = {memory_.data(), memory_.size()};
    decoded_request request;
    const auto decoded = request.decode({.type = &type}, std::span(bytes).first(*used), ranges);
    EXPECT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(request.operands.size(), sent.from.size() + sent.to.size());
    return request.repeatable;
  }

  static constexpr std::size_t piece_bytes = 16;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1u << 20);
};

TEST_F(RepeatableRequests, WriteNothingThatTheyReadHoweverLongTheirLists) {
  for (const std::size_t count : {1u, 3u, 20u, 200u, 20'000u}) {
    long_lists apart;
    for (std::size_t i = 0; i < count; ++i) {
      apart.from.push_back(piece(2 * i));
      apart.to.push_back(piece(2 * i + 1));
    }
    std::ranges::reverse(apart.to);
    EXPECT_TRUE(is_repeatable(apart)) << count;

    long_lists in_place = apart;
    in_place.updates = true;
    EXPECT_FALSE(is_repeatable(in_place)) << count;

    long_lists twice = apart;
    twice.to.push_back(twice.to.front());
    EXPECT_TRUE(is_repeatable(twice)) << count << ": written twice, read never";

    long_lists meets = apart;
    meets.to.push_back(any_tensor::unowned(memory_.data() + (2 * count - 1) * piece_bytes - 1,
                                           dtype::u8, {piece_bytes}));
    EXPECT_FALSE(is_repeatable(meets)) << count << ": by one byte";
  }
}

}  // namespace
}  // namespace troupe::worker
