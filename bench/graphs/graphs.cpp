// Requests that are sent one by one, beside the same requests as a graph: TROUPE_BACKEND says
// where.

#include "graphs/after_a_kill.hpp"
#include "graphs/processor_time.hpp"
#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/graph.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

std::vector<blas::gemm> products(device& gpu, std::size_t count) {
  const auto make = [&] { return gpu.tensor<float>({64, 64}, initial::zero).value(); };
  std::vector<blas::gemm> all;
  any_tensor x = make();
  const any_tensor w = make();
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({.a = x, .b = w, .c = make()});
    x = all.back().c;
  }
  return all;
}

template <class Request>
request_graph graph_of(device& gpu, const std::vector<Request>& all) {
  graph_recorder rec = gpu.record("bench");
  for (const Request& one : all)
    rec.add(one);
  return std::move(rec).finish().value();
}

template <class Request>
void send_one_by_one(const device& gpu, const std::vector<Request>& all) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    (void)gpu.tell(all[i]);
  gpu.ask(all.back()).get();
}

void compare(report& out, const device& gpu, const std::string& what,
             const std::function<void()>& graph, const std::function<void()>& singly,
             double answer_limit, double processor_limit) {
  constexpr int turns = 20;
  constexpr std::size_t loop = 50;
  samples ours, theirs, quotients, our_time, their_time, time_quotients;
  bench::placement processors;
  for (int turn = 0; turn < turns; ++turn) {
    processors.trade();
    samples pair[2];
    double spent[2];
    for (int i = 0; i < 2; ++i) {
      const int which = (turn + i) % 2;
      const double before = processor_time(gpu);
      pair[which].take(loop, which == 0 ? graph : singly);
      spent[which] = (processor_time(gpu) - before) / static_cast<double>(loop);
    }
    quotients.add(pair[0].median() / pair[1].median());
    time_quotients.add(spent[0] / spent[1]);
    ours.add(pair[0]);
    theirs.add(pair[1]);
    our_time.add(spent[0]);
    their_time.add(spent[1]);
  }
  out.add({what + ", ask to reply", ours.middle(), "us", "one by one", theirs.middle(),
           ratio_at_most(answer_limit), quotients.middle()});
  out.add({what + ", processor time", our_time.middle(), "us", "one by one", their_time.middle(),
           ratio_at_most(processor_limit), time_quotients.middle()});
}

/// How long the program takes to send a graph with so many tensors.
void sending(report& out, device& gpu, std::int64_t tensors, double limit) {
  const auto all = gpu.tensor<float>({tensors, 64}, initial::zero).value();
  std::vector<blas::scal> requests;
  requests.reserve(static_cast<std::size_t>(tensors));
  for (std::int64_t i = 0; i < tensors; ++i)
    requests.push_back({.x = all.slice(0, i, i + 1).value().reshape({64}).value()});
  const request_graph g = graph_of(gpu, requests);
  samples times;
  for (int i = 0; i < 300; ++i) {
    const auto begin = bench::clock::now();
    auto done = gpu.run(g);
    times.add(bench::clock::now() - begin);
    done.get();
  }
  out.add({fmt::format("run of {} tensors, in the program", tensors),
           times.middle(),
           "us",
           "",
           {},
           at_most(limit)});
}

}  // namespace

int main() {
  report out("graphs: requests as one, beside the same requests one by one");
  troupe::system system;
  device gpu = system.device(0, {.standby = true});
  if (auto ready = gpu.wait_until_ready(); !ready) {
    out.could_not_measure("graphs", ready.error().message);
    return out.finish();
  }
  wait_until_settled(gpu, true);
  for (const std::size_t count : {1U, 20U, 200U}) {
    const auto all = products(gpu, count);
    const request_graph g = graph_of(gpu, all);
    const std::string what = fmt::format("{} sgemm 64", count);
    const double limit = count == 1 ? 1.25 : 1.1;
    compare(
        out, gpu, what, [&] { gpu.run(g).get(); }, [&] { send_one_by_one(gpu, all); }, limit,
        count == 1 ? limit : 1.0);
  }
  {
    const auto x = gpu.tensor<float>({64}, initial::zero).value();
    const std::vector<blas::scal> all(20, blas::scal{.x = x});
    const request_graph g = graph_of(gpu, all);
    compare(
        out, gpu, "20 scal of 64", [&] { gpu.run(g).get(); }, [&] { send_one_by_one(gpu, all); },
        0.5, 0.25);
  }
  {
    const auto all = products(gpu, 1000);
    graph_recorder rec = gpu.record("bench");
    samples times;
    for (const blas::gemm& one : all) {
      const auto begin = bench::clock::now();
      rec.add(one);
      times.add(bench::clock::now() - begin);
    }
    out.add({"add of a request", times.middle(), "us", "", {}, at_most(1)});
  }
  {
    const auto all = products(gpu, 20);
    const request_graph g = graph_of(gpu, all);
    after_a_kill(
        out, gpu, "20 sgemm 64", [&] { gpu.run(g).get(); }, [&] { send_one_by_one(gpu, all); });
  }
  sending(out, gpu, 20, 1.5);
  sending(out, gpu, 300, 15);
  return out.finish();
}
