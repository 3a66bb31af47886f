// Mistakes are found before anything is queued, with the request or the parameter.
#include "graph_fixture.hpp"

#include <troupe/lane.hpp>
#include <troupe/memory.hpp>

#include <thread>

namespace troupe::test {
namespace {

class GraphRefusal : public graph_fixture {
 protected:
  void expect(const error& why, errc code, std::string_view part) {
    EXPECT_EQ(why.code, code) << why.to_string();
    EXPECT_TRUE(has(why.to_string(), part)) << why.to_string();
  }
  /// The refusal of a graph with this request.
  template <request R>
  error of(const R& r) {
    return refused([&](graph_recorder& rec) {
      rec.add(add{.x = x_, .value = 1});
      rec.add(r);
    });
  }

  const any_tensor x_ = make({1, 2});
};

TEST_F(GraphRefusal, NamesTheRequestThatCannotBeInAGraph) {
  expect(of(scale{.x = x_, .y = make({1})}), errc::shape_mismatch, "graph step, request 1: ");
  expect(of(scale{.x = x_, .y = x_}), errc::aliasing, "graphs.scale x=<i64>[2]");
  expect(of(add{}), errc::invalid_argument, "request 1: ");
  device other = system_.device(1, config());
  const any_tensor foreign = other.tensor<std::int64_t>({2}).value();
  expect(of(add{.x = foreign}), errc::foreign_buffer, "x belongs to device 1");
  const any_tensor stale = make({1});
  gpu_.release(stale);
  expect(of(add{.x = stale}), errc::stale_buffer, "x is stale");
  auto own = gpu_.allocate(dtype::i64, {2}, initial::zero, placement::own).value();
  gpu_.freeze(own).get();
  expect(of(add{.x = own}), errc::frozen_buffer, "x is written by this request but is frozen");
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  expect(of(lane::mapping{.begun = flag, .ended = gpu_.host_tensor<std::uint32_t>({1}).value()}),
         errc::unsupported, "lane.mapping cannot be in a graph");
  EXPECT_EQ(gpu_.statistics().failed, 0U);
  gpu_.stop();
  expect(of(add{.x = x_}), errc::device_stopped, "");
}

TEST_F(GraphRefusal, OfFaultsAndOfLibrariesThatTheDeviceLacks) {
  device_config c = config();
  c.fault_injection = false;
  c.libraries = {"graphs"};
  device other = system_.device(2, c);
  const auto why = [&](const auto& request) {
    graph_recorder rec = other.record("step");
    rec.add(request);
    return std::move(rec).finish().error();
  };
  expect(why(fault::inject{}), errc::unsupported, "fault_injection");
  const auto t = other.tensor<float>({2}).value();
  expect(why(memory::fill{.to = t}), errc::library_missing, "library memory is not enabled");
  graph_recorder rec = other.record("step");
  rec.add(add{.x = other.tensor<std::int64_t>({1}).value()});
  EXPECT_EQ(text(other.run(std::move(rec).finish().value()).get_result()), "done");
}

TEST_F(GraphRefusal, OfRecordersThatAreUsedWrongly) {
  expect(refused([](graph_recorder&) {}), errc::invalid_argument, "graph step: it has no requests");
  graph_recorder rec = gpu_.record("once");
  rec.add(add{.x = x_});
  std::thread([&] { rec.add(add{.x = x_}); }).join();
  ASSERT_NE(rec.failure(), nullptr);
  expect(*rec.failure(), errc::invalid_argument, "a thread that did not make it");
  graph_recorder twice = gpu_.record("twice");
  twice.add(add{.x = x_});
  ASSERT_TRUE(std::move(twice).finish());
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the test.
  twice.add(add{.x = x_});
  expect(*twice.failure(), errc::invalid_argument, "it has been finished");
  expect(refused([&](graph_recorder& r) { r.end(); }), errc::invalid_argument, "no body to end");
  expect(refused([&](graph_recorder& r) { r.next_body(); }), errc::invalid_argument,
         "no body to end");
  expect(refused([&](graph_recorder& r) { r.begin_if(x_.slice(0, 0, 1).value()); }),
         errc::invalid_argument, "a body is not ended");
}

TEST_F(GraphRefusal, OfConditions) {
  const auto of_condition = [&](const any_tensor& t) {
    return refused([&](graph_recorder& rec) {
      rec.run_if(t, [&](graph_recorder& body) { body.add(add{.x = x_}); });
    });
  };
  expect(of_condition({}), errc::invalid_argument, "a condition must be a tensor");
  expect(of_condition(x_), errc::shape_mismatch, "must have one element; it is <i64>[2]");
  expect(of_condition(gpu_.tensor<float>({1}).value()), errc::type_mismatch,
         "must be of type bool");
  expect(of_condition(gpu_.host_tensor<std::int32_t>({1}).value()), errc::invalid_argument,
         "memory of the device");
  const auto go = make({1});
  expect(refused([&](graph_recorder& rec) { rec.repeat_while(go, {.at_most = 0}, [](auto&) {}); }),
         errc::invalid_argument, "at_most must be positive; it is 0");
  const auto nested = [&](int depth) {
    return recorded([&](graph_recorder& rec) {
      for (int i = 0; i < depth; ++i)
        rec.begin_if(go);
      for (int i = 0; i < depth; ++i)
        rec.end();
    });
  };
  EXPECT_EQ(text(run(nested(8).value())), "done");  // branches without requests are allowed
  expect(nested(9).error(), errc::invalid_argument, "may be nested 8 deep");
}

TEST_F(GraphRefusal, OfParameters) {
  const auto of_parameters = [&](std::vector<any_tensor> all) {
    return refused([&](graph_recorder& rec) {
      rec.add(add{.x = x_});
      for (const any_tensor& t : all)
        rec.parameter("p" + std::to_string(t.null() ? 0 : t.count()), t);
    });
  };
  expect(of_parameters({any_tensor()}), errc::invalid_argument, "parameter p0 must not be null");
  expect(of_parameters({make({1})}), errc::invalid_argument, "no request uses parameter p1");
  expect(of_parameters({x_.slice(0, 0, 1).value()}), errc::aliasing,
         "parameter p1 is only a part of <i64>[2] (request 0, graphs.add: x)");
  expect(of_parameters({x_, x_.slice(0, 0, 1).value()}), errc::aliasing,
         "p1 overlaps parameter p2");
  expect(refused([&](graph_recorder& rec) {
           rec.parameter("x", x_);
           rec.parameter("x", make({1}));
         }),
         errc::invalid_argument, "parameter x is there already");
  const auto of_value = [&](std::uint64_t request, std::string_view field) {
    return refused([&](graph_recorder& rec) {
      rec.add(add{.x = x_});
      rec.parameter("v", request, field);
    });
  };
  expect(of_value(0, "x"), errc::invalid_argument,
         "parameter v must be a number of graphs.add; x is none");
  expect(of_value(0, "alpha"), errc::invalid_argument, "alpha is none");
  expect(of_value(1, "value"), errc::invalid_argument, "is of a request of another graph");
}

TEST_F(GraphRefusal, OfMoreThan65536Requests) {
  graph_recorder rec = gpu_.record("long");
  for (int i = 0; i < 65'536; ++i)
    rec.add(lane::marker{});
  ASSERT_EQ(rec.failure(), nullptr);
  rec.add(lane::marker{});
  expect(*rec.failure(), errc::size_overflow, "at most 65536 requests");
}

TEST_F(GraphRefusal, OfMoreTensorsThanTheMailboxHolds) {
  device_config c = config();
  c.mailbox_bytes = 8192;
  device small = system_.device(1, c);
  const any_tensor all = small.tensor<std::int64_t>({300}).value();
  graph_recorder rec = small.record("wide");
  for (std::int64_t i = 0; i < 300; ++i)
    rec.add(add{.x = all.slice(0, i, i + 1).value()});
  expect(small.run(std::move(rec).finish().value()).get_result().error(), errc::size_overflow,
         "device_config::mailbox_bytes is 8192");
}

TEST_F(GraphRefusal, AtARunNamesTheRequestAndItsField) {
  const auto y = gpu_.allocate(dtype::i64, {2}, initial::zero, placement::own).value();
  const auto g = recorded([&](graph_recorder& rec) {
                   rec.add(add{.x = x_, .value = 1});
                   rec.add(scale{.x = x_, .y = y});
                 }).value();
  gpu_.freeze(y).get();
  expect(run(g).error(), errc::frozen_buffer, "request 1, graphs.scale: y is written");
  gpu_.thaw(y).get();
  EXPECT_EQ(text(run(g)), "done");
  auto late = gpu_.run(g, {.deadline = std::chrono::nanoseconds(0)});
  EXPECT_EQ(late.get_result().error().code, errc::deadline_exceeded);
  device other = system_.device(1, config());
  expect(other.run(g).get_result().error(), errc::foreign_buffer,
         "request 0, graphs.add: x belongs to");
  gpu_.release(x_);
  expect(run(g).error(), errc::stale_buffer, "request 0, graphs.add: x is stale");
}

}  // namespace
}  // namespace troupe::test
