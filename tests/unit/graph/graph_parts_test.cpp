// Parameters that are parts of a tensor which the graph uses as a whole, too: rows of a cache.
#include "graph_fixture.hpp"

#include <troupe/memory.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

namespace troupe::test {
namespace {

class GraphParts : public graph_fixture {
 protected:
  static constexpr std::int64_t size = 8;

  any_tensor rows(std::int64_t first, std::int64_t count = 2) const {
    return cache_.slice(0, first, first + count).value();
  }
  /// Writes two rows of the cache, and then reads all of it.
  request_graph appends() {
    return recorded([&](graph_recorder& rec) { add_appends(rec, token_, cache_, rows(0), out_); })
        .value();
  }
  static void add_appends(graph_recorder& rec, const any_tensor& token, const any_tensor& cache,
                          const any_tensor& rows, const any_tensor& out) {
    // region: part
    rec.add(scale{.x = token, .y = rows, .factor = 10});
    rec.add(scale{.x = cache, .y = out});
    rec.parameter("rows", rows, cache);
    // endregion: part
  }
  /// The code and the text of a refusal, or that of a result.
  std::string refusal(const request_graph& g, const std::vector<graph_argument>& with) {
    return text(run(g, with));
  }

  const any_tensor token_ = make({1, 2});
  const any_tensor cache_ = make(numbers(size, 7));
  const any_tensor out_ = make(numbers(size, 0));
};

TEST_F(GraphParts, LieElsewhereInTheWholeAtEachRun) {
  const request_graph g = appends();
  numbers expected(size, 7);
  for (const std::int64_t first : {2, 6, 0, 4, 3}) {
    set(token_, {first, first + 1});
    expected[static_cast<std::size_t>(first)] = 10 * first;
    expected[static_cast<std::size_t>(first) + 1] = 10 * first + 10;
    ASSERT_EQ(refusal(g, {{"rows", rows(first)}}), "done");
    EXPECT_EQ(content(cache_), expected);
    EXPECT_EQ(content(out_), expected);
  }
}

TEST_F(GraphParts, MoveWithTheWholeIfItIsAParameterToo) {
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = token_, .y = rows(0), .factor = 10});
                            rec.add(scale{.x = token_, .y = rows(5)});
                            rec.add(scale{.x = cache_, .y = out_});
                            rec.parameter("rows", rows(0), cache_);
                            rec.parameter("cache", cache_);
                          }).value();
  const any_tensor other = make({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(refusal(g, {{"cache", other}}), "done");
  EXPECT_EQ(content(other), (numbers{10, 20, 1, 1, 1, 1, 2, 1}));
  const any_tensor third = make({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(refusal(g, {{"rows", third.slice(0, 2, 4).value()}, {"cache", third}}), "done");
  EXPECT_EQ(content(third), (numbers{1, 1, 10, 20, 1, 1, 2, 1}));
  EXPECT_EQ(content(out_), content(third));
  EXPECT_EQ(content(cache_), numbers(size, 7));
  const std::string outside = refusal(g, {{"cache", third}, {"rows", rows(2)}});
  EXPECT_TRUE(has(outside, "parameter rows must lie within <i64>[8]")) << outside;
}

// It is written before it is read, so the next worker runs it again.
TEST_F(GraphParts, AreWrittenAgainAfterALoss) {
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  auto begun = gpu_.host_tensor<std::int64_t>({2}).value();
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = token_, .y = rows(0), .factor = 10});
                            rec.add(scale{.x = cache_, .y = out_});
                            rec.add(scale{.x = token_, .y = begun});
                            rec.add(fault::spin_until{.flag = flag});
                            rec.parameter("rows", rows(0), cache_);
                          }).value();
  numbers expected(size, 7);
  for (const std::int64_t first : {2, 4, 0}) {
    flag[0] = 0;
    begun[0] = 0;
    auto done = gpu_.run(g, {{"rows", rows(first)}});
    while (std::atomic_ref(begun[0]).load() == 0 && !done.ready())
      std::this_thread::yield();
    ASSERT_EQ(::kill(gpu_.worker_pid().value(), SIGKILL), 0);
    std::atomic_ref(flag[0]).store(1);
    ASSERT_EQ(text(done.get_result()), "done");
    expected[static_cast<std::size_t>(first)] = 10;
    expected[static_cast<std::size_t>(first) + 1] = 20;
    EXPECT_EQ(content(out_), expected);
  }
  EXPECT_EQ(gpu_.statistics().replayed, 3U);
}

TEST_F(GraphParts, ThatAFaultLeftUndefinedAreDefinedByTheNextRun) {
  const auto make_graph = [&](fault::kind what) {
    return recorded([&](graph_recorder& rec) {
             rec.add(scale{.x = token_, .y = rows(0), .factor = 10});
             rec.add(fault::inject{.what = what});
             rec.add(scale{.x = cache_, .y = out_});
             rec.parameter("rows", rows(0), cache_);
           })
        .value();
  };
  const request_graph bad = make_graph(fault::kind::exception);
  const request_graph good = appends();
  EXPECT_TRUE(has(refusal(bad, {{"rows", rows(4)}}), "handler_failed"));
  const std::string elsewhere = refusal(good, {{"rows", rows(2)}});
  EXPECT_TRUE(has(elsewhere, "request 1, graphs.scale: x is tainted")) << elsewhere;
  EXPECT_EQ(refusal(good, {{"rows", rows(4)}}), "done");
  EXPECT_EQ(content(out_), (numbers{7, 7, 7, 7, 10, 20, 7, 7}));
  EXPECT_EQ(refusal(good, {{"rows", rows(2)}}), "done");
}

TEST_F(GraphParts, AreRefusedWhereTheyDoNotLieInTheWhole) {
  const request_graph g = appends();
  const auto expect = [&](const any_tensor& part, std::string_view why) {
    const std::string got = refusal(g, {{"rows", part}});
    EXPECT_TRUE(has(got, why)) << got;
  };
  expect(make({0, 0}), "parameter rows must lie within <i64>[8], as it was recorded");
  expect(out_.slice(0, 0, 2).value(), "parameter rows must lie within <i64>[8]");
  expect(rows(0, 3), "shape_mismatch");
  EXPECT_EQ(content(cache_), numbers(size, 7));
  EXPECT_EQ(gpu_.statistics().failed, 0U);
  const auto declared = [&](const any_tensor& part, const any_tensor& whole) {
    return refused([&](graph_recorder& rec) {
             rec.add(scale{.x = token_, .y = rows(0)});
             rec.add(scale{.x = cache_, .y = out_});
             rec.parameter("rows", part, whole);
           })
        .to_string();
  };
  EXPECT_TRUE(has(declared(rows(0), out_), "parameter rows must lie within <i64>[8]; it is"));
  EXPECT_TRUE(has(declared(rows(0), {}), "parameter rows: within must not be null"));
  EXPECT_TRUE(has(declared(rows(2), cache_), "no request uses parameter rows"));
}

TEST_F(GraphParts, OfBytesAreRefusedWhereNoElementBegins) {
  const auto all = any_tensor::owned(cache_.buffer(), dtype::u8, {8 * size});
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = token_, .y = rows(0)});
                            rec.parameter("rows", all.slice(0, 0, 16).value(), all);
                          }).value();
  const auto at = [&](std::int64_t byte) { return all.slice(0, byte, byte + 16).value(); };
  const std::string got = refusal(g, {{"rows", at(20)}});
  EXPECT_TRUE(has(got, "layout_unsupported")) << got;
  ASSERT_EQ(refusal(g, {{"rows", at(24)}}), "done");
  EXPECT_EQ(content(rows(3)), content(token_));
}

TEST_F(GraphParts, AreRefusedWhereTheyOverlapEachOther) {
  const auto two = [&](std::int64_t second) {
    return recorded([&](graph_recorder& rec) {
      rec.add(scale{.x = token_, .y = rows(0)});
      rec.add(scale{.x = token_, .y = rows(second)});
      rec.add(scale{.x = cache_, .y = out_});
      rec.parameter("a", rows(0), cache_);
      rec.parameter("b", rows(second), cache_);
    });
  };
  EXPECT_EQ(two(1).error().code, errc::aliasing);
  const auto g = two(2);
  ASSERT_TRUE(g) << g.error().to_string();
  EXPECT_EQ(refusal(*g, {{"a", rows(6)}, {"b", rows(4)}}), "done");
  const std::string same = refusal(*g, {{"a", rows(4)}, {"b", rows(4)}});
  EXPECT_TRUE(has(same, "parameter")) << same;
  const std::string half = refusal(*g, {{"a", rows(3)}});
  EXPECT_TRUE(has(half, "overlaps another tensor of the graph")) << half;
}

// There, the graph would read bytes before it overwrites them.
TEST_F(GraphParts, AreRefusedWhereTheGraphWouldReadWhatItOverwrites) {
  const request_graph g = recorded([&](graph_recorder& rec) {
                            rec.add(scale{.x = rows(0), .y = out_.slice(0, 0, 2).value()});
                            rec.add(scale{.x = token_, .y = rows(4), .factor = 3});
                            rec.parameter("rows", rows(4), cache_);
                          }).value();
  EXPECT_EQ(refusal(g, {{"rows", rows(6)}}), "done");
  const std::string there = refusal(g, {{"rows", rows(1)}});
  EXPECT_TRUE(has(there, "parameter rows: there, the graph reads what")) << there;
  EXPECT_TRUE(has(there, "(request 1, graphs.scale: y)")) << there;
  // One request cannot do it at all.
  const request_graph one = recorded([&](graph_recorder& rec) {
                              rec.add(scale{.x = rows(0), .y = rows(4), .factor = 3});
                              rec.parameter("to", rows(4), cache_);
                            }).value();
  const std::string both = refusal(one, {{"to", rows(1)}});
  EXPECT_TRUE(has(both, "request 0, graphs.scale: ")) << both;
  EXPECT_EQ(gpu_.statistics().failed, 0U);
}

// Indices on the device say which rows are written; the program knows them.
TEST_F(GraphParts, MayBeAllThatARequestWritesByItsIndices) {
  const any_tensor indices = make({0, 1});
  auto flag = gpu_.host_tensor<std::uint32_t>({1}).value();
  flag[0] = 1;
  const request_graph g = recorded([&](graph_recorder& rec) {
                            const auto one =
                                rec.add(put{.x = token_, .indices = indices, .table = cache_});
                            rec.add(fault::spin_until{.flag = flag});
                            rec.add(scale{.x = cache_, .y = out_});
                            rec.writes_only(one, "table", {rows(0)});
                            rec.parameter("rows", rows(0), cache_);
                          }).value();
  numbers expected(size, 7);
  for (const std::int64_t first : {6, 2, 0, 4}) {
    set(indices, {first, first + 1});
    set(token_, {first, 50});
    flag[0] = 0;
    auto done = gpu_.run(g, {{"rows", rows(first)}});
    // It waits before or at the flag. It reads nothing that it writes, so it runs again.
    ASSERT_EQ(::kill(gpu_.worker_pid().value(), SIGKILL), 0);
    std::atomic_ref(flag[0]).store(1);
    ASSERT_EQ(text(done.get_result()), "done");
    expected[static_cast<std::size_t>(first)] = first;
    expected[static_cast<std::size_t>(first) + 1] = 50;
    ASSERT_EQ(content(cache_), expected);
    ASSERT_EQ(content(out_), expected);
  }
  // Within another graph, at other rows.
  const request_graph outer =
      recorded([&](graph_recorder& rec) { rec.add(g, {{"rows", rows(4)}}); }).value();
  EXPECT_EQ(refusal(outer, {}), "done");
  EXPECT_TRUE(gpu_.tainted_by(cache_).empty());
}

TEST_F(GraphParts, AreTheOnlyRowsThatAFaultLeavesUndefined) {
  const any_tensor indices = make({2, 3});
  const request_graph g = recorded([&](graph_recorder& rec) {
                            const auto one =
                                rec.add(put{.x = token_, .indices = indices, .table = cache_});
                            rec.add(fault::inject{.what = fault::kind::exception});
                            rec.writes_only(one, "table", {rows(2)});
                          }).value();
  EXPECT_TRUE(has(refusal(g, {}), "handler_failed"));
  EXPECT_FALSE(gpu_.tainted_by(rows(2)).empty());
  EXPECT_TRUE(gpu_.tainted_by(rows(0)).empty());
  EXPECT_TRUE(gpu_.tainted_by(rows(4, 4)).empty());
  const auto refused_parts = [&](std::uint64_t request, std::string_view field,
                                 const std::vector<any_tensor>& parts) {
    return refused([&](graph_recorder& rec) {
             rec.add(put{.x = token_, .indices = indices, .table = out_});
             rec.writes_only(request, field, parts);
           })
        .to_string();
  };
  const auto expect = [](const std::string& got, std::string_view why) {
    EXPECT_TRUE(has(got, why)) << got;
  };
  expect(refused_parts(1, "table", {}), "writes_only of request 1: there is no such request");
  expect(refused_parts(0, "y", {}), "it has no tensor y");
  expect(refused_parts(0, "x", {token_}), "it only reads x");
  expect(refused_parts(0, "table", {token_}), "a part must lie within <i64>[8]; it is <i64>[2]");
  expect(refused_parts(0, "table", {any_tensor()}), "a part must lie within <i64>[8]; it is null");
}

/// A list of requests on views of one tensor, of which some are parameters.
class random_list {
 public:
  struct rows {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  using places = std::vector<rows>;

  random_list(unsigned seed, std::int64_t size) : random_(seed), size_(size) {
    // Parts first, which are apart; then fixed views.
    parts_ = 1 + random_() % 3;
    for (std::size_t i = 0; i < parts_; ++i)
      views_.push_back({2 * static_cast<std::int64_t>(i), 1 + below(2)});
    for (int i = 0; i < 3; ++i) {
      const std::int64_t count = 1 + below(size);
      views_.push_back({below(size - count + 1), count});
    }
    for (std::size_t i = 0; i < 8; ++i) {
      step one{.x = random_() % views_.size(), .y = random_() % views_.size(), .value = below(9)};
      if (i < parts_) one.y = i;  // each part is used
      const rows& x = views_[one.x];
      const rows& y = views_[one.y];
      one.is_scale =
          x.count == y.count && (x.first + x.count <= y.first || y.first + y.count <= x.first);
      steps_.push_back(one);
    }
  }

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  /// Other places for some parts, and for the views in them.
  places drawn(std::vector<std::size_t>& moved) {
    places now = views_;
    for (std::size_t i = 0; i < parts_; ++i) {
      if (below(4) == 0) continue;
      moved.push_back(i);
      now[i].first = below(size_ - now[i].count + 1);
      for (std::size_t k = parts_; k < views_.size(); ++k) {
        const std::int64_t at = views_[k].first - views_[i].first;
        if (at >= 0 && at + views_[k].count <= views_[i].count) now[k].first = now[i].first + at;
      }
    }
    return now;
  }
  [[nodiscard]] const places& recorded() const { return views_; }
  [[nodiscard]] std::size_t parts() const { return parts_; }

  template <class View>
  void record(graph_recorder& rec, View&& view) const {
    for (const step& one : steps_) {
      if (one.is_scale) {
        rec.add(scale{.x = view(views_[one.x]), .y = view(views_[one.y]), .factor = one.value});
      } else {
        rec.add(add{.x = view(views_[one.y]), .value = one.value});
      }
    }
  }
  void run(std::vector<std::int64_t>& content, const places& now) const {
    const auto at = [&](std::size_t view, std::int64_t k) -> std::int64_t& {
      return content[static_cast<std::size_t>(now[view].first + k)];
    };
    for (const step& one : steps_) {
      for (std::int64_t k = 0; k < now[one.y].count; ++k)
        at(one.y, k) = one.is_scale ? one.value * at(one.x, k) : at(one.y, k) + one.value;
    }
  }

 private:
  struct step {
    bool is_scale = false;  ///< y = x · value, else y = y + value
    std::size_t x = 0;
    std::size_t y = 0;
    std::int64_t value = 0;
  };

  std::mt19937 random_;
  std::int64_t size_;
  std::size_t parts_ = 0;
  places views_;
  std::vector<step> steps_;
};

// A run with parts at random places is refused, or gives the content that the list gives there.
TEST_F(GraphParts, OfRandomGraphsGiveTheContentOfTheSameRequestsThere) {
  const auto view = [&](const random_list::rows& r) { return rows(r.first, r.count); };
  int done = 0;
  int refusals = 0;
  for (unsigned seed = 0; seed < (on_queues() ? 40u : 300u); ++seed) {
    SCOPED_TRACE(seed);
    random_list list(seed, size);
    graph_recorder rec = gpu_.record("random");
    list.record(rec, view);
    for (std::size_t i = 0; i < list.parts(); ++i)
      rec.parameter(std::to_string(i), view(list.recorded()[i]), cache_);
    const auto g = std::move(rec).finish();
    ASSERT_TRUE(g) << g.error().to_string();
    for (int times = 0; times < 3; ++times) {
      std::vector<std::size_t> moved;
      const random_list::places now = list.drawn(moved);
      std::vector<graph_argument> with;
      for (const std::size_t i : moved)
        with.push_back({std::to_string(i), view(now[i])});
      numbers expected(size);
      std::ranges::generate(expected, [&] { return list.below(5); });
      set(cache_, expected);
      auto outcome = run(*g, with);
      if (!outcome) {
        ASSERT_EQ(outcome.error().code, errc::aliasing) << outcome.error().to_string();
        ++refusals;
        continue;
      }
      list.run(expected, now);
      ASSERT_EQ(content(cache_), expected);
      ++done;
    }
  }
  EXPECT_GT(done, 15);
  EXPECT_GT(refusals, 15);
  EXPECT_EQ(gpu_.statistics().failed, 0U) << "refused before they are sent";
}

}  // namespace
}  // namespace troupe::test
