#include "graph_fixture.hpp"

#include <troupe/blas.hpp>
#include <troupe/memory.hpp>

#include <algorithm>
#include <functional>
#include <random>

namespace troupe::test {
namespace {

class Graph : public graph_fixture {};

TEST_F(Graph, OfTwoProductsGivesTheBitsOfTheSameRequests) {
  std::mt19937 random(1);
  std::vector<float> values(std::size_t{64} * 64);
  const auto matrix = [&] {
    for (float& v : values)
      v = std::uniform_real_distribution<float>(-1, 1)(random);
    auto t = gpu_.tensor<float>({64, 64}).value();
    gpu_.copy(values, t).get();
    return t;
  };
  const auto x = matrix();
  const auto w = matrix();
  const auto v = matrix();
  const auto h = gpu_.tensor<float>({64, 64}).value();
  const auto y = gpu_.tensor<float>({64, 64}).value();
  const blas::gemm first{.a = x, .b = w, .c = h};
  const blas::gemm second{.a = h, .b = v, .c = y};
  gpu_.ask(first).get();
  gpu_.ask(second).get();
  std::vector<float> expected(values.size());
  gpu_.copy(y, expected).get();
  const auto g = recorded([&](graph_recorder& rec) {
    rec.add(first);
    rec.add(second);
  });
  ASSERT_TRUE(g);
  for (int i = 0; i < 3; ++i) {
    gpu_.ask(memory::fill{.to = y, .value = 7}).get();
    gpu_.ask(memory::fill{.to = h, .value = 7}).get();
    ASSERT_EQ(text(run(*g)), "done");
    gpu_.copy(y, values).get();
    EXPECT_EQ(values, expected);
  }
}

TEST_F(Graph, AnswersTheRepliesOfItsRequests) {
  const auto x = make({1, 2});
  reply_in_graph<std::int64_t> first;
  reply_in_graph<std::int64_t> second;
  reply_in_graph<void> none;
  const auto g = recorded([&](graph_recorder& rec) {
    first = rec.add(add{.x = x, .value = 10});
    second = rec.add(add{.x = x, .value = 100});
    none = rec.add(scale{.x = x, .y = make({0, 0})});
  });
  const graph_replies replies = run(*g).value();
  EXPECT_EQ(replies[first], 11);
  EXPECT_EQ(replies[second], 111);
  EXPECT_EQ(run(*g).value()[second], 221);
  EXPECT_EQ(replies.find(none.request, none.type).error().code, errc::invalid_argument);
  EXPECT_EQ(
      replies.get(reply_in_graph<std::int64_t>{.request = 9, .type = first.type}).error().code,
      errc::invalid_argument);
}

TEST_F(Graph, RepeatsItsBodyWhileTheConditionHolds) {
  const auto left = make({5});
  const auto x = make({0});
  const auto g = recorded([&](graph_recorder& rec) {
    rec.repeat_while(left, [&](graph_recorder& body) {
      body.add(add{.x = x, .value = 3});
      body.add(add{.x = left, .value = -1});
    });
    rec.add(add{.x = x, .value = 1000});
  });
  EXPECT_EQ(text(run(*g)), "done");
  EXPECT_EQ(content(x), numbers{1015});
  EXPECT_EQ(text(run(*g)), "done");  // the condition no longer holds
  EXPECT_EQ(content(x), numbers{2015});
}

TEST_F(Graph, EndsALoopThatDoesNotEndByAnErrorAndGoesOnServing) {
  const auto left = make({1});
  const auto x = make({0});
  const auto g = recorded([&](graph_recorder& rec) {
    rec.repeat_while(left, {.at_most = 10},
                     [&](graph_recorder& body) { body.add(add{.x = x, .value = 1}); });
  });
  auto outcome = run(*g);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::numerical);
  EXPECT_TRUE(
      has(outcome.error().message, "request 0: repeat_while: the condition still holds after 10"));
  EXPECT_EQ(gpu_.generation(), 1U);
}

TEST_F(Graph, RunsTheBodyThatTheConditionChooses) {
  const auto which = make({0});
  const auto x = make({0});
  reply_in_graph<std::int64_t> chosen;
  const auto adds = [&](std::int64_t value) {
    return [&, value](graph_recorder& body) { body.add(add{.x = x, .value = value}); };
  };
  const auto g = recorded([&](graph_recorder& rec) {
    rec.run_if(which, adds(1), adds(10));
    rec.run_if(which, [&](graph_recorder& body) { chosen = body.add(add{.x = x, .value = 100}); });
    rec.choose(which, {adds(1'000), adds(10'000), {[](graph_recorder&) {}}});
  });
  const auto run_with = [&](std::int64_t value) {
    set(which, {value});
    set(x, {0});
    return run(*g).value();
  };
  EXPECT_EQ(run_with(0).get(chosen).error().code, errc::no_reply);
  EXPECT_EQ(content(x), numbers{1'010});
  EXPECT_EQ(run_with(1)[chosen], 101);
  EXPECT_EQ(content(x), numbers{10'101});
  for (const std::int64_t other : {2, 3, -1}) {
    (void)run_with(other);
    EXPECT_EQ(content(x), numbers{101});
  }
}

TEST_F(Graph, TakesOtherTensorsForItsParametersAndTheirViews) {
  const auto x = make({1, 2, 3, 4});
  const auto y = make({0, 0});
  const auto g = recorded([&](graph_recorder& rec) {
    rec.add(scale{.x = x.slice(0, 0, 2).value(), .y = y, .factor = 10});
    rec.add(add{.x = x.slice(0, 2, 4).value(), .value = 5});
    rec.parameter("x", x);
    rec.parameter("y", y);
  });
  const auto x2 = make({6, 7, 8, 9});
  const auto y2 = make({0, 0});
  EXPECT_EQ(text(run(*g, {{"x", x2}})), "done");
  EXPECT_EQ(content(y), (numbers{60, 70}));
  EXPECT_EQ(content(x2), (numbers{6, 7, 13, 14}));
  EXPECT_EQ(content(x), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(text(run(*g, {{"y", y2}, {"x", x}})), "done");
  EXPECT_EQ(content(y2), (numbers{10, 20}));
  EXPECT_EQ(text(run(*g)), "done");
  EXPECT_EQ(content(y), (numbers{10, 20}));

  const auto code = [&](const std::vector<graph_argument>& with) {
    auto outcome = run(*g, with);
    return outcome ? errc{} : outcome.error().code;
  };
  EXPECT_EQ(code({{"z", y2}}), errc::invalid_argument);
  EXPECT_EQ(code({{"y", y2}, {"y", y2}}), errc::invalid_argument);
  EXPECT_EQ(code({{"y", {}}}), errc::invalid_argument);
  EXPECT_EQ(code({{"y", gpu_.host_tensor<std::int64_t>({2}).value()}}), errc::invalid_argument);
  EXPECT_EQ(code({{"y", gpu_.tensor<double>({2}).value()}}), errc::type_mismatch);
  EXPECT_EQ(code({{"y", x2}}), errc::shape_mismatch);
  EXPECT_EQ(code({{"y", x2.slice(0, 0, 4, 2).value()}}), errc::layout_unsupported);
  EXPECT_EQ(code({{"y", x2.slice(0, 1, 3).value()}}), errc::layout_unsupported);  // alignment
  EXPECT_EQ(code({{"y", x.slice(0, 0, 2).value()}}), errc::aliasing);
  EXPECT_EQ(code({{"y", x2.slice(0, 0, 2).value()}, {"x", x2}}), errc::aliasing);
}

TEST_F(Graph, TakesOtherNumbersForItsParameters) {
  const auto x = make({1, 2});
  const auto y = make({0, 0});
  const auto g = recorded([&](graph_recorder& rec) {
    const auto first = rec.add(scale{.x = x, .y = y, .factor = 2});
    const auto second = rec.add(add{.x = y, .value = 1});
    rec.parameter("factor", first, "factor");
    rec.parameter("plus", second, "value");
  });
  EXPECT_EQ(text(run(*g)), "done");
  EXPECT_EQ(content(y), (numbers{3, 5}));
  EXPECT_EQ(text(run(*g, {{"plus", 10}, {"factor", 3}})), "done");
  EXPECT_EQ(content(y), (numbers{13, 16}));
  EXPECT_EQ(text(run(*g, {{"factor", 5}})), "done");
  EXPECT_EQ(content(y), (numbers{6, 11}));
  EXPECT_EQ(text(run(*g)), "done");
  EXPECT_EQ(content(y), (numbers{3, 5}));
  const auto outer = recorded([&](graph_recorder& rec) { rec.add(*g, {{"plus", 0}}); });
  EXPECT_EQ(text(run(*outer)), "done");
  EXPECT_EQ(content(y), (numbers{2, 4}));
  EXPECT_EQ(run(*g, {{"plus", x}}).error().code, errc::invalid_argument);
}

// The number decides whether the request reads what it overwrites.
TEST_F(Graph, IsUpdatedByAParameterThatKeepsOldContent) {
  const auto x = gpu_.tensor<float>({1, 1}, initial::zero).value();
  const auto y = gpu_.tensor<float>({1, 1}).value();
  gpu_.ask(memory::fill{.to = y, .value = 5}).get();
  const auto g = recorded([&](graph_recorder& rec) {
    const auto product = rec.add(blas::gemm{.a = x, .b = x, .c = y, .beta = 0});
    rec.parameter("beta", product, "beta");
  });
  EXPECT_EQ(text(run(*g, {{"beta", 3.0}})), "done");
  std::vector<float> value(1);
  gpu_.copy(y, value).get();
  EXPECT_EQ(value[0], 15);
  // Its old content would be read.
  const auto fresh = gpu_.tensor<float>({1, 1}).value();
  (void)gpu_.ask(fault::inject{.what = fault::kind::exception, .output = fresh}).get_result();
  const auto tainted = recorded([&](graph_recorder& rec) {
    const auto product = rec.add(blas::gemm{.a = x, .b = x, .c = fresh, .beta = 0});
    rec.parameter("beta", product, "beta");
  });
  EXPECT_EQ(run(*tainted).error().code, errc::tainted_buffer);
  EXPECT_EQ(run(*g, {{"beta", std::complex<double>(0, 1)}}).error().message,
            "parameter beta: request 0, blas.gemm: beta must be real because c is f32; it is 0+1i");
}

TEST_F(Graph, HoldsTheRequestsOfAChild) {
  const auto left = make({2});
  const auto x = make({1});
  const auto child = recorded([&](graph_recorder& rec) {
    rec.repeat_while(left, [&](graph_recorder& body) {
      body.add(add{.x = x, .value = 7});
      body.add(add{.x = left, .value = -1});
    });
    rec.run_if(
        left, [](graph_recorder&) {},
        [&](graph_recorder& body) { body.add(add{.x = x, .value = 100}); });
    rec.parameter("x", x);
  });
  const auto y = make({2});
  const auto g = recorded([&](graph_recorder& rec) {
    rec.add(add{.x = y, .value = 1000});
    rec.add(*child, {{"x", y}});
    rec.add(*child);
  });
  EXPECT_EQ(g->size(), 11U);
  EXPECT_EQ(text(run(*g)), "done");
  EXPECT_EQ(content(y), numbers{1116});
  EXPECT_EQ(content(x), numbers{101});
}

TEST_F(Graph, ShowsItsRequestsAndWhatOrdersThem) {
  const auto x = make({1});
  const auto y = make({1});
  const auto g = recorded([&](graph_recorder& rec) {
    rec.add(scale{.x = x, .y = y, .factor = 2});
    rec.run_if(y, [&](graph_recorder& body) { body.add(add{.x = x, .value = 1}); });
  });
  EXPECT_EQ(g->name(), "step");
  EXPECT_EQ(g->requests(),
            (std::vector<std::string>{"graphs.scale x=<i64>[1] y=<i64>[1] factor=2",
                                      "run_if <i64>[1]", "graphs.add x=<i64>[1] value=1"}));
  const std::string dot = g->dot();
  EXPECT_TRUE(has(dot, "n0 -> n1 [label=RAW];")) << dot;
  EXPECT_TRUE(has(dot, "n0 -> n2 [label=WAR];")) << dot;
  EXPECT_TRUE(has(dot, "subgraph cluster1")) << dot;
  EXPECT_TRUE(has(g->json(), R"({"from": 0, "to": 1, "kind": "RAW"})")) << g->json();
}

TEST_F(Graph, RunsInAThreadOfTheProgram) {
  device_config c = config();
  c.isolation = isolation::thread;
  gpu_.stop();
  gpu_ = system_.device(0, c);
  const auto x = make({1});
  reply_in_graph<std::int64_t> last;
  const auto g = recorded([&](graph_recorder& rec) {
    rec.add(add{.x = x, .value = 1});
    last = rec.add(add{.x = x, .value = 1});
  });
  EXPECT_EQ(run(*g).value()[last], 3);
  EXPECT_EQ(run(*g).value()[last], 5);
}

TEST_F(Graph, TakesOtherTensorsWhileOtherRunsAreInFlight) {
  const auto x = make({1});
  std::vector<any_tensor> results;
  std::vector<future<graph_replies>> runs;
  const auto first = make({0});
  const auto g = recorded([&](graph_recorder& rec) {
    for (int i = 0; i < 20; ++i)
      rec.add(scale{.x = x, .y = first, .factor = i});
    rec.parameter("y", first);
  });
  for (int i = 0; i < 50; ++i) {
    results.push_back(make({-1}));
    runs.push_back(gpu_.run(*g, {{"y", results.back()}}));
  }
  for (auto& one : runs)
    EXPECT_EQ(text(one.get_result()), "done");
  for (const any_tensor& one : results)
    EXPECT_EQ(content(one), numbers{19});
}

// A random list of requests, recorded and sent one by one.
TEST_F(Graph, OfRandomRequestsGivesTheContentOfTheSameRequests) {
  constexpr std::int64_t size = 12;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    numbers start(size);
    std::ranges::generate(start, [&] { return below(5); });
    const auto eager = make(start);
    const auto in_graph = make(start);
    const auto other = make(start);
    const auto view = [&](const any_tensor& of, std::int64_t first, std::int64_t n,
                          std::int64_t step) {
      return of.slice(0, first, first + (n - 1) * step + 1, step).value();
    };
    graph_recorder rec = gpu_.record("random");
    std::vector<add> adds;
    std::vector<std::function<void()>> sends;
    const std::int64_t count = 1 + below(30);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = 1 + below(3);
      const std::int64_t step = 1 + below(2);
      const std::int64_t from = below(6 - (n - 1) * step);
      const std::int64_t to = 6 + below(6 - (n - 1) * step);
      const std::int64_t value = below(9) - 4;
      if (below(2) == 0) {
        rec.add(add{.x = view(in_graph, from, n, step), .value = value});
        sends.emplace_back(
            [=, this] { (void)gpu_.tell(add{.x = view(eager, from, n, step), .value = value}); });
      } else {
        const bool back = below(2) == 0;
        const auto one = [=](const any_tensor& of) {
          return scale{.x = view(of, back ? to : from, n, step),
                       .y = view(of, back ? from : to, n, step),
                       .factor = value};
        };
        rec.add(one(in_graph));
        sends.emplace_back([=, this] { (void)gpu_.tell(one(eager)); });
      }
    }
    rec.parameter("all", in_graph);
    const auto g = std::move(rec).finish();
    ASSERT_TRUE(g) << seed;
    for (int times = 0; times < 3; ++times)
      for (const auto& send : sends)
        send();
    std::vector<future<graph_replies>> runs;
    for (int times = 0; times < 3; ++times) {
      runs.push_back(gpu_.run(*g));  // all in flight at once
      runs.push_back(gpu_.run(*g, {{"all", other}}));
    }
    for (auto& one : runs)
      ASSERT_EQ(text(one.get_result()), "done") << seed;
    ASSERT_EQ(content(in_graph), content(eager)) << seed;
    ASSERT_EQ(content(other), content(eager)) << seed;
  }
}

}  // namespace
}  // namespace troupe::test

int main(int argc, char** argv) {
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_operations)) {
    return *status;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
