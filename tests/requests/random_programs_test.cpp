// Programs of elementwise functions, drawn at random and spoiled in one word.
#include "random_programs.hpp"

#include "request/description/table.hpp"
#include "request/description/text.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rows.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

using testing_requests::address_source;
using testing_requests::draw_program;
using testing_requests::random_requests;

constexpr int program_rounds = 2000;

template <class R>
class RandomPrograms : public testing::Test {
 protected:
  [[nodiscard]] static const request_type& type() { return request_type_of<R>(); }
  [[nodiscard]] R drawn() {
    R request;
    EXPECT_TRUE(draw_program(type(), &request, draw_.generator(), views_));
    return request;
  }
  [[nodiscard]] std::size_t below(std::size_t n) { return draw_.generator()() % n; }

  random_requests draw_{20261125};
  testing_requests::view_source views_ = address_source();
};

using drawn_programs = testing::Types<elementwise::map, elementwise::rows, elementwise::reduce>;
TYPED_TEST_SUITE(RandomPrograms, drawn_programs);

TYPED_TEST(RandomPrograms, AreMostlyValid) {
  int valid = 0;
  for (int round = 0; round < program_rounds; ++round) {
    const TypeParam request = this->drawn();
    if (this->type().validate(&request)) ++valid;
  }
  EXPECT_GT(valid, program_rounds / 2);
}

// A program that is no longer valid is refused for the instruction, for an output that it does not
// store, or for what a request with another program may not have.
TYPED_TEST(RandomPrograms, SpoiledInOneWordAreRefusedForTheInstruction) {
  const description_table& table = *this->type().fields;
  int refused = 0;
  for (int round = 0; round < program_rounds; ++round) {
    TypeParam request = this->drawn();
    if (!this->type().validate(&request)) continue;
    for (std::size_t i = 0; i < table.fields.size(); ++i) {
      if (!table.details[i].name.ends_with(".program")) continue;
      auto& program = value_at<std::vector<std::int64_t>>(&request, table.fields[i].offset);
      if (program.size() < 2) continue;
      const std::size_t word = 1 + this->below(program.size() - 1);
      const std::int64_t before = program[word];
      program[word] ^= std::int64_t{1} << this->below(64);
      const auto verdict = this->type().validate(&request);
      EXPECT_FALSE(print(this->type(), &request).empty());
      if (!verdict) {
        ++refused;
        const std::string& why = verdict.error().message;
        const bool names = why.find("instruction ") != std::string::npos ||
                           why.find("does not store output") != std::string::npos ||
                           why.find("the function has row operations") != std::string::npos ||
                           why.find("the operands are complex") != std::string::npos ||
                           why.find("complex() takes an input") != std::string::npos;
        EXPECT_TRUE(names) << why;
      }
      program[word] = before;
    }
  }
  EXPECT_GT(refused, program_rounds / 4);
}

TYPED_TEST(RandomPrograms, EndInAVerdictWhateverIsWrongWithThem) {
  for (int round = 0; round < program_rounds; ++round) {
    TypeParam request = this->drawn();
    for (std::size_t wrong = 1 + this->below(3); wrong > 0; --wrong)
      this->draw_.spoil(this->type(), &request);
    (void)this->type().validate(&request);
    EXPECT_FALSE(print(this->type(), &request).empty());
  }
}

}  // namespace
}  // namespace troupe
