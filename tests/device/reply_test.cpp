// Replies and errors of any length, and requests whose types are made at run time.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/memory/fill.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/catalogue.hpp>
#include <troupe/request/fields.hpp>
#include <troupe/request/request_builder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

class Reply : public either_isolation {};
INSTANTIATE_TEST_SUITE_P(Isolation, Reply, ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

// Around what a slot holds, and up to what the heap does.
constexpr std::int64_t lengths[] = {0, 1, 463, 464, 465, 479, 480, 481, 10'000, 3'000'000};

TEST_P(Reply, IsOfAnyLength) {
  for (const std::int64_t n : lengths) {
    const auto said = gpu_.ask(say{.letters = n, .numbers = n % 100}).get();
    EXPECT_EQ(said.text, letters(n)) << n;
    ASSERT_EQ(said.numbers.size(), static_cast<std::size_t>(n % 100));
    if (!said.numbers.empty()) {
      EXPECT_EQ(said.numbers.back(), (n % 100 - 1) * (n % 100 - 1));
    }
  }
}

TEST_P(Reply, OfManyRequestsAtOnceIsEachOnesOwn) {
  std::vector<std::pair<std::int64_t, future<saying>>> asked;
  for (std::int64_t i = 0; i < 200; ++i) {
    const std::int64_t n = i % 3 == 0 ? i : 400 + 37 * i;
    asked.emplace_back(n, gpu_.ask(say{.letters = n}));
  }
  for (auto& [n, one] : asked)
    EXPECT_EQ(one.get().text, letters(n));
}

// Far more than the heap holds goes through it, each time in another slot: the one before is taken
// by a request that does not end, or is free and its reply was copied.
TEST_P(Reply, LeavesItsRoomToOtherSlots) {
  if (on_gpu()) GTEST_SKIP() << "what runs until it is told is a kernel there";
  device_config c = config();
  c.lane_threads = 8;  // for those that do not end, and one more
  device gpu = instead(c);
  shared_flag go(gpu);
  std::vector<future<void>> held;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(gpu.ask(say{.letters = 6'400'000}).get().text.size(), 6'400'000u) << i;
    if (i % 2 == 0 && held.size() < 6) {
      held.push_back(gpu.library("test").on_new_lane().ask(hold{.flag = go.tensor()}));
    }
  }
  std::vector<future<saying>> short_ones;
  for (int i = 0; i < 40; ++i)
    short_ones.push_back(gpu.ask(say{.letters = 1}));
  EXPECT_EQ(gpu.ask(say{.letters = 62'400'000}).get().text.size(), 62'400'000u);
  go.set();
  for (auto& one : held)
    one.get();
}

// Several at once, in turn.
TEST_P(Reply, LeavesItsRoomToLaterOnes) {
  const auto lane = gpu_.library("test").on_new_lanes(4);
  for (int round = 0; round < 30; ++round) {
    std::vector<future<saying>> asked;
    for (int i = 0; i < 8; ++i)
      asked.push_back(lane.ask(say{.letters = 3'200'000}));
    for (auto& one : asked)
      ASSERT_EQ(one.get().text.size(), 3'200'000u);
  }
  // All but one of their slots' replies were copied and are not used again yet.
  EXPECT_EQ(lane.ask(say{.letters = 62'400'000}).get().text.size(), 62'400'000u);
}

TEST_P(Reply, ThatIsLongerThanTheHeapIsATypedError) {
  const auto outcome = gpu_.ask(say{.letters = 65 << 20}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::size_overflow);
  EXPECT_NE(outcome.error().message.find("67108864"), std::string::npos) << outcome.error().message;
  expect_usable();
}

// To 64 KiB in all, with the name of the library.
TEST_P(Reply, OfAnErrorHasItsTextCutToWhatManyFuturesCanKeep) {
  for (const std::int64_t n : lengths) {
    const auto outcome = gpu_.ask(say{.letters = n, .fail = true}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::library_error);
    EXPECT_EQ(outcome.error().library, "test");
    const std::size_t longest = (64 << 10) - outcome.error().library.size();
    EXPECT_EQ(outcome.error().message, letters(n).substr(0, longest)) << n;
  }
  expect_usable();
}

any_request repeat(std::string text, std::int64_t times, std::uint8_t between) {
  any_request r(repeat_type());
  const auto fields = fields_of(r.type());
  fields[0].in<std::string>(r.data()) = std::move(text);
  fields[1].in<std::int64_t>(r.data()) = times;
  fields[2].in<std::uint8_t>(r.data()) = between;
  return r;
}

TEST_P(Reply, ComesFromATypeThatIsMadeAtRunTime) {
  const any_reply reply = gpu_.ask(repeat("ab", 3, 1)).get();
  const auto fields = fields_of(*reply.type().described_reply);
  EXPECT_EQ(fields[0].name, "text");
  EXPECT_EQ(fields[0].in<std::string>(reply.data()), "ab ab ab");
  EXPECT_EQ(fields[1].in<std::int64_t>(reply.data()), 8);
  const any_reply by_default = gpu_.ask(any_request(repeat_type())).get();
  EXPECT_EQ(fields[0].in<std::string>(by_default.data()), "a");
  const auto refused = gpu_.ask(repeat("ab", -1, 0)).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_NE(refused.error().request.find("test.repeat"), std::string::npos);
  const auto no_enumerator = gpu_.ask(repeat("ab", 1, 2)).get_result();
  ASSERT_FALSE(no_enumerator);
  EXPECT_EQ(no_enumerator.error().code, errc::invalid_argument);
}

TEST_P(Reply, OfARequestFromTheCatalogueIsAskedForWithoutItsType) {
  auto t = gpu_.tensor<float>({64}).value();
  any_request fill(*request_named("memory.fill"));
  for (const field_view& one : fields_of(fill.type())) {
    if (one.name == "to") one.in<any_tensor>(fill.data()) = t;
    if (one.name == "value") one.in<scalar>(fill.data()) = 2;
  }
  EXPECT_EQ(gpu_.ask(fill).get().data(), nullptr);
  any_request total(request_type_of<sum>());
  fields_of(total.type())[0].in<any_tensor>(total.data()) = t;
  EXPECT_EQ(gpu_.ask(total).get().as<double>(), 128);
  EXPECT_TRUE(gpu_.tell(fill));
}

// A program whose type has other fields than the worker's is refused, instead of misread.
TEST_P(Reply, IsNeverOfATypeThatTheWorkerHasOtherwise) {
  request_builder other("test.other");
  other.value("text", std::string(), "what the worker does not know");
  const auto outcome = gpu_.ask(any_request(*other.make().value())).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::unsupported);
  EXPECT_NE(outcome.error().message.find("different description"), std::string::npos);
  expect_usable();
}

TEST(RequestBuilder, RefusesWhatCannotBe) {
  const auto refusal = [](request_builder& b) {
    const auto made = b.make();
    return made ? std::string("made") : made.error().message;
  };
  request_builder no_library("repeat");
  EXPECT_NE(refusal(no_library).find("library.operation"), std::string::npos);
  request_builder twice("test.twice");
  twice.value("x", 1.0, "").value("x", true, "");
  EXPECT_NE(refusal(twice).find("two fields \"x\""), std::string::npos);
  request_builder taken("memory.fill");
  EXPECT_NE(refusal(taken).find("another request"), std::string::npos);
  request_builder unknown("test.unknown");
  unknown.layouts(layout::packed, {"x"});
  EXPECT_NE(refusal(unknown).find("no field \"x\""), std::string::npos);
  request_builder many("test.many");
  many.enumeration("e", std::vector<std::string>(25, "x"), "");
  EXPECT_NE(refusal(many).find("25 enumerators"), std::string::npos);
  request_builder before("test.before");
  before.optional();
  EXPECT_NE(refusal(before).find("needs a field before it"), std::string::npos);
}

TEST(RequestBuilder, AnswersTheSameTypeForTheSameFields) {
  const auto make = [](std::int64_t otherwise) {
    request_builder b("test.same");
    b.value("n", otherwise, "a number");
    return b.make();
  };
  const auto first = make(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(make(1).value(), *first);
  EXPECT_EQ(request_named("test.same"), *first);
}

}  // namespace
}  // namespace troupe::test
