#pragma once

#include <troupe/device/device.hpp>

#include <ctime>

namespace troupe::bench {

inline double microseconds(clockid_t of) {
  timespec now{};
  ::clock_gettime(of, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// The processor time of the program and its worker, in microseconds.
inline double processor_time(const device& gpu) {
  double all = microseconds(CLOCK_PROCESS_CPUTIME_ID);
  clockid_t worker = 0;
  if (gpu.worker_pid() && ::clock_getcpuclockid(*gpu.worker_pid(), &worker) == 0) {
    all += microseconds(worker);
  }
  return all;
}

}  // namespace troupe::bench
