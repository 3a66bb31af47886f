// A journal is replayed: equal where nothing has changed, and different where it has.
#include "journal_fixture.hpp"

namespace troupe::test {
namespace {

TEST_F(Journal, IsReplayedBitForBitAsOftenAsOneLikes) {
  if (queues() != nullptr) GTEST_SKIP() << "they have no numbers and no norms";
  const auto noted = record([](device& gpu) {
    const auto a = filled(gpu, {16, 16}, 1);
    const auto b = filled(gpu, {16, 16}, -7);
    auto c = gpu.tensor<float>({16, 16}).value();
    for (int i = 0; i < 20; ++i) {
      gpu.tell(blas::gemm{.a = a, .b = b, .c = c, .alpha = 0.25, .beta = 0.5}).value();
      gpu.tell(rng::uniform{.to = b, .from = {.seed = static_cast<std::uint64_t>(i)}}).value();
    }
    (void)gpu.ask(blas::nrm2{.x = c.reshape({256}).value(), .result = {}}).get_result();
    (void)content(gpu, c);
  });
  EXPECT_EQ(noted.gaps, 0U);
  EXPECT_GE(noted.requests, 44U);
  for (int i = 0; i < 2; ++i) {
    const replay_report done = report();
    EXPECT_TRUE(done.equal()) << done.text();
    EXPECT_TRUE(done.is_exact);
    EXPECT_EQ(done.requests, noted.requests);
    EXPECT_EQ(done.outcomes, noted.requests);
    EXPECT_GE(done.elements, 256U);
    EXPECT_TRUE(done.remarks.empty()) << done.text();
  }
}

TEST_F(Journal, TellsWhichRequestOfTheProgramSawAnotherValue) {
  record([](device& gpu) {
    const auto x = filled(gpu, {100}, 0);
    const auto y = gpu.tensor<float>({100}).value();
    gpu.tell(tripling{.x = x, .y = y}).value();
    (void)content(gpu, y);
    (void)content(gpu, x);
  });
  EXPECT_TRUE(report().equal());
  ::setenv(wrong_from_variable, "41", 1);  // for the workers of the replay
  const replay_report done = report();
  const replay_report first = report({.stop_at_difference = true});
  ::unsetenv(wrong_from_variable);
  ASSERT_EQ(done.differing, 1U) << done.text();
  EXPECT_EQ(done.differences[0].element, 41);
  EXPECT_EQ(done.differences[0].recorded, "123");
  EXPECT_EQ(done.differences[0].replayed, "124");
  EXPECT_EQ(done.differences[0].field, "to");
  EXPECT_EQ(first.differing, 1U);
  EXPECT_LT(first.requests, done.requests);
}

TEST_F(Journal, FindsTheRequestWhoseKernelDiffersBetweenTwoDevices) {
  record([](device& gpu) {
    auto x = filled(gpu, {100}, 0);
    auto y = gpu.tensor<float>({100}).value();
    for (int i = 0; i < 5; ++i) {
      gpu.tell(memory::fill{.to = y, .value = i}).value();
      gpu.tell(tripling{.x = x, .y = y, .can_be_wrong = i == 3}).value();
      gpu.tell(memory::copy{.from = y, .to = x}).value();
    }
    (void)content(gpu, x);
  });
  replay_options how{.stop_at_difference = true, .against = backend_kind::cpu};
  const replay_report good = report(how);
  EXPECT_TRUE(good.equal()) << good.text();
  EXPECT_GE(good.elements, 15U * 100);
  std::vector<std::string> with_variable{std::string(wrong_where_asked_variable) + "=7"};
  for (char** one = environ; *one != nullptr; ++one)
    with_variable.emplace_back(*one);
  environment_ = std::make_shared<const std::vector<std::string>>(std::move(with_variable));
  const replay_report done = report(how);
  ASSERT_EQ(done.differing, 1U) << done.text();
  const replay_difference& d = done.differences[0];
  EXPECT_NE(d.request.find("journals.tripling"), std::string::npos) << done.text();
  EXPECT_EQ(d.field, "y");
  EXPECT_EQ(d.element, 7);
  EXPECT_EQ(d.recorded, "567");  // the device that it is compared with
  EXPECT_EQ(d.replayed, "568");
}

TEST_F(Journal, HasTheContentsOfHostMemoryOnce) {
  const auto noted = record([](device& gpu) {
    const auto t = gpu.tensor<float>({100'000}).value();
    const numbers batch(100'000, 2.5F);
    for (int i = 0; i < 10; ++i)
      gpu.copy(batch, t).get();
    (void)content(gpu, t);
  });
  EXPECT_GE(noted.duplicates, 9U);
  EXPECT_LT(noted.file_bytes, 2 * 100'000 * sizeof(float));
  EXPECT_TRUE(report().equal());
}

TEST_F(Journal, TakesWhatRequestsLeaveInHostMemoryForOthers) {
  record([](device& gpu) {
    auto h = gpu.host_tensor<float>({64}).value();
    auto x = gpu.tensor<float>({64}).value();
    for (int i = 0; i < 20; ++i) {
      for (std::int64_t k = 0; k < 64; ++k)
        h[k] = static_cast<float>(k + i);
      // Not waited for. The third reads from h the result of the second.
      gpu.tell(memory::copy{.from = h, .to = x}).value();
      gpu.tell(tripling{.x = x, .y = h}).value();
      gpu.tell(memory::copy{.from = h, .to = x}).value();
      gpu.ask(tripling{.x = x, .y = h}).get();
      EXPECT_EQ(h[63], 9.F * static_cast<float>(63 + i));
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_GE(done.elements, 20U * 64);
}

TEST_F(Journal, HasWhatTheProgramDidWithMappedTensors) {
  record([](device& gpu) {
    auto x = filled(gpu, {64}, 1);
    auto y = gpu.tensor<float>({64}).value();
    gpu.tell(tripling{.x = x, .y = y}).value();
    {
      auto map = gpu.mapped(y, access::update).get();
      reinterpret_cast<float*>(map.address())[5] = 1000;
    }
    gpu.tell(tripling{.x = y, .y = x}).value();
    {
      auto map = gpu.mapped(x, access::read).get();
      EXPECT_EQ(reinterpret_cast<float*>(map.address())[5], 3000);
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_EQ(done.elements, 64U);
}

TEST_F(Journal, HasGraphsWithConditionsAndReplies) {
  record([](device& gpu) {
    auto x = filled(gpu, {8}, 1);
    auto y = gpu.tensor<float>({8}).value();
    graph_recorder rec = gpu.record("step");
    rec.add(tripling{.x = x, .y = y});
    rec.add(memory::copy{.from = y, .to = x});
    const auto norm = rec.add(blas::asum{.x = x});
    const request_graph g = std::move(rec).finish().value();
    float sum = 36;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(gpu.run(g).get()[norm].as<float>(), sum *= 3);
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
}

TEST_F(Journal, WithoutContentsHasRequestsAndOutcomes) {
  const auto noted = record(
      [](device& gpu) {
        auto x = filled(gpu, {8}, 1);
        auto y = gpu.tensor<float>({8}).value();
        gpu.ask(tripling{.x = x, .y = y}).get();
        (void)content(gpu, y);
      },
      {.data = journal_options::stored::frames});
  EXPECT_EQ(noted.contents, 0U);
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_EQ(done.elements, 0U);
}

TEST_F(Journal, ComparesARange) {
  record([](device& gpu) {
    auto x = filled(gpu, {8}, 1);
    for (int i = 0; i < 10; ++i)
      gpu.ask(memory::fill{.to = x, .value = i}).get();
    (void)content(gpu, x);
  });
  const replay_report all = report();
  const replay_report some = report({.from = 4, .to = 6});
  EXPECT_EQ(some.outcomes, 3U);
  EXPECT_LT(some.requests, all.requests);
}

TEST_F(Journal, BeginsAtACheckpoint) {
  constexpr std::int64_t n = 30'000;
  std::uint64_t lost = 0;
  const auto noted = record(
      [&](device& gpu) {
        // Each round needs what all before have left; two tensors are written once.
        auto sum = filled(gpu, {n}, 1);
        const auto ones = filled(gpu, {n}, 0);
        auto h = gpu.host_tensor<float>({n}).value();
        auto y = gpu.tensor<float>({n}).value();
        {
          const auto gone = filled(gpu, {n}, 7);
          lost += static_cast<std::uint64_t>(gone.count());
        }
        for (int i = 0; i < 20; ++i) {
          gpu.tell(tripling{.x = sum, .y = y}).value();
          gpu.tell(memory::copy{.from = y, .to = sum.slice(0, 0, n).value()}).value();
          if (i == 2) gpu.tell(tripling{.x = ones, .y = h}).value();
          numbers batch(n, static_cast<float>(i));
          auto x = gpu.tensor<float>({n}).value();
          gpu.copy(batch, x).get();
          EXPECT_EQ(content(gpu, x)[5], static_cast<float>(i));
        }
        gpu.tell(memory::copy{.from = h, .to = y}).value();
        EXPECT_EQ(content(gpu, y)[10], 30.F);
        gpu.tell(tripling{.x = sum, .y = y}).value();
        (void)content(gpu, y);
      },
      {.checkpoint_bytes = 1'000'000});
  EXPECT_EQ(noted.gaps, 0U);
  const replay_report all = report();
  EXPECT_TRUE(all.equal()) << all.text();
  EXPECT_TRUE(all.remarks.empty()) << all.text();
  const replay_report end = report({.from = noted.requests - 3});
  EXPECT_TRUE(end.equal()) << end.text();
  ASSERT_EQ(end.remarks.size(), 1U) << end.text();
  EXPECT_NE(end.remarks[0].find("checkpoint"), std::string::npos);
  EXPECT_LT(2 * end.requests, all.requests);
  EXPECT_GE(end.elements, static_cast<std::uint64_t>(n));
  EXPECT_TRUE(report({.from = 3}).remarks.empty());  // there is none before
}

TEST_F(Journal, OfTwoDevicesIsReplayedDeviceByDevice) {
  auto journal = request_journal::open(path_).value();
  {
    system all;
    device_config c = config();
    c.journal = journal;
    for (int i = 0; i < 2; ++i) {
      device gpu = all.device(i, c);
      auto x = filled(gpu, {8}, static_cast<float>(i));
      (void)content(gpu, x);
    }
  }
  journal.reset();
  EXPECT_TRUE(report().equal());
  EXPECT_LT(report({.device = 1}).requests, report().requests);
  EXPECT_FALSE(replayed({.device = 2}));
}

}  // namespace
}  // namespace troupe::test

int main(int argc, char** argv) {
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_tripling)) {
    return *status;
  }
  if (argc == 3 && std::string_view(argv[1]) == troupe::test::record_for_ever) {
    troupe::test::record_until_killed(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
