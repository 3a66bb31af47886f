#include "device/mailbox/operands.hpp"

#include <troupe/graph/run.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

const request_type& plain = request_type_of<lane::marker>();

std::shared_ptr<memory_pool> make_pool(memory_space space, std::int32_t device) {
  return memory_pool::create(
             {.space = space, .device = device, .limit_bytes = 1 << 20, .granule_bytes = 4096})
      .value();
}

class OutgoingOperands : public testing::Test {
 protected:
  any_tensor make(memory_pool& pool, const shape& extents = {8, 8}) {
    return any_tensor::owned(pool.allocate(4096, 1).value(), dtype::f32, extents);
  }
  /// Why it is refused, if it is.
  std::optional<error> refusal(any_tensor t, access role) {
    auto place = operands_.locate("x", t, role);
    if (place) return std::nullopt;
    return place.error();
  }
  static void flag(const any_tensor& t, std::uint32_t bits) { t.buffer()->state.fetch_or(bits); }
  void taint(const any_tensor& t, std::uint64_t begin = 0, std::uint64_t end = 4096) {
    device_->taints().taint(*t.buffer().get(), {begin, end}, {},
                            std::make_shared<failed_writer>(failed_writer{"blas.scal #7", {}}));
  }
  std::size_t kept() const {
    std::size_t count = 0;
    kept_.for_each([&](const kept_operand&) { ++count; });
    return count;
  }

  std::shared_ptr<memory_pool> device_ = make_pool(memory_space::device, 2);
  std::shared_ptr<memory_pool> host_ = make_pool(memory_space::host, -1);
  operand_list kept_;
  outgoing_operands operands_{plain, *device_, *host_, kept_};
};

TEST_F(OutgoingOperands, SayWhereATensorIsAndKeepIt) {
  any_tensor whole = make(*device_);
  any_tensor view = *whole.slice(0, 2, 4);
  const auto place = operands_.locate("x", view, access::read);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->buffer, view.buffer()->id);
  EXPECT_EQ(place->pool, wire::device_pool);
  EXPECT_EQ(place->offset, view.buffer()->offset + 64);
  kept_.for_each([&](const kept_operand& o) { EXPECT_EQ(o.where, (footprint{64, 128})); });
  view = {};
  whole = {};
  EXPECT_EQ(device_->statistics().buffers, 1u) << "kept alive by the request";
  kept_.clear();
  EXPECT_EQ(device_->statistics().buffers, 0u);
}

TEST_F(OutgoingOperands, KeepMoreThanFitInPlace) {
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(refusal(make(*device_), access::read));
  EXPECT_EQ(kept(), 20u);
  EXPECT_EQ(device_->statistics().buffers, 20u);
  kept_.clear();
  EXPECT_EQ(device_->statistics().buffers, 0u);
}

TEST_F(OutgoingOperands, AcceptHostMemoryOfTheProgram) {
  EXPECT_FALSE(refusal(make(*host_), access::write));
}

TEST_F(OutgoingOperands, RefuseMemoryOfAnotherDeviceByItsNumber) {
  const auto other = make_pool(memory_space::device, 5);
  const auto refused = refusal(make(*other), access::read);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, errc::foreign_buffer);
  EXPECT_EQ(refused->message, "x belongs to device 5, not to device 2");
}

TEST_F(OutgoingOperands, RefuseMemoryOfAnotherSystemByThat) {
  const auto namesake = make_pool(memory_space::device, 2);
  const auto host = make_pool(memory_space::host, -1);
  const auto of_namesake = refusal(make(*namesake), access::read);
  ASSERT_TRUE(of_namesake);
  EXPECT_EQ(of_namesake->code, errc::foreign_buffer);
  EXPECT_EQ(of_namesake->message, "x belongs to device 2 of another system");
  const auto of_host = refusal(make(*host), access::read);
  ASSERT_TRUE(of_host);
  EXPECT_EQ(of_host->message, "x is host memory of another system");
}

TEST_F(OutgoingOperands, RefuseMemoryThatNobodyHandedOut) {
  float mine[4];
  const auto refused = refusal(
      any_tensor::unowned(reinterpret_cast<std::byte*>(mine), dtype::f32, {4}), access::read);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, errc::foreign_buffer);
}

TEST_F(OutgoingOperands, RefuseWhatTheRulesSayInTheirOrder) {
  // From the last rule to the first, each added to the ones before it.
  any_tensor t = make(*device_);
  taint(t);
  EXPECT_EQ(refusal(t, access::update)->code, errc::tainted_buffer);
  flag(t, buffer_frozen);
  EXPECT_EQ(refusal(t, access::update)->code, errc::frozen_buffer);
  flag(t, buffer_released);
  EXPECT_EQ(refusal(t, access::update)->message, "x is stale: it was released");
  device_->close({.code = errc::device_stopped});
  EXPECT_EQ(refusal(t, access::update)->message, "x is stale: its device has stopped");
  operand_list others;
  const auto another = make_pool(memory_space::device, 9);
  outgoing_operands elsewhere(plain, *another, *host_, others);
  EXPECT_EQ(elsewhere.locate("x", t, access::update).error().code, errc::stale_buffer);
  EXPECT_EQ(kept(), 0u) << "what is refused is not kept";
}

TEST_F(OutgoingOperands, AFrozenTensorMayBeRead) {
  any_tensor t = make(*device_);
  flag(t, buffer_frozen);
  EXPECT_FALSE(refusal(t, access::read));
  EXPECT_EQ(refusal(t, access::write)->code, errc::frozen_buffer);
}

TEST_F(OutgoingOperands, ATaintIsNamedAndConcernsItsBytesOnly) {
  any_tensor t = make(*device_);
  taint(t, 0, 32);
  EXPECT_EQ(refusal(t, access::read)->message,
            "x is tainted: blas.scal #7 has not finished writing it; overwrite all of it to clear "
            "the taint");
  EXPECT_FALSE(refusal(*t.slice(0, 1, 8), access::read));
}

class BoundSets : public OutgoingOperands {
 protected:
  static constexpr std::uint32_t usable = buffer_frozen | buffer_settled;

  void bind(const any_tensor& table, const std::shared_ptr<memory_pool>& of,
            std::vector<any_tensor> tensors) {
    auto made = std::make_shared<bound_set>();
    made->name = "model";
    made->of = of;
    for (any_tensor& t : tensors)
      made->tensors.emplace_back("w" + std::to_string(made->tensors.size()), std::move(t));
    host_->sets().add(*table.buffer().get(), std::move(made));
  }
  any_tensor frozen() {
    any_tensor t = make(*device_);
    flag(t, usable);
    return t;
  }
};

TEST_F(BoundSets, KeepTheirTensorsWhileARequestReadsTheTable) {
  std::optional<any_tensor> table = make(*host_);
  bind(*table, device_, {frozen(), frozen()});
  EXPECT_FALSE(refusal(*table, access::read));
  table.reset();
  EXPECT_EQ(device_->statistics().buffers, 2u);
  kept_.clear();
  EXPECT_EQ(device_->statistics().buffers, 0u);
  EXPECT_EQ(host_->statistics().buffers, 0u);
}

TEST_F(BoundSets, AreRefusedByTheNameOfATensorThatCannotBeUsed) {
  const any_tensor table = make(*host_);
  const any_tensor t = frozen();
  bind(table, device_, {frozen(), t});
  EXPECT_FALSE(refusal(table, access::read));
  t.buffer()->state.fetch_and(~std::uint32_t{buffer_settled});
  EXPECT_FALSE(refusal(table, access::read)) << "nobody has said that anything has changed";
  host_->sets().note_change();
  EXPECT_EQ(refusal(table, access::read)->message,
            "w1 of the bound set model is not frozen; freeze it again, or bind another set");
  flag(t, buffer_settled);
  EXPECT_FALSE(refusal(table, access::read));
  taint(t);
  host_->sets().note_change();
  EXPECT_EQ(refusal(table, access::read)->code, errc::tainted_buffer);
  flag(t, buffer_released);
  EXPECT_EQ(refusal(table, access::read)->message,
            "w1 of the bound set model is stale: it was released");
  const auto other = make_pool(memory_space::device, 5);
  const any_tensor theirs = make(*host_);
  bind(theirs, other, {});
  EXPECT_EQ(refusal(theirs, access::read)->message,
            "the bound set model belongs to device 5, not to device 2");
}

TEST_F(BoundSets, TellWhenTheRequestsHaveEndedThatUseATensor) {
  const any_tensor table = make(*host_);
  const any_tensor t = frozen();
  bind(table, device_, {t});
  EXPECT_FALSE(refusal(table, access::read));
  EXPECT_TRUE(host_->sets().end_uses(*frozen().buffer().get(), nullptr).empty());
  auto over = host_->sets().end_uses(*t.buffer().get(), nullptr);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_FALSE(over.front().ready());
  operand_list later;
  outgoing_operands operands(plain, *device_, *host_, later);
  EXPECT_TRUE(operands.locate("x", table, access::read));
  kept_.clear();
  EXPECT_TRUE(over.front().ready()) << "one that was sent later does not count";
  EXPECT_TRUE(host_->sets().end_uses(*t.buffer().get(), nullptr).size() == 1);
}

TEST_F(OutgoingOperands, SayWhetherABufferOfTheirsIsWatched) {
  any_tensor t = make(*device_);
  EXPECT_FALSE(refusal(t, access::read));
  EXPECT_FALSE(operands_.watched());
  taint(t, 0, 256);
  EXPECT_FALSE(refusal(t, access::write)) << "it may be overwritten";
  EXPECT_TRUE(operands_.watched());
}

TEST_F(OutgoingOperands, NameThePatternOfWhatIsWrittenWithGaps) {
  any_tensor t = make(*device_);
  const auto pattern = [&](any_tensor view, access role = access::write) {
    kept_.clear();
    EXPECT_FALSE(refusal(std::move(view), role));
    std::uint32_t found = 0;
    kept_.for_each([&](const kept_operand& o) { found = o.where.pattern; });
    return found;
  };
  EXPECT_EQ(pattern(t), 0u);
  EXPECT_EQ(pattern(t.transpose()), 0u) << "column-major has no gaps either";
  const std::uint32_t left_half = pattern(*t.slice(1, 0, 4));
  EXPECT_NE(left_half, 0u);
  EXPECT_EQ(pattern(*t.slice(1, 0, 4)), left_half);
  EXPECT_NE(pattern(*t.slice(1, 0, 3)), left_half);
  EXPECT_EQ(pattern(*t.slice(1, 0, 4), access::read), 0u) << "a reader wants all of its reach";
}

TEST_F(OutgoingOperands, AreSafeToRepeatUnlessTheyReadWhatTheyWrite) {
  any_tensor t = make(*device_);
  const any_tensor upper = *t.slice(0, 0, 4);
  const any_tensor lower = *t.slice(0, 4, 8);
  const auto safe = [&](std::initializer_list<std::pair<any_tensor, access>> uses) {
    kept_.clear();
    for (const auto& [view, role] : uses)
      EXPECT_FALSE(refusal(view, role));
    return safe_to_repeat(plain, kept_);
  };
  EXPECT_TRUE(safe({}));
  EXPECT_TRUE(safe({{t, access::read}}));
  EXPECT_TRUE(safe({{t, access::write}}));
  EXPECT_FALSE(safe({{t, access::update}}));
  EXPECT_TRUE(safe({{upper, access::read}, {lower, access::write}}));
  EXPECT_FALSE(safe({{t, access::read}, {t, access::write}})) << "in place, through two operands";
  EXPECT_FALSE(safe({{lower, access::write}, {t, access::read}}));
  EXPECT_TRUE(safe({{make(*device_), access::read}, {t, access::write}}));
}

TEST_F(OutgoingOperands, AreInConflictWhereOneWritesWhatTheOtherUses) {
  any_tensor t = make(*device_);
  const any_tensor upper = *t.slice(0, 0, 4);
  const any_tensor lower = *t.slice(0, 4, 8);
  const auto list = [&](const any_tensor& view, access role) {
    kept_.clear();
    EXPECT_FALSE(refusal(view, role));
    return kept_;
  };
  const operand_list reads = list(t, access::read);
  const operand_list writes = list(upper, access::write);
  EXPECT_FALSE(in_conflict(reads, reads));
  EXPECT_TRUE(in_conflict(reads, writes));
  EXPECT_TRUE(in_conflict(writes, reads));
  EXPECT_TRUE(in_conflict(writes, writes));
  EXPECT_FALSE(in_conflict(writes, list(lower, access::update)));
}

TEST_F(OutgoingOperands, ManyAreComparedAsFewAre) {
  const any_tensor buffers[] = {make(*device_), make(*device_)};
  std::mt19937 random(5);
  const auto list = [&](std::size_t count, bool updates) {
    std::vector<kept_operand> all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t begin = random() % 4'000;
      // Mostly readers on the left and writers on the right, which rarely meet.
      const bool writes = begin + random() % 60 > 2'040;
      all.push_back({.buffer = buffers[random() % 2].buffer(),
                     .role = !writes   ? access::read
                             : updates ? access::update
                                       : access::write,
                     .where = {.begin = begin, .end = begin + 1 + random() % 8}});
    }
    return all;
  };
  const auto kept = [](const std::vector<kept_operand>& all) {
    operand_list operands;
    for (const kept_operand& one : all)
      operands.add(one);
    return operands;
  };
  const auto meet = [](const std::vector<kept_operand>& one, const std::vector<kept_operand>& other,
                       auto counts) {
    return std::ranges::any_of(one, [&](const kept_operand& a) {
      return std::ranges::any_of(other, [&](const kept_operand& b) {
        return a.buffer.get() == b.buffer.get() && a.where.begin < b.where.end &&
               b.where.begin < a.where.end && counts(a.role, b.role);
      });
    });
  };
  const auto one_writes = [](access a, access b) { return a != access::read || b != access::read; };
  const auto reads_what_is_written = [](access a, access b) {
    return a == access::read && b != access::read;
  };
  std::array<int, 2> safe{};
  std::array<int, 2> conflict{};
  for (int i = 0; i < 400; ++i) {
    const auto one = list(1 + random() % 90, i % 8 == 0);
    auto other = list(1 + random() % 90, false);
    if (i % 2 == 0) {
      for (kept_operand& o : other) {
        o.role = access::read;
        o.where.begin %= 2'000;
        o.where.end = o.where.begin + 1;
      }
    }
    const bool updates =
        std::ranges::any_of(one, [](const kept_operand& o) { return o.role == access::update; });
    const bool is_safe = !updates && !meet(one, one, reads_what_is_written);
    const bool in_each_others_way = meet(one, other, one_writes);
    ASSERT_EQ(safe_to_repeat(plain, kept(one)), is_safe) << i;
    ASSERT_EQ(in_conflict(kept(one), kept(other)), in_each_others_way) << i;
    ASSERT_EQ(in_conflict(kept(other), kept(one)), in_each_others_way) << i;
    ++safe[is_safe ? 1 : 0];
    ++conflict[in_each_others_way ? 1 : 0];
  }
  EXPECT_GT(std::min(safe[0], safe[1]), 40) << "both answers were asked for";
  EXPECT_GT(std::min(conflict[0], conflict[1]), 40);
}

TEST_F(OutgoingOperands, OfOneThatOverwritesFirstAreReadBesideWhatItWrites) {
  const request_type& first = request_type_of<graph::run>();
  any_tensor t = make(*device_);
  taint(t, 64, 128);
  const any_tensor rows = *t.slice(0, 2, 4);  // the bytes 64 to 128
  outgoing_operands operands(first, *device_, *host_, kept_);
  EXPECT_EQ(operands.locate("x", t, access::read).error().code, errc::tainted_buffer);
  ASSERT_TRUE(operands.locate("y", rows, access::write));
  EXPECT_TRUE(operands.locate("x", t, access::read));
  EXPECT_FALSE(operands.locate("x", t, access::update));
  EXPECT_TRUE(safe_to_repeat(first, kept_));
  EXPECT_FALSE(safe_to_repeat(plain, kept_));
  std::vector<footprint> parts;
  kept_.for_each([&](const kept_operand& o) {
    if (o.role == access::read) parts = read_through(o, first, kept_);
  });
  EXPECT_EQ(parts, (std::vector<footprint>{{0, 64}, {128, 256}}));
  kept_.for_each([&](const kept_operand& o) {
    if (o.role == access::read) parts = read_through(o, plain, kept_);
  });
  EXPECT_EQ(parts, (std::vector<footprint>{{0, 256}}));
  // One with gaps leaves bytes between.
  kept_.clear();
  ASSERT_TRUE(operands.locate("y", *t.slice(1, 0, 4), access::write));
  EXPECT_EQ(operands.locate("x", t, access::read).error().code, errc::tainted_buffer);
  ASSERT_TRUE(operands.locate("z", make(*device_), access::update));
  EXPECT_FALSE(safe_to_repeat(first, kept_));
}

TEST_F(OutgoingOperands, ListsAsLongAsARequestMayHaveAreCompared) {
  // With each pair looked at, this would take minutes.
  const any_tensor t = make(*device_);
  operand_list readers;
  operand_list both;
  const auto operand = [&](access role, std::uint64_t place) {
    return kept_operand{
        .buffer = t.buffer(), .role = role, .where = {.begin = 2 * place, .end = 2 * place + 1}};
  };
  for (std::uint64_t i = 0; i < 3u * 65'536; ++i) {
    readers.add(operand(access::read, 2 * i));
    both.add(operand(i % 3 == 2 ? access::write : access::read, 2 * i + 1));
  }
  EXPECT_TRUE(safe_to_repeat(plain, both));
  EXPECT_FALSE(in_conflict(readers, both));
  readers.add(operand(access::read, 5));
  EXPECT_TRUE(in_conflict(readers, both));
  both.add(operand(access::read, 5));
  EXPECT_FALSE(safe_to_repeat(plain, both));
}

}  // namespace
}  // namespace troupe
