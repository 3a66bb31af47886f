#include "builtin/graph/requests/definition.hpp"

#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <random>

namespace troupe::graph {
namespace {

definition example() {
  definition d;
  d.types = {{request_type_of<lane::marker>().id, "lane.marker"}};
  d.roots = {{access::read, 0}, {access::update, 0}};
  const lane::marker request;
  d.payloads = payload_of(request_type_of<lane::marker>(), &request).value();
  d.nodes = {{.kind = node_kind::repeat, .uses = 1, .first_body = 1, .bodies = 1, .at_most = 3},
             {.payload_bytes = d.payloads.size(), .first_use = 1, .reply = 0},
             {.kind = node_kind::when, .first_use = 1, .uses = 1, .first_body = 2, .bodies = 2}};
  d.uses = {0, 1};
  d.bodies = {{0, 2}, {1}, {}, {}};
  d.replies = 1;
  return d;
}

TEST(GraphDefinition, IsReadAsItWasWritten) {
  const auto bytes = encode(example());
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), bytes);
  EXPECT_EQ(read->types.front().name, "lane.marker");
  EXPECT_EQ(read->nodes[0].at_most, 3U);
  EXPECT_EQ(read->roots[1].role, access::update);
}

// Any bytes are refused, or all their numbers are in range: then the graph has the same
// bytes.
TEST(GraphDefinition, IsRefusedIfAnyNumberIsOutOfRange) {
  const auto whole = encode(example());
  for (std::size_t n = 0; n < whole.size(); ++n)
    ASSERT_FALSE(decode(std::span(whole).first(n))) << n;
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto bytes = whole;
    for (std::size_t changes = 1 + random() % 2; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      bytes[at] = static_cast<std::byte>(random() % 2 == 0 ? random() : random() % 5);
    }
    auto read = decode(bytes);
    if (!read) {
      ++refused;
      ASSERT_EQ(read.error().code, errc::protocol_violation);
    } else {
      ASSERT_EQ(encode(*read), bytes);
    }
  }
  EXPECT_GT(refused, 10'000);
}

TEST(GraphDefinition, HasNoBodyWithinItself) {
  definition d = example();
  d.bodies = {{2}, {0, 1}, {}, {}};  // the loop is in its own body
  EXPECT_FALSE(decode(encode(d)));
  d = example();
  d.nodes[2].first_body = 1;  // a body of two nodes
  EXPECT_FALSE(decode(encode(d)));
  d = example();
  d.bodies[2] = {1};  // a node in two bodies
  EXPECT_FALSE(decode(encode(d)));
}

}  // namespace
}  // namespace troupe::graph
