#pragma once

#include "gpu/side_by_side.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace troupe::bench {

template <class Work>
double time_of(Work&& work) {
  const auto begin = clock::now();
  work();
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

/// The time from the end of a worker until the first run of a graph is answered by its standby,
/// beside that of the same requests one by one. The worker is killed while the device is idle and
/// its standby is warm.
template <class Graph, class Singly>
void after_a_kill(report& out, const device& gpu, const std::string& what, Graph graph,
                  Singly singly) {
  samples times[2];
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 5; ++k) {
      graph();
      singly();
    }
    wait_until_settled(gpu, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the lanes for recordings, too
    ::kill(gpu.worker_pid().value(), SIGKILL);
    times[i % 2].add(i % 2 == 0 ? time_of(graph) : time_of(singly));
  }
  const double beside = times[1].middle();
  out.add({"kill to the first graph of " + what + " answered", times[0].middle(), "us",
           "the same requests one by one", beside, at_most(beside + 200)});
}

}  // namespace troupe::bench
